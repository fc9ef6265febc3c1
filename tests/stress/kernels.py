# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels for harness.h: free of races, defined behaviour only, the same for a seed every time.

Threads of a block talk through a board of two pages: each reads anybody's word of one page, writes its own word of the
other, and the pages change places at barriers. Barriers stand where all threads that have not ended come by: that
follows from every condition around them being uniform, or from what parts from the others never meeting a barrier again.
Operations of a wave stand anywhere: who meets there follows from where they stand.
"""

import random

PARAMETERS = "U* out, const U* in, const U* uni, U* cells, U* board, I a, U b, Extra e"


class Node:
    """A line, or a head with statements and an end; `fixed` ones are what the rest relies on."""

    def __init__(self, head, body=None, tail="}", fixed=False):
        self.head, self.body, self.tail, self.fixed = head, body, tail, fixed

    def lines(self, indent=1):
        yield "  " * indent + self.head
        if self.body is not None:
            for node in self.body:
                yield from node.lines(indent + 1)
            yield "  " * indent + self.tail


class Context:
    """Where a statement stands: do all threads that are left come by, what encloses it, what may be said there."""

    def __init__(self, uniform, depth=0, loop=None, talks=True, loops=0, waves=True):
        self.uniform, self.depth, self.loop, self.talks, self.loops = uniform, depth, loop, talks, loops
        self.waves = waves

    def inside(self, uniform=None, loop=None, waves=True):
        return Context(self.uniform if uniform is None else self.uniform and uniform, self.depth + 1,
                       loop or self.loop, self.talks, self.loops + (loop is not None), self.waves and waves)


class Kernel:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.name = f"k{seed}"
        self.serial = 0
        self.own = [f"d{i}" for i in range(self.random.randint(2, 6))]      # each thread's variables
        self.common = [f"u{i}" for i in range(self.random.randint(1, 4))]   # the same for all threads
        self.own_read, self.common_read = [], []                            # loop counters and such
        self.arrays = [(f"p{i}", self.random.choice([3, 7, 15])) for i in range(self.random.randint(0, 2))]
        self.wide = self.random.random() < 0.4
        self.real = self.random.random() < 0.5
        self.order = self.random.random() < 0.3  # uses what atomics return
        self.waves = not self.order and not self.one_in(4)  # whose lanes go on in an order of their own
        self.talk = self.random.choice(["shared", "shared", "dynamic", "global", "none"])
        self.update = self.random.choice(["atomicAdd", "atomicXor", "atomicOr", "atomicMax", "atomicMin", "atomicSub"])
        self.plain = self.one_in(3)  # without what keeps loops over its threads from being vectorised
        self.functions = []
        self.budget = self.random.randint(6, 40)
        self.nodes = self.prologue()
        self.nodes += self.statements(Context(True), self.random.randint(4, 12))
        if self.one_in(3):
            self.nodes += self.drop_out_loop()
            self.nodes += self.statements(Context(False, talks=False), self.random.randint(0, 3))
        self.nodes += self.epilogue()

    # Choices.

    def one_in(self, n):
        return self.random.randrange(n) == 0

    def fresh(self, stem):
        self.serial += 1
        return f"{stem}{self.serial}"

    # What is the same for all threads that evaluate it.
    def uniform(self, depth=2, talks=True):
        pick = self.random.randrange(13 if depth else 8)
        sub = lambda: self.uniform(depth - 1, talks)
        if pick == 0:
            return self.constant()
        if pick == 1:
            return self.random.choice(["(U)a", "b", "e.x", "(U)e.flag", "(U)e.w"])
        if pick == 2:
            return self.random.choice(["blockIdx.x", "n", "gridDim.x", "blockDim.x", "blockDim.y"])
        if pick == 3 and self.common_read:
            return f"(U){self.random.choice(self.common_read)}"
        if pick == 4:
            return f"uni[{self.uniform(depth - 1, talks) if depth else self.random.randrange(16)} & 15]"
        if pick == 5 and talks and self.talk != "none":
            return f"READ({self.random.randrange(40)})"
        if pick < 8:
            return self.random.choice(self.common)
        return self.combined(sub)

    def value(self, depth=2, talks=True):
        pick = self.random.randrange(17 if depth else 10)
        sub = lambda: self.value(depth - 1, talks)
        if pick == 0:
            return self.uniform(1, talks)
        if pick == 1:
            return self.random.choice(["t", "g", "threadIdx.x", "threadIdx.y", "threadIdx.z"])
        if pick == 2:
            return f"in[{sub() if depth else 't'} & 255]"
        if pick == 3 and self.own_read:
            return f"(U){self.random.choice(self.own_read)}"
        if pick == 4 and self.arrays:
            name, mask = self.random.choice(self.arrays)
            return f"{name}[{sub() if depth else 't'} & {mask}]"
        if pick == 5 and talks and self.talk != "none":
            return f"READ({sub() if depth else 't + 1'})"
        if pick == 6 and self.real:
            return self.random.choice(["whole(f)", "bits(f)"])
        if pick == 7 and self.wide:
            return self.random.choice(["(U)w", "(U)(w >> 32)"])
        if pick == 8 and depth:
            return f"OUT({sub()})"
        if pick < 11:
            return self.random.choice(self.own)
        if pick == 11 and talks and self.talk != "none":
            return f"count[page][{sub()} & 7]"
        if pick == 12 and self.functions:
            return f"{self.random.choice(self.functions)}({sub()}, {sub()})"
        return self.combined(sub)

    def constant(self):
        return self.random.choice(["0u", "1u", "2u", "3u", "7u", "16u", "100u", "0x80000000u", "~0u",
                                   f"{self.random.getrandbits(32)}u"])

    def combined(self, sub):
        op = self.random.choice(["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "?", "min", "s>>", "16", "bool"])
        if op in ("<<", ">>"):
            return f"({sub()} {op} ({sub()} & 31))"
        if op in ("/", "%"):
            return f"({sub()} {op} ({sub()} | 1u))"
        if op == "?":
            return f"({self.test(sub)} ? {sub()} : {sub()})"
        if op == "min":
            return f"lesser({sub()}, {sub()})"
        if op == "s>>":
            return f"(U)((I){sub()} >> {self.random.randrange(1, 20)})"
        if op == "16":
            return f"(U)({self.random.choice(['short', 'std::uint16_t', 'signed char', 'B'])}){sub()}"
        if op == "bool":
            return f"(U){self.test(sub)}"
        return f"({sub()} {op} {sub()})"

    def test(self, sub):
        pick = self.random.randrange(6)
        if pick == 0:
            return f"({self.test(sub)} {self.random.choice(['&&', '||'])} {self.test(sub)})"
        if pick == 1:
            return f"((I){sub()} {self.random.choice(['<', '>', '<=', '>='])} (I){sub()})"
        if pick == 2:
            return f"(({sub()} & {self.random.choice([1, 2, 3, 4])}) == {self.random.choice([0, 1])})"
        return f"({sub()} {self.random.choice(['<', '>', '==', '!=', '<=', '>='])} {sub()})"

    def own_test(self, context):
        if self.waves and self.one_in(2):  # surely so for some and not for others, now and then
            turn = self.random.choice([f"(U){name}" for name in self.common_read] or ["3u"])
            return f"((in[(t * 7u + {turn} * 31u + {self.random.randrange(99)}u) & 255] & {self.random.choice([1, 1, 2, 3])}u) != 0u)"
        if self.one_in(3):
            return f"(t {self.random.choice(['<', '>', '==', '>='])} {self.random.choice(['5u', '17u', 'n / 2', 'b % 40'])})"
        return self.test(lambda: self.value(1, context.talks))

    def common_test(self, context):
        return self.test(lambda: self.uniform(1, context.talks))

    # Statements.

    def statements(self, context, count):
        nodes, saved = [], (len(self.own_read), len(self.common_read))
        for _ in range(count):
            if self.budget <= 0 and nodes:
                break
            self.budget -= 1
            nodes += self.statement(context)
        if context.depth:
            del self.own_read[saved[0]:], self.common_read[saved[1]:]
        return nodes

    def statement(self, context):
        choices = [(self.assign, 6), (self.store_array, 3 if self.arrays else 0), (self.pointer, 1 if self.arrays else 0),
                   (self.store_out, 1), (self.assign_real, 2 if self.real else 0), (self.assign_wide, 2 if self.wide else 0),
                   (self.assign_alike, 3)]
        if not self.plain:
            choices += [(self.declare_function, 1 if len(self.functions) < 3 else 0), (self.global_atomic, 1)]
        if context.uniform:
            choices += [(self.assign_common, 4)]
        if context.talks and self.talk != "none":
            choices += [(self.write, 3), (self.count, 0 if self.plain else 2)]
            if context.uniform:
                choices += [(self.barrier, 5)]
            if self.order and not self.plain:
                choices += [(self.ticket, 2)]
        if self.waves and context.waves:
            choices += [(self.wave, 16)]
            if context.loops < 3 and context.depth < 4:
                choices += [(self.parting_loop, 5)]
            if context.uniform and context.talks:
                choices += [(self.votes, 1)]
        if context.depth < 4:
            choices += [(self.mark, 2), (self.if_own, 3), (self.if_common, 4), (self.leave, 1), (self.switch, 1)]
            if context.loops < 2:
                choices += [(self.loop_in_step, 3)]
            if context.loops < 3 and not self.plain:
                choices += [(self.loop_common, 3), (self.loop_own, 2), (self.search, 2), (self.narrow_loop, 1)]
        if context.loop:
            choices += [(self.jump, 2)]
        kinds, weights = zip(*choices)
        return self.random.choices(kinds, weights)[0](context)

    def assign(self, context):
        op = self.random.choice(["=", "=", "=", "+=", "^=", "-=", "*="])
        return [Node(f"{self.random.choice(self.own)} {op} {self.value(3, context.talks)};")]

    # Its own only because not all come by.
    def assign_alike(self, context):
        return [Node(f"{self.random.choice(self.own)} = {self.uniform(1, context.talks)};")]

    # Nothing in it differs between threads, but which of them come by, or how often.
    def mark(self, context):
        name = self.fresh("v")
        head = f"if {self.own_test(context)} {{"
        if not self.plain and context.loops < 3 and self.one_in(2):
            counter = self.fresh("i")
            head = f"for (I {counter} = 0; {counter} < (I)({self.value(1, context.talks)} & 3); ++{counter}) {{"
            self.common_read.append(counter)
        body = [Node(f"{name} = {self.uniform(1, context.talks)};"),
                Node(f"OUT({self.random.randrange(8)}) {self.random.choice(['=', '+='])} {self.value(1, context.talks)};")]
        if head.startswith("for"):
            self.common_read.pop()
        before = f"U {name} = {self.uniform(1, context.talks)};"
        self.own_read.append(name)
        return [Node(before, fixed=True), Node(head, body)]

    def assign_common(self, context):
        op = self.random.choice(["=", "=", "+=", "^="])
        return [Node(f"{self.random.choice(self.common)} {op} {self.uniform(2, context.talks)};")]

    def assign_real(self, context):
        value = lambda: f"(float)(I)({self.value(1, context.talks)} & 4095u)"
        return [Node(self.random.choice([f"f = f * 0.75f + {value()};", f"f = f / (1.5f + {value()});",
                                         f"f = sqrtf(fabsf(f - {value()}));", f"f += e.f * {value()};",
                                         f"if (f < {value()}) f = {value()};", "f = -f + 0.1f;"]))]

    def assign_wide(self, context):
        return [Node(self.random.choice([f"w = w * 6364136223846793005u + {self.value(1, context.talks)};",
                                         f"w ^= (W){self.value(1, context.talks)} << ({self.value(1, context.talks)} & 63);",
                                         "w += e.w;"]))]

    def store_array(self, context):
        name, mask = self.random.choice(self.arrays)
        op = self.random.choice(["=", "+=", "^="])
        return [Node(f"{name}[{self.value(1, context.talks)} & {mask}] {op} {self.value(2, context.talks)};")]

    def pointer(self, context):
        (one, one_mask), (two, two_mask) = self.random.choice(self.arrays), self.random.choice(self.arrays)
        name = self.fresh("q")
        first, second = (f"&{x}[{self.value(1, context.talks)} & {m}]" for x, m in ((one, one_mask), (two, two_mask)))
        return [Node("{", [Node(f"U* {name} = {self.own_test(context)} ? {first} : {second};", fixed=True)] +
                     self.statements(context.inside(), 1) + [Node(f"*{name} += {self.value(2, context.talks)};")])]

    def store_out(self, context):
        return [Node(f"OUT({self.random.randrange(8)}) = {self.value(2, context.talks)};" if self.one_in(2) else
                     f"OUT({self.value(1, context.talks)}) = {self.value(2, context.talks)};")]

    def global_atomic(self, context):
        return [Node(f"atomicAdd(&cells[{self.value(1, context.talks)} & 7], {self.value(1, context.talks)});")]

    def write(self, context):
        return [Node(f"WRITE({self.value(2)});")]

    def count(self, context):
        return [Node(f"{self.update}(&count[page ^ 1][{self.value(1)} & 7], {self.value(2)});")]

    def ticket(self, context):
        how = self.random.choice(["atomicAdd", "atomicExch", "atomicMax", "atomicXor"])
        if self.one_in(3):
            return [Node(f"{self.random.choice(self.own)} = atomicCAS(&turn[{self.value(1)} & 3], "
                         f"{self.value(1)}, {self.value(1)});")]
        return [Node(f"{self.random.choice(self.own)} = {how}(&turn[{self.value(1)} & 3], {self.value(1)});")]

    def barrier(self, context):
        return [Node(self.random.choice(["TURN();", "TURN();", "TURN();", "__syncthreads();"]))]

    def wave(self, context):
        value, other = self.value(2, context.talks), self.value(1, context.talks)
        width = self.random.choice(["WAVE", "WAVE", "32u", "16u", "8u", "2u", "1u"])
        target = self.random.choice(self.own)
        if self.one_in(3):
            test = self.own_test(context)
            if self.wide and self.one_in(2):
                return [Node(f"w ^= BALLOT({test});")]
            vote = self.random.choice([f"(U)(BALLOT({test}) % 65521u)", f"(U)ANY({test})", f"(U)ALL({test})"])
            return [Node(f"{target} {self.random.choice(['=', '^=', '+='])} {vote};")]
        lane = f"({self.random.choice([other, 't + 1u', f'{self.random.randrange(64)}u'])}) & ({width} - 1)"
        mask = self.random.choice([f"{self.random.choice([1, 2, 4, 8, 16, 7, 33])}u", f"{other} & 63"])
        return [Node(f"{target} {self.random.choice(['=', '^=', '+='])} " + self.random.choice([
            f"SHFL({value}, {lane}, {width});", f"SHFL_UP({value}, {mask}, {width});",
            f"SHFL_DOWN({value}, {mask}, {width});", f"SHFL_XOR({value}, {mask}, {width});"]))]

    # Barriers that count, as all see it.
    def votes(self, context):
        how = self.random.choice(["count", "or", "and"])
        return [Node(f"{self.random.choice(self.common)} = (U)__syncthreads_{how}({self.own_test(context)});")]

    # A loop whose iterations the reference counts.
    def counted(self, nodes):
        if not self.waves:
            return nodes
        name = self.fresh("l")
        nodes[-1].body.insert(0, Node(f"ITER({name});", fixed=True))
        return nodes[:-1] + [Node("{", [Node(f"LOOP({name});", fixed=True), nodes[-1]])]

    def if_own(self, context):
        node = Node(f"if {self.own_test(context)} {{", self.statements(context.inside(False), self.random.randint(1, 4)))
        return self.with_else(node, context.inside(False))

    def if_common(self, context):
        node = Node(f"if {self.common_test(context)} {{", self.statements(context.inside(), self.random.randint(1, 4)))
        return self.with_else(node, context.inside())

    def with_else(self, node, context):
        if self.one_in(2):
            return [node]
        return [Node("{", [node, Node("else {", self.statements(context, self.random.randint(1, 3)))])]

    def switch(self, context):
        uniform = self.one_in(2)
        inner = context.inside(uniform, loop=None)
        inner.loop = None
        on = self.uniform(1, context.talks) if uniform else self.value(1, context.talks)
        body = []
        for case in range(self.random.randint(1, 4)):
            body.append(Node(f"case {case}: {{", self.statements(inner, self.random.randint(1, 2))))
            if not self.one_in(3):
                body.append(Node("break;"))
        if self.one_in(2):
            body.append(Node("default: {", self.statements(inner, 1)))
        return [Node(f"switch ({on} % 5u) {{", body)]

    def leave(self, context):
        # In a loop this is behind it, for whoever leaves at whatever iteration.
        inner = context.inside(False, waves=context.loops == 0)
        test = self.common_test(context) if self.one_in(3) else self.own_test(context)
        if self.one_in(2):
            test = f"({test} && {self.own_test(context)})"
        before = self.statements(inner, self.random.randint(0, 2))
        return [Node(f"if {test} {{", before + [Node(f"OUT(0) += {self.value(1, context.talks)};"),
                                                Node("return;")])]

    def jump(self, context):
        word = self.random.choice(["break", "continue"])
        if context.loop == "search":  # it ends itself, behind
            word = "break"
        if context.loop in ("common", "drop"):  # others may meet barriers in this loop
            if not context.uniform:
                return self.assign(context)
            return [Node(f"if {self.sometimes(self.common_test(context), 'uni[3]')} {word};")]
        return [Node(f"if {self.sometimes(self.own_test(context), 'in[t]')} {word};")]

    # What always leaves a loop, as far as a compiler can tell, is behind it.
    def sometimes(self, test, memory):
        return f"({test} && {memory} != 0x12345u)" if self.waves else test

    def loop_head(self, counter, bound):
        return self.random.choice([
            f"for (I {counter} = 0; {counter} < {bound}; ++{counter}) {{",
            f"for (I {counter} = {bound}; {counter} > 0; --{counter}) {{",
            f"for (I {counter} = 1; {counter} <= {bound} * 2; {counter} += 2) {{",
            f"for (U {counter} = 0; {counter} != (U){bound}; {counter}++) {{",
            f"for (I {counter} = {bound}; {counter}-- > 0;) {{"])

    def loop_common(self, context):
        counter, bound = self.fresh("i"), self.fresh("m")
        head = Node(f"const I {bound} = (I)({self.uniform(1, context.talks)} & 3){self.random.choice(['', ' + 1'])};", fixed=True)
        inner = context.inside(loop="common" if context.uniform else "own")
        self.common_read.append(counter)
        body = self.statements(inner, self.random.randint(1, 5))
        self.common_read.remove(counter)
        return [Node("{", self.counted([head, Node(self.loop_head(counter, bound), body)]))]

    # A loop of nothing but arithmetic, which all threads go round equally often: code generators like to make it the
    # outer one.
    def loop_in_step(self, context):
        counter, bound = self.fresh("i"), self.fresh("m")
        head = Node(f"const I {bound} = (I)({self.uniform(1, context.talks)} & {self.random.choice([7, 31])});", fixed=True)
        kinds = [self.assign, self.assign, self.assign_alike]
        kinds += [self.assign_real] * 2 if self.real else []
        kinds += [self.assign_wide] if self.wide else []
        self.common_read.append(counter)
        inner = context.inside(loop="own", waves=False)
        body = [node for _ in range(self.random.randint(2, 5)) for node in self.random.choice(kinds)(inner)]
        if self.one_in(3):
            body += [Node(f"if ({self.own_test(inner)}) {{", self.assign(inner))]
        self.common_read.remove(counter)
        return [Node("{", self.counted([head, Node(self.loop_head(counter, bound), body)]))]

    def loop_own(self, context):
        counter, bound = self.fresh("i"), self.fresh("m")
        head = Node(f"const I {bound} = (I)({self.value(1, context.talks)} & {self.random.choice([3, 7])});", fixed=True)
        inner = context.inside(False, loop="own")
        self.common_read.append(counter)  # as long as one is in there
        body = self.statements(inner, self.random.randint(1, 4))
        self.common_read.remove(counter)
        return [Node("{", self.counted([head, Node(self.loop_head(counter, bound), body)]))]

    # Lanes go round as often as they like, pass over what others do, and leave.
    def parting_loop(self, context):
        counter, bound = self.fresh("i"), self.fresh("m")
        head = Node(f"const I {bound} = (I)({self.value(1, context.talks)} & 3) + (I)(in[t * 3u & 255] & 3);", fixed=True)
        inner = context.inside(False, loop="own")
        self.common_read.append(counter)
        body = []
        for _ in range(self.random.randint(2, 4)):
            part = self.random.choice([self.wave, self.wave, self.part, self.part, self.jump])
            body += part(inner)
        self.common_read.remove(counter)
        return [Node("{", self.counted([head, Node(self.loop_head(counter, bound), body)]))]

    def part(self, context):
        inner = context.inside(False)
        node = Node(f"if {self.own_test(context)} {{", self.wave(inner) + (self.statements(inner, 1) if self.one_in(2) else []))
        return [node] if self.one_in(2) else [Node("{", [node, Node("else {", self.wave(inner))])]

    # Each leaves the loop when its time has come; what counted is then its own.
    def search(self, context):
        counter = self.fresh("s")
        inner = context.inside(False, loop="search")
        self.common_read.append(counter)
        body = [Node(f"++{counter};", fixed=True)] + self.statements(inner, self.random.randint(0, 3))
        ends = [Node(f"if {self.sometimes(self.own_test(context), 'in[t]')} break;"),
                Node(f"if ({counter} > {self.random.choice(['(I)(b & 7)', '5', '(I)(uni[3] & 7)', 'a'])}) "
                     + self.random.choice(["break;", "{ OUT(1) = (U)%s; return; }" % counter]), fixed=True)]
        self.random.shuffle(ends)
        self.common_read.remove(counter)
        self.own_read.append(counter)
        return self.counted([Node(f"I {counter} = {self.random.choice(['0', '-2', 'a'])};", fixed=True),
                             Node("while (true) {", body + ends)]) + ([Node(f"if (({counter} & 1) == 0) {{",
                     self.statements(context.inside(False), 2))] if self.one_in(2) else [])

    # Loops about whose number of iterations one can be wrong.
    def narrow_loop(self, context):
        counter = self.fresh("c")
        inner = context.inside(False, loop=None)
        inner.loop = "none"
        bound = self.value(1, context.talks) if self.one_in(2) else self.uniform(1, context.talks)
        kind = self.random.randrange(4)
        guarded = Node(f"if ({self.random.choice(['(U)' + counter, f'(U){counter} + 3u'])} < {bound}) {{",
                       self.simple(inner, self.random.randint(1, 2)))
        if kind == 0:
            return [Node("{", [Node(f"B {counter} = {self.random.choice(['0', '250', '(B)b'])};", fixed=True),
                               Node("do {", [guarded], f"}} while (++{counter} != 0);")])]
        if kind == 1:
            return [Node("{", [Node(f"U {counter} = 0;", fixed=True),
                               Node("do {", [guarded], f"}} while (++{counter} == ({bound} & 3));")])]
        if kind == 2:
            signed = Node(f"if ((I){counter} + a < (I)({bound} & 63u)) {{", self.simple(inner, 1))
            return [Node(f"for (I {counter} = 0; {counter} < 20; ++{counter}) {{", [signed])]
        return [Node(f"for (U {counter} = 0; {counter} < ({self.value(1, context.talks)} & 15); ++{counter}) {{", [guarded])]

    def simple(self, context, count):
        kinds = [self.assign, self.store_out] + ([self.store_array] * 2 if self.arrays else [])
        return [node for _ in range(count) for node in self.random.choice(kinds)(context)]

    # Those that are through end, without meeting a barrier again, while others still do.
    def drop_out_loop(self):
        counter = self.fresh("i")
        self.common_read.append(counter)
        body = self.statements(Context(True, 1, "drop", True, 1), self.random.randint(1, 5))
        self.common_read.remove(counter)
        rounds = self.random.choice(["t & 3", "in[t & 255] & 3", "READ(0) & 3", "READ(t + 1) & 3", "(t + b) % 5u",
                                     "t < b % n ? 3u : 1u"]) if self.talk != "none" else "t & 3"
        return [Node("{", self.counted([Node(f"const I rounds = (I)({rounds});", fixed=True),
                                        Node(f"for (I {counter} = 0; {counter} < rounds; ++{counter}) {{", body)]))]

    def declare_function(self, context):
        if not self.functions and self.one_in(2):
            self.functions.append("climb")
        elif "scan" not in self.functions:
            self.functions.append("scan")
        elif "spread" not in self.functions:
            self.functions.append("spread")
        return self.assign(context)

    # The frame.

    def prologue(self):
        nodes = [
            "SHARED(U, count[2][kCells]);", "SHARED(U, turn[4]);",
            "const U n = blockDim.x * blockDim.y * blockDim.z;",
            "const U t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
            f"const U g = {self.random.choice(['blockIdx.x * n + t', 't + n * blockIdx.x'])};", "U page = 0;"]
        if self.talk == "shared":
            nodes.append("SHARED(U, tile[2 * kThreads]);")
        elif self.talk == "dynamic":
            nodes.append("SHARED_DYNAMIC(tile);")
        elif self.talk == "global":
            nodes.append("U* tile = board + blockIdx.x * 2 * kThreads;")
        nodes += [f"U {name} = {self.random.choice(['t', 'g * 7u', 'in[g & 255]', '1u', '1u', '2u', 'b', 't * t'])};" for name in self.own]
        nodes += [f"U {name} = {self.random.choice(['b', '(U)a', '3u', 'uni[blockIdx.x]'])};" for name in self.common]
        nodes += ["float f = e.f * (float)t;"] * self.real + ["W w = e.w + g;"] * self.wide
        for name, mask in self.arrays:
            align = self.random.choice(["", "", "alignas(16) "])
            extra = self.random.choice([0, 0, 1])
            nodes.append(f"{align}U {name}[{mask + 1 + extra}];")
            nodes.append(f"for (U i = 0; i < {mask + 1 + extra}; ++i) {name}[i] = i * {self.random.randrange(9)}u + t;")
        if self.talk != "none":
            nodes += ["tile[t] = in[g & 255];", "tile[kThreads + t] = t ^ 21u;",
                      "if (t == 0) for (U i = 0; i < 2 * kCells; ++i) count[i / kCells][i % kCells] = i;",
                      "if (t == 0) for (U i = 0; i < 4; ++i) turn[i] = b + i;", "TURN();"]
        return [Node(line, fixed=True) for line in nodes]

    def epilogue(self):
        names = [f"{x}" for x in self.own + self.common + self.own_read] + ["page"]
        names += ["bits(f)"] * self.real + ["(w ^ (w >> 32))"] * self.wide
        nodes = [Node(f"OUT({i % 8}) = OUT({i % 8}) * 31u + (U){name};") for i, name in enumerate(names)]
        nodes += [Node(f"for (U i = 0; i <= {mask}; ++i) OUT(7) = OUT(7) * 33u + {name}[i];")
                  for name, mask in self.arrays]
        return nodes

    def text(self):
        lines = [f"__global__ void {self.name}({PARAMETERS}) {{"]
        for node in self.nodes:
            lines += node.lines()
        return "\n".join(lines + ["}"]) + "\n"


HEAD = """#include "harness.h"

