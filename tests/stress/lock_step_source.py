# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of lock_step.py as HIP's text, for lock_step.h."""

from lock_step_interpreter import decides
from lock_step_tree import (SIZES, Binary, Break, Call, Constant, Element, If, Input, Leave, Loop, Memory, Set, Store,
                            Variable, everything_in)

# What stands behind a statement that accesses memory: lock_step_programs.py says why.
ORDER = {"volatile": None, "barriers": None, "fence": "__threadfence_block();", "wave": "WAVE_BARRIER();",
         "clobber": 'asm volatile("" ::: "memory");', "plain": "self = table[self];"}
NUMBERS = {
    "x": "threadIdx.x", "y": "threadIdx.y", "z": "threadIdx.z",
    "linear": "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)",
    "summed": "threadIdx.z * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x",
    "fixed": "(threadIdx.z * {y}u + threadIdx.y) * {x}u + threadIdx.x",
    "rows": "threadIdx.y * WAVE + threadIdx.x",          # x counts a wave's lanes
    "turned": "threadIdx.x * blockDim.y + threadIdx.y",  # all within a wave
}


class Source:
    def __init__(self, program):
        self.program = program
        self.volatile = "volatile " if program.flavour == "volatile" else ""
        self.lines, self.depth = [], 0
        self.tests = []  # of branches, in the function so far

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    # Values.

    def value(self, node):
        if isinstance(node, Constant):
            return f"{node.value}u"
        if isinstance(node, Variable):
            return node.name
        if isinstance(node, Input):
            return f"in[{self.value(node.index)} & {255}u]"
        if isinstance(node, Element):
            element = self.element(node)
            return f"folded({element})" if SIZES[node.type] == 8 else f"(U){element}"
        comparison = node.op in ("<", ">=", "==", "!=")
        text = f"({self.value(node.left)} {node.op} {self.value(node.right)})"
        return f"(U){text}" if comparison else text

    def test(self, node):
        text = self.value(node)
        if isinstance(node, Binary) and text.startswith("(U)("):
            return text[4:-1]
        return f"{text} != 0u"

    def branch(self, node):
        """A test that decides a branch. Where an earlier one decides it already, LLVM would lead each lane from one
        branch right into a side of the other, past the place where lanes join in between."""
        text = self.test(node)
        if any(decides(test, node, self.program.wave) for test in self.tests):
            text = f"opaque({text})"
        self.tests.append(node)
        return text

    def type(self, memory, name):
        return self.volatile + name.upper().replace("U", "A" if memory.aliased else "U")

    def element(self, node):
        memory = self.program.memory(node.memory)
        parts = memory.parts_of(node.type)
        pointer = node.memory
        if memory.mixed:
            pointer = f"reinterpret_cast<{self.type(memory, node.type)}*>({pointer})"
        place = self.place(node.place, memory)
        if memory.apart:
            place = f"{node.part}u * WAVE + {place}"
        elif parts > 1:
            place = f"{place} * {parts}u + {node.part}u"
        return f"{pointer}[{place}]"

    def place(self, place, memory):
        amount = "" if place.amount is None else self.value(place.amount)
        if place.kind == "block":
            return f"((t + {amount}) % threads)"
        # Which tells LLVM nothing of where that is: see "plain" in lock_step_programs.py.
        lane = "self" if self.program.flavour == "plain" and place.kind != "own" else "lane"
        near = {"own": "{lane}", "xor": "({lane} ^ {amount})", "down": "({lane} - {amount})",
                "up": "({lane} + {amount})"}
        if place.kind in near:
            if memory.indexed and lane == "lane":
                lane = "t"
            elif memory.indexed:
                lane = "(wave * WAVE + self)"
            return near[place.kind].format(lane=lane, amount=amount)
        text = {"rotate": f"(({lane} + {amount}) % WAVE)", "reversed": f"(WAVE - 1u - {lane})",
                "table": f"table[{amount} * WAVE + {lane}]", "slot": f"({amount} % WAVE)"}[place.kind]
        return f"(wave * WAVE + {text})" if memory.indexed else text

    # Statements.

    def statements(self, nodes, ordered=True):
        for node in nodes:
            getattr(self, type(node).__name__)(node)
            order = ORDER[self.program.flavour]
            if order and ordered and isinstance(node, (Set, Store)) and self.accesses(node):
                self.line(order)

    def by_barriers(self, node, test=None):
        """A store, all of whose loads are done before; by some lanes, if there is a test."""
        element, value = node.element, node.value
        if node.op != "=":
            value = Binary(node.op[0], element, value)
        name, only = f"w{len(self.lines)}", f"if ({self.test(test)}) " if test else ""
        self.line(f"U {name} = 0;")
        self.line(f"{only}{name} = {self.value(value)};")
        self.line("__syncthreads();")
        self.line(f"{only}{self.element(element)} = {f'whole({name})' if SIZES[element.type] == 8 else name};")
        self.line("__syncthreads();")

    def accesses(self, node):
        return any(isinstance(part, Element) for part in everything_in([node]))

    def block(self, head, nodes, tail="}", ordered=True):
        self.line(head)
        self.depth += 1
        self.statements(nodes, ordered)
        self.depth -= 1
        if tail:
            self.line(tail)

    def Set(self, node):
        self.line(f"{node.name} {node.op} {self.value(node.value)};")
        if self.program.flavour == "barriers" and self.accesses(node):
            self.line("__syncthreads();")

    def Store(self, node):
        if self.program.flavour == "barriers":
            self.by_barriers(node)
            return
        element, value = self.element(node.element), self.value(node.value)
        if SIZES[node.element.type] == 8:
            value = f"whole(folded({element}) {node.op[0]} {value})" if node.op != "=" else f"whole({value})"
            self.line(f"{element} = {value};")
        else:
            self.line(f"{element} {node.op} {value};")

    def If(self, node):
        if self.program.flavour == "barriers" and Variable("lane") in everything_in([node.test]):
            self.by_barriers(node.then[0], node.test)
            return
        outside = node.order_outside and ORDER[self.program.flavour] is not None
        if node.otherwise:
            self.block(f"if ({self.branch(node.test)}) {{", node.then, None)
            self.block("} else {", node.otherwise)
        else:
            self.block(f"if ({self.branch(node.test)}) {{", node.then, ordered=not outside)
            if outside:
                self.line(ORDER[self.program.flavour])

    def Loop(self, node):
        name, limit = node.name, self.value(node.limit)
        if node.kind == "count":
            head = f"for (U {name} = 0, {name}_end = {limit}; {name} < {name}_end; ++{name}) {{"
            if isinstance(node.limit, Constant):
                head = f"for (U {name} = 0; {name} < {limit}; ++{name}) {{"
        elif node.kind == "double":
            head = f"for (U {name} = 1; {name} < {limit}; {name} *= 2) {{"
        else:
            head = f"for (U {name} = {limit} / 2; {name} > 0; {name} /= 2) {{"
        self.block(head, node.body)

    def Break(self, node):
        self.line(f"if ({self.branch(node.test)}) break;")

    def Leave(self, node):
        self.line(f"if ({self.branch(node.test)}) return;")

    def Barrier(self, _):
        self.line("__syncthreads();")

    def Fence(self, _):
        self.line("__threadfence_block();")

    def Call(self, node):
        names = [*self.pointers(), "in", "table", "t", "lane", "self", "wave", "block", "a", "b"]
        arguments = [*names, *(self.value(argument) for argument in node.arguments)]
        self.line(f"{node.name} = {node.function}_{self.program.name}({', '.join(arguments)});")
        if self.program.flavour == "plain":  # the function had the same `self`
            self.line("__threadfence_block();")

    # Around them.

    def pointers(self):
        """Of memories, and to them, with their types."""
        names = {memory.name: memory for memory in self.program.memories}
        names.update((pointer.name, self.program.memory(pointer.name)) for pointer in self.program.pointers)
        return {name: self.type(memory, "u8" if memory.mixed else memory.type) for name, memory in names.items()}

    def function(self, function):
        parameters = [f"{type_name}* {name}" for name, type_name in self.pointers().items()]
        numbers = ["t", "lane", "self", "wave", "block", "a", "b", *function.parameters]
        parameters += ["const U* in", "const U* table", *(f"U {name}" for name in numbers)]
        kind = "__device__ inline" if function.inlined else "__device__ __noinline__"
        self.line(f"{kind} U {function.name}_{self.program.name}({', '.join(parameters)}) {{")
        self.depth += 1
        self.line("U " + ", ".join(f"{name} = 0" for name in function.variables) + ";")
        self.statements(function.body)
        self.line(f"return {function.result};")
        self.depth -= 1
        self.line("}")

    def memory(self, memory: Memory):
        program = self.program
        type_name = self.pointers()[memory.name]
        count = program.bytes_of(memory) // (1 if memory.mixed else SIZES[memory.type])
        per_wave = "" if memory.indexed else f" + wave * {count // program.waves}u"
        places, _ = program.offsets(memory.kind)
        if memory.kind == "static" and memory.indexed:
            self.line(f"__shared__ __attribute__((aligned(8))) {type_name} {memory.name}[{count}];")
        elif memory.kind == "static":
            name = f"{memory.name}_all"
            self.line(f"__shared__ __attribute__((aligned(8))) {type_name.replace('volatile ', '')} {name}[{count}];")
            self.line(f"{type_name}* {memory.name} = {name}{per_wave};")
        else:
            first = f"dynamic + {places[memory.name]}u" if memory.kind == "dynamic" else \
                f"scratch + {places[memory.name]}u + block * {program.bytes_of(memory)}u"
            self.line(f"{type_name}* {memory.name} = reinterpret_cast<{type_name}*>({first}){per_wave};")
        if memory.kind != "global":
            self.fill(memory, type_name, count)

    def fill(self, memory, type_name, count):
        """Each element is stored once, by one thread of its wave or of its block."""
        cast = type_name.replace("volatile ", "")
        value = f"static_cast<{cast}>(filled({{i}}, {memory.salt}u))"
        if self.program.fill == "block":
            first = memory.name if memory.indexed else f"({memory.name} - wave * {count // self.program.waves}u)"
            self.line(f"for (U i = t; i < {count}u; i += threads) {first}[i] = {value.format(i='i')};")
            return
        per_wave = count // self.program.waves
        first = f"wave * {per_wave}u + i"
        index = first if memory.indexed else "i"
        self.line(f"for (U i = lane; i < {per_wave}u; i += present) {memory.name}[{index}] = {value.format(i=first)};")

    def kernel(self):
        program = self.program
        for function in program.functions:
            self.function(function)
            self.tests = []
        x, y, _ = program.shape
        self.line(f"__global__ void {program.name}(U* out, const U* in, const U* table, U8* scratch, U a, U b) {{")
        self.depth += 1
        self.line(f"const U t = {NUMBERS[program.numbering].format(x=x, y=y)};")
        self.line("const U block = blockIdx.x, threads = blockDim.x * blockDim.y * blockDim.z;")
        self.line("const U lane = t % WAVE, wave = t / WAVE;")
        self.line("U self = table[lane];")
        self.line("const U left = threads - wave * WAVE, present = left < WAVE ? left : WAVE;")
        if any(memory.kind == "dynamic" for memory in program.memories):
            self.line("extern __shared__ __attribute__((aligned(8))) unsigned char dynamic[];")
        for memory in program.memories:
            self.memory(memory)
        if any(memory.kind != "global" for memory in program.memories):
            if program.fill == "block" or program.flavour == "barriers":
                self.line("__syncthreads();")
            elif ORDER[program.flavour]:
                self.line(ORDER[program.flavour])
        for pointer in program.pointers:
            type_name = self.pointers()[pointer.name]
            self.line(f"{type_name}* {pointer.name} = {self.test(pointer.test)} ? {pointer.first} : {pointer.second};")
        for i, name in enumerate(program.variables):
            self.line(f"U {name} = in[(t * 5u + {i * 31}u + block * 7u) & 255u];")
        self.statements(program.body)
        for i, name in enumerate(program.variables):
            self.line(f"out[(block * threads + t) * kOutputs + {i}u] = {name};")
        self.depth -= 1
        self.line("}")
        return "\n".join(self.lines)

    def launch(self):
        program = self.program
        shape = ", ".join(map(str, program.shape))
        sizes = f"{program.offsets('dynamic')[1]}, {program.offsets('global')[1]}"
        return (f'  run("{program.name}", {program.name}, dim3({shape}), {program.blocks}, {sizes}, {program.seed}u, '
                f'{program.a}u, {program.b}u);')


def text(programs):
    """One file with all of them."""
    kernels = "\n\n".join(Source(program).kernel() for program in programs)
    launches = "\n".join(Source(program).launch() for program in programs)
    return f'#include "lock_step.h"\n\n{kernels}\n\nint main() {{\n{launches}\n}}\n'
