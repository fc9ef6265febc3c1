# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs whose lanes exchange values in step, the same for a seed every time.

In lock step a program means one thing: all lanes that come by a statement execute it, then they go on to the next one.
Hardware does that with the instructions that the compiler makes. The compiler may change all that a single thread
cannot tell, so each flavour of programs has something that keeps it from changing the result:

volatile  All accesses are volatile. The compiler neither reorders, merges nor drops them, whatever their types are.
fence     __threadfence_block() stands behind each access, on all ways from it. To LLVM a fence reads and writes all
          memory: no access moves across, and what was known of memory before is not known behind it.
wave      __builtin_amdgcn_wave_barrier(), in CUDA __syncwarp(), stands there instead. To LLVM it is a convergent call
          that may read and write all memory: it is declared neither memory(none) nor nosync.
clobber   asm volatile("" ::: "memory") stands there instead. LLVM takes it for such a call, too.
plain     Nothing of that stands there. The place of another lane's element depends on `self`, the lane's number, which
          is read anew from a table behind each access (self = table[self]). So to LLVM two accesses of a memory may
          alias, and a store stays in order with the others, unless both are to the lane's own place. It may forward or
          drop one of these only where no other access to the memory is in between; then no other lane comes between,
          either. A fence stands behind a call, since the function reads the same table from the same `self`. Lanes do
          not part around accesses, or a lane that passes by a store could reuse what it has read before it, or read
          what is behind it at once. One pattern is an exception, with a fence on each side:
            if (lane >= o) m[lane] += m[self - o];  or < and +, alone or in a loop over o. A lane stores to its own
            element only. It loads another lane's in the branch only, in order with its stores, and each one once.
barriers  __syncthreads() stands between what lanes load and what they store, and behind that. Such a program depends on
          no order of lanes, and has to be right in any case. It is otherwise like a plain one.

Within a thread, no program does what C++ leaves undefined. If several types access a memory, these types may alias, or
the memory is strict: a lane stores only to its own bytes, as any type, and loads only those of others.