#define OUT(j) out[((j) & 7) * kThreads * kBlocks + g]
#define READ(i) tile[page * kThreads + (i) % n]
#define WRITE(v) (tile[(page ^ 1) * kThreads + t] = (v))
#define TURN() (__syncthreads(), page ^= 1)

inline __device__ U lesser(U x, U y) { return x < y ? x : y; }
// Recursive: not inlined, and finds out for itself which thread it runs for.
__device__ U climb(U x, U y) {
  if ((x & 15) == 0 || y % 7 == 3) return threadIdx.x + y;
  return climb((x & 15) - 1, y * 5 + 1) + 3 * (blockIdx.x + threadIdx.y);
}
__device__ U scan(U x, U y) {
  for (U i = 0; i < (y & 7); ++i) {
    if (x % 11 == i) return i * y;
    x = x * 3 + threadIdx.x;
  }
  return x;
}
__device__ __noinline__ U spread(U x, U y) {
  U some[6];
  for (U i = 0; i < 6; ++i) some[i] = x >> i;
  some[y % 6] += y;
  U* at = &some[x % 3];
  at += y & 3;
  *at ^= 5;
  return some[(x + y) % 6] + some[0];
}

"""


def program(kernels):
    calls = "".join(f'  try_kernel("{kernel.name}", {kernel.name});\n' for kernel in kernels)
    return HEAD + "\n".join(kernel.text() for kernel in kernels) + "\nint main() {\n" + calls + "}\n"