The sides of a branch run one after the other, in an order that nobody says. So they may not exchange values with each
other, and no two lanes may store to the same bytes at once. The interpreter notices if they do, and the statement goes.
"""

import dataclasses
import random

from lock_step_interpreter import TABLES, Interpreter, Undefined
from lock_step_tree import (SIZES, Barrier, Binary, Break, Call, Constant, Element, Fence, Function, If, Input, Leave,
                            Loop, Memory, Place, Pointer, Program, Set, Store, Variable)

FLAVOURS = ["volatile", "volatile", "fence", "wave", "clobber", "plain"]


def shapes(wave):
    """Blocks, and how their threads are numbered."""
    return {
        "x": [(wave, 1, 1), (2 * wave, 1, 1), (wave + wave // 2 + 3, 1, 1), (wave - 5, 1, 1), (7, 1, 1)],
        "y": [(1, wave, 1), (1, 2 * wave, 1), (1, wave - 9, 1), (1, wave + 11, 1)],
        "z": [(1, 1, 64), (1, 1, 19), (1, 1, wave // 2 + 1)],
        "linear": [(8, 8, 1), (4, 4, 4), (wave, 2, 1), (wave // 2, 3, 1), (5, 7, 1), (3, 5, 7), (2, wave // 2, 2),
                   (1, wave, 2), (wave + 4, 1, 1)],
        "summed": [(8, 8, 1), (16, 4, 1), (4, 4, 8), (12, 9, 1), (1, wave, 1)],
        "fixed": [(8, 8, 1), (4, 4, 4), (1, 2 * wave, 1), (6, 5, 4)],
        "rows": [(wave, 1, 1), (wave, 2, 1), (wave, 3, 1)],
        "turned": [(4, wave // 4, 1), (8, 4, 1), (3, 7, 1), (1, wave, 1)],
    }


class Context:
    """Where a statement stands: do all lanes come by; in which loops; with which variables."""

    def __init__(self, variables, alike=True, depth=0, loops=(), function=False, right_in_loop=False):
        self.variables, self.alike, self.depth = variables, alike, depth
        self.loops, self.function, self.right_in_loop = loops, function, right_in_loop

    def inside(self, alike=True, loop=None):
        return Context(self.variables, self.alike and alike, self.depth + 1,
                       self.loops if loop is None else (*self.loops, loop), self.function, loop is not None)


class Generator:
    def __init__(self, seed, wave, flavours=FLAVOURS, barriers=False):
        self.random = random.Random(seed * 2 + (wave == 32))
        self.serial = 0
        numbering = self.random.choice(sorted(shapes(wave)))
        self.program = Program(seed, wave, "barriers" if barriers else self.pick(*flavours),
                               self.pick(*shapes(wave)[numbering]), self.pick(1, 1, 2, 3), numbering,
                               self.pick("block", "wave"), self.random.getrandbits(8), self.random.getrandbits(32))
        self.plain = self.program.flavour in ("plain", "barriers")
        self.program.variables = [f"v{i}" for i in range(self.random.randint(2, 4))]
        self.program.memories = [self.memory(f"m{i}") for i in range(self.random.choice([1, 1, 2, 3]))]
        if self.one_in(3):
            self.pointer()
        self.budget = 5
        for number in range(self.random.choice([0, 0, 1, 2])):
            self.function(f"f{number}")
        self.budget = self.random.randint(3, 18)
        context = Context(self.program.variables)
        self.program.body = self.statements(context, self.random.randint(2, 8)) + self.last(context)

    # Choices.

    def one_in(self, n):
        return self.random.randrange(n) == 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def fresh(self, stem):
        self.serial += 1
        return f"{stem}{self.serial}"

    # What there is.

    def memory(self, name):
        # Plain accesses of global memory with no fence are no exchange that the host device promises to get right.
        shared_only = self.program.flavour in ("plain", "clobber")
        kind = self.pick("static", "static", "dynamic", *(["dynamic"] if shared_only else ["global", "global"]))
        mixed = self.one_in(4)
        type_name = self.pick("u32", "u32", "u32", "u16", "u8", "u64")
        memory = Memory(name, kind, type_name, self.pick(1, 1, 1, 2), mixed=mixed, salt=self.random.randrange(1000))
        memory.apart = not mixed and memory.parts > 1 and self.one_in(2)
        memory.indexed = not memory.apart and self.one_in(2)
        memory.aliased = mixed and (self.plain or self.one_in(2))
        return memory

    def pointer(self):
        """To a memory or to a second one like it, in another kind of memory."""
        first = self.random.choice(self.program.memories)
        kinds = {"static", "dynamic"} if self.program.flavour in ("plain", "clobber") else {"static", "dynamic", "global"}
        kind = self.pick(*sorted(kinds - {first.kind}))
        second = dataclasses.replace(first, name=f"m{len(self.program.memories)}", kind=kind,
                                     salt=self.random.randrange(1000))
        self.program.memories.append(second)
        tests = [Binary("==", Binary("&", Variable("a"), Constant(1)), Constant(self.pick(0, 1)))]
        if not self.plain:
            tests += [Binary("<", Variable("lane"), Constant(self.random.randrange(self.program.wave))),
                      Binary("==", Binary("&", Variable("t"), Constant(self.pick(1, 2, 4))), Constant(0)),
                      Binary("&", Input(Variable("t")), Constant(1))]
        self.program.pointers.append(Pointer("p0", self.random.choice(tests), first.name, second.name))

    def function(self, name):
        variables = ["x0", "x1"]
        parameters = ["y0", "y1"]
        body = [Set("x0", "=", self.combined(Variable("y0"), Variable("y1")))]
        body += self.statements(Context(variables, function=True), self.random.randint(1, 3))
        self.program.functions.append(Function(name, self.one_in(2), parameters, variables, body, "x1"))
        body.append(Set("x1", "+=", Variable("x0")))

    # Values, without memory.

    def alike(self, context):
        """The same in all lanes of the block."""
        choices = [Constant(self.random.randrange(64)), Variable("a"), Variable("block"), Variable("b")]
        choices += [Variable(name) for name, alike in context.loops if alike]
        return self.random.choice(choices)

    def value(self, context, depth=2):
        if depth and self.one_in(2):
            return self.combined(self.value(context, depth - 1), self.value(context, depth - 1))
        choices = [Variable(name) for name in context.variables] * 2
        choices += [Variable("lane"), Variable("t"), self.alike(context)]
        choices += [Variable(name) for name, _ in context.loops]
        if depth:
            choices.append(Input(Variable("t")))
        return self.random.choice(choices)

    def combined(self, left, right):
        op = self.pick("+", "+", "-", "*", "^", "&", "|", "<<", ">>", "<")
        return Binary(op, left, Constant(self.random.randrange(1, 16)) if op in ("<<", ">>") else right)

    def alike_test(self, context):
        bits = Binary("&", self.alike(context), Constant(self.pick(1, 2, 3)))
        return Binary(self.pick("==", "!="), bits, Constant(0))

    def test(self, context):
        wave = self.program.wave
        choices = [Binary(self.pick("<", ">="), Variable("lane"), Constant(self.random.randrange(1, wave))),
                   Binary("==", Binary("&", Variable("lane"), Constant(self.pick(1, 3, 4))), Constant(0)),
                   Binary("&", self.value(context, 1), Constant(self.pick(1, 2, 3))),
                   Binary("==", Variable("lane"), Constant(self.random.randrange(min(wave, self.program.threads)))),
                   Binary("==", Variable("wave"), Constant(self.pick(0, 1))), self.alike_test(context)]
        return self.random.choice(choices)

    # Elements.

    def memories(self):
        """Memories and pointers. What a pointer leads to is used by its own name too, now and then."""
        return [*(memory.name for memory in self.program.memories),
                *[pointer.name for pointer in self.program.pointers] * 2]

    def is_strict(self, memory):
        return memory.mixed and not memory.aliased

    def element(self, name, place, type_name=None):
        memory = self.program.memory(name)
        type_name = type_name or self.random.choice(memory.types())
        return Element(name, type_name, place, self.random.randrange(memory.parts_of(type_name)))

    def distance(self):
        """To another lane, by xor too."""
        return Constant(self.pick(self.random.randrange(1, self.program.wave), 1, self.program.wave // 2))

    def foreign(self, context):
        """Places of which each lane has one to itself, another lane's."""
        if self.one_in(4):
            return Place("reversed")
        powers = [name for name, alike in context.loops if alike == "power"]
        if powers and self.one_in(2):
            return Place(self.pick("xor", "xor", "rotate"), Variable(self.random.choice(powers)))
        return Place(self.pick("xor", "xor", "rotate"), self.distance())

    def any_place(self, context, name, store):
        if self.is_strict(self.program.memory(name)):
            return Place("own") if store else self.foreign(context)
        if self.one_in(4):
            return Place("own")
        if self.one_in(5):
            return Place("table", Constant(self.random.randrange(1, TABLES)))
        if not store and not self.plain and self.one_in(5):
            return Place("slot", self.value(context, 1))
        return self.foreign(context)

    # Statements.

    def statements(self, context, count):
        nodes = []
        for _ in range(count):
            if self.budget <= 0 and nodes:
                break
            self.budget -= 1
            nodes += self.statement(context)
        return nodes

    def statement(self, context):
        choices = [(self.exchange, 5), (self.shift, 4), (self.update, 3), (self.assign, 1), (self.halves, 2)]
        if not self.plain or context.alike:
            choices += [(self.scan, 2), (self.tell, 2), (self.butterfly, 2)]
        if not self.plain:
            choices += [(self.collect, 1)]
        if context.depth < 3:
            choices += [(self.branch, 5), (self.loop, 3)]
        if context.right_in_loop and not self.plain:
            choices += [(self.stop, 3)]
        if not context.function:
            choices += [(self.call, 3 if self.program.functions else 0)]
            if context.alike and not any(not alike for _, alike in context.loops):
                choices += [(self.barrier, 1)]
        kinds, weights = zip(*choices)
        return self.random.choices(kinds, weights)[0](context)

    def variable(self, context):
        return self.random.choice(context.variables)

    def load(self, context, name, place=None):
        place = place or self.any_place(context, name, False)
        return Set(self.variable(context), self.pick("=", "+=", "^=", "+="), self.element(name, place))

    def store(self, context, name, place=None):
        place = place or self.any_place(context, name, True)
        return Store(self.element(name, place), "=", self.value(context))

    def assign(self, context):
        return [Set(self.variable(context), self.pick("=", "+=", "^="), self.value(context, 3))]

    def exchange(self, context):
        name = self.random.choice(self.memories())
        return [self.store(context, name), self.load(context, name)]

    def shift(self, context):
        """Loads and stores in a statement."""
        name, other = self.random.choice(self.memories()), self.random.choice(self.memories())
        to = self.element(name, self.any_place(context, name, True))
        source = self.element(other, self.any_place(context, other, False))
        op = "=" if self.is_strict(self.program.memory(name)) else self.pick("=", "=", "+=", "^=")
        value = source if self.one_in(3) else Binary(self.pick("+", "^", "-"), source, self.value(context, 1))
        if self.one_in(4):
            third = self.random.choice(self.memories())
            value = Binary("+", value, self.element(third, self.any_place(context, third, False)))
        return [Store(to, op, value)]

    def update(self, context):
        name = self.random.choice(self.memories())
        if self.is_strict(self.program.memory(name)):
            return self.exchange(context)
        return [Store(self.element(name, Place("own")), self.pick("+=", "^="),
                      self.element(name, self.any_place(context, name, False)))]

    def halves(self, context):
        """Stored in parts and read as a whole, or the other way."""
        names = [name for name in self.memories() if self.program.memory(name).mixed]
        if not names:
            return self.shift(context)
        name = self.random.choice(names)
        small, large = self.pick(("u16", "u32"), ("u32", "u64"), ("u8", "u32"), ("u16", "u64"))
        count = SIZES[large] // SIZES[small]
        place, seen = self.any_place(context, name, True), self.any_place(context, name, False)
        first = self.random.randrange(8 // SIZES[large])
        parts = [Element(name, small, place, first * count + i) for i in range(count)]
        wholes = Element(name, large, place, first)
        if self.one_in(3):
            return [Store(wholes, "=", self.value(context)),
                    *(Set(self.variable(context), "+=", Element(name, small, seen, part.part)) for part in parts[:2])]
        stores = [Store(part, "=", Binary(">>", self.value(context, 1), Constant(self.random.randrange(24))))
                  for part in parts]
        return [*stores, Set(self.variable(context), "+=", Element(name, large, seen, first))]

    def own_memory(self):
        """One of which lanes may read and write their own elements."""
        names = [name for name in self.memories() if not self.is_strict(self.program.memory(name))]
        return self.random.choice(names or [None])

    def fenced(self, nodes):
        return [Fence(), *nodes, Fence()] if self.plain else nodes

    def scan(self, context):
        """A prefix sum or a tree, or one step of such."""
        name = self.own_memory()
        if name is None:
            return self.exchange(context)
        wave, down, once = self.program.wave, self.one_in(2), self.one_in(4)
        counter = self.fresh("o")
        reach = Constant(self.random.randrange(1, wave // 2 + 1)) if once else Variable(counter)
        element = self.element(name, Place("own"))
        other = Element(name, element.type, Place("down" if down else "up", reach), element.part)
        test = Binary(">=" if down else "<", Variable("lane"), reach)
        nodes = [If(test, [Store(element, self.pick("+=", "+=", "^="), other)], [], self.one_in(3))]
        if not once:
            nodes = [Loop(self.pick("double", "halve") if down else "halve", counter, Constant(wave), nodes)]
        if self.one_in(2):
            nodes.insert(0, Store(element, "=", self.value(context)))
        return [*self.fenced(nodes), self.load(context, name)]

    def tell(self, context):
        """One lane stores, all read."""
        name = self.own_memory()
        if name is None:
            return self.exchange(context)
        teller = Constant(self.random.randrange(min(self.program.wave, self.program.threads)))
        element = self.element(name, Place("slot", self.alike(context)))
        test = Binary("==", Variable("lane"), teller)
        told = If(test, [Store(element, "=", self.value(context))], [], self.one_in(3))
        return self.fenced(self.fenced([told]) + [Set(self.variable(context), "+=", element)])

    def butterfly(self, context):
        name = self.random.choice(self.memories())
        if self.plain and self.is_strict(self.program.memory(name)):
            return self.exchange(context)
        counter = self.fresh("o")
        element = self.element(name, Place("own"))
        other = Element(name, element.type, Place(self.pick("xor", "rotate"), Variable(counter)), element.part)
        variable = self.variable(context)
        loop = Loop(self.pick("double", "halve"), counter, Constant(self.program.wave),
                    [Store(element, "=", Variable(variable)), Set(variable, self.pick("+=", "^="), other)])
        return [loop]

    def collect(self, context):
        """Some lanes leave values, one reads them all."""
        name = self.own_memory()
        if name is None:
            return self.exchange(context)
        counter, element = self.fresh("i"), self.element(name, Place("own"))
        some = self.random.randrange(2, 18)
        read = Element(name, element.type, Place("slot", Variable(counter)), element.part)
        variable = self.variable(context)
        return [If(Binary("<", Variable("lane"), Constant(some)), [Store(element, "=", self.value(context))], [],
                   self.one_in(3)),
                If(Binary("==", Variable("lane"), Constant(0)),
                   [Loop("count", counter, Constant(some), [Set(variable, "+=", read)])], [])]

    def branch(self, context):
        alike = self.plain or self.one_in(4)
        test = self.alike_test(context) if alike else self.test(context)
        inside = context.inside(alike)
        then = self.statements(inside, self.random.randint(1, 3))
        otherwise = self.statements(inside, self.random.randint(1, 2)) if self.one_in(3) else []
        outside = len(then) == 1 and not otherwise and isinstance(then[0], (Set, Store)) and self.one_in(2)
        return [If(test, then, otherwise, outside)]

    def loop(self, context):
        counter = self.fresh("i")
        if self.one_in(3):
            kind = self.pick("double", "halve")
            inside = context.inside(loop=(counter, "power"))
            limit = Constant(self.pick(self.program.wave, 4, 8))
        elif self.plain or self.one_in(2):
            kind, limit = "count", Constant(self.random.randint(1, 5))
            if self.one_in(2):
                limit = Binary("+", Binary("&", self.alike(context), Constant(3)), Constant(1))
            inside = context.inside(loop=(counter, "count"))
        else:
            kind = "count"
            source = self.pick(Variable("lane"), Variable("lane"), Input(Variable("t")), Variable("wave"))
            limit = Binary("+", Binary("&", source, Constant(3)), Constant(self.pick(0, 1, 2)))
            inside = context.inside(False, loop=(counter, ""))
        return [Loop(kind, counter, limit, self.statements(inside, self.random.randint(1, 3)))]

    def stop(self, context):
        """Right in the loop: what is in a branch with it may, to LLVM, be done when the loop is over for all."""
        return [Break(self.test(context))]

    def call(self, context):
        function = self.random.choice(self.program.functions)
        return [Call(self.variable(context), function.name, [self.value(context, 1), self.value(context, 1)])]

    def barrier(self, context):
        names = [memory.name for memory in self.program.memories if memory.indexed and not self.is_strict(memory)]
        if not names or self.one_in(2):
            return [Barrier()]
        element = self.element(self.random.choice(names), Place("block", Constant(self.random.randrange(200))))
        return [Barrier(), Set(self.variable(context), "+=", element), Barrier()]

    def last(self, context):
        """All variables are put out; what memories hold goes into these before."""
        nodes = []
        for memory in self.program.memories:
            variable = self.variable(context)
            place = self.foreign(context) if self.is_strict(memory) else Place("own")
            for part in range(memory.parts_of(memory.type)):
                nodes.append(Set(variable, self.pick("^=", "+="), Element(memory.name, memory.type, place, part)))
        if not self.plain and self.one_in(6):
            nodes.insert(0, Leave(self.test(context)))
        return nodes


def without(nodes, unwanted):
    """The statements less one, wherever that is."""
    kept = []
    for node in nodes:
        if node is unwanted:
            continue
        for part in ("then", "otherwise", "body"):
            if hasattr(node, part):
                setattr(node, part, without(getattr(node, part), unwanted))
        kept.append(node)
    return kept


def program(seed, wave, flavours=FLAVOURS, barriers=False):
    """A program, and what it leaves: `out` and the memory of all blocks."""
    made = Generator(seed, wave, flavours, barriers).program
    while True:
        try:
            return made, Interpreter(made).run()
        except Undefined as undefined:
            made.body = without(made.body, undefined.statement)
            for function in made.functions:
                function.body = without(function.body, undefined.statement)
