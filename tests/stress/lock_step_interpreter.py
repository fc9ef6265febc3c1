# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes the programs of lock_step.py in step: a statement for all lanes of a block, then the next one.

Lanes of different waves have nothing to do with each other between barriers, so that a block in step is the same as its
waves in step, one after the other. Lanes that do not take a branch, or have left a loop, wait until the others come.
"""

from lock_step_tree import SIZES, Binary, Constant, Element, Input, Variable, everything_in, filled

MASK = 0xffffffff
INPUTS, TABLES, OUTPUTS = 256, 4, 6  # the same in lock_step.h

OPERATIONS = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "^": lambda x, y: x ^ y,
    "&": lambda x, y: x & y, "|": lambda x, y: x | y, "<<": lambda x, y: x << y, ">>": lambda x, y: x >> y,
    "<": lambda x, y: x < y, ">=": lambda x, y: x >= y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
}


class Undefined(Exception):
    """The program has no one meaning in lock step; the statement that shows it."""

    def __init__(self, statement, why):
        super().__init__(why)
        self.statement = statement


def inputs():
    """As lock_step.h has them."""
    state, values = 12345, []
    for _ in range(INPUTS):
        state = (state * 1664525 + 1013904223) & MASK
        values.append(state >> 5)
    return values


def table(number, lane, wave):
    """The first is each lane's own number; the others turn lanes about."""
    return lane if number == 0 else (lane * (2 * number + 5) + 3 * number) % wave


def decides(first, then, wave):
    """Whether, in all lanes for which the first test holds, or in all others, the second one comes out the same."""
    if first == then:
        return True
    parts = list(everything_in([first, then]))
    names = {part.name for part in parts if isinstance(part, Variable)}
    if names != {"lane"} or any(isinstance(part, (Input, Element)) for part in parts):
        return False
    outcomes = {True: set(), False: set()}
    for lane in range(wave):
        number = Lane(lane=lane)
        outcomes[bool(number_of(first, number))].add(bool(number_of(then, number)))
    return any(len(outcome) == 1 for outcome in outcomes.values())


def number_of(node, lane):
    """A value that needs no memory."""
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Variable):
        return lane[node.name]
    return int(OPERATIONS[node.op](number_of(node.left, lane), number_of(node.right, lane))) & MASK


class Lane(dict):
    """A thread's variables. A block's threads share `memories`, and their bytes."""


class Interpreter:
    """With `in_step` false it is a wrong one: each lane does all of a statement before the next lane does."""

    INPUTS = inputs()

    def __init__(self, program, in_step=True):
        self.program, self.in_step = program, in_step
        self.functions = {function.name: function for function in program.functions}
        self.touched = []   # what the branches around have read and written so far
        # Since the last barrier: the wave that stored to a byte, and the waves and statements that loaded it as "block".
        self.stored_by, self.loaded_by = {}, {}
        places, size = program.offsets("global")
        self.scratch = bytearray(filled(i, program.seed) & 255 for i in range(size))
        self.places = places
        self.out = [0] * (program.blocks * program.threads * OUTPUTS)

    def run(self):
        """The words of `out`, and the bytes of the memory that all blocks have."""
        for block in range(self.program.blocks):
            self.run_block(block)
        return self.out, bytes(self.scratch)

    def run_block(self, block):
        program = self.program
        self.block, self.shared = block, {}
        self.stored_by, self.loaded_by = {}, {}
        for memory in program.memories:
            if memory.kind != "global":
                size = 1 if memory.mixed else SIZES[memory.type]
                self.shared[memory.name] = bytearray(b"".join(
                    (filled(i, memory.salt) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
                    for i in range(program.bytes_of(memory) // size)))
        lanes = []
        for t in range(program.threads):
            lane = Lane(t=t, lane=t % program.wave, self=t % program.wave, wave=t // program.wave, block=block,
                        a=program.a, b=program.b)
            for i, name in enumerate(program.variables):
                lane[name] = self.INPUTS[(t * 5 + i * 31 + block * 7) & 255]
            for pointer in program.pointers:
                lane[pointer.name] = pointer.first if self.value(pointer.test, lane) else pointer.second
            lanes.append(lane)
        self.left, self.broken = set(), set()
        self.statements(program.body, lanes)
        for lane in lanes:
            if id(lane) not in self.left:
                first = (block * program.threads + lane["t"]) * OUTPUTS
                for i, name in enumerate(program.variables[:OUTPUTS]):
                    self.out[first + i] = lane[name]

    # Values.

    def value(self, node, lane):
        if isinstance(node, Constant):
            return node.value
        if isinstance(node, Variable):
            return lane[node.name]
        if isinstance(node, Binary):
            return int(OPERATIONS[node.op](self.value(node.left, lane), self.value(node.right, lane))) & MASK
        if isinstance(node, Input):
            return self.INPUTS[self.value(node.index, lane) & 255]
        if isinstance(node, Element):
            return self.load(node, lane)
        raise TypeError(node)

    def place(self, place, lane):
        """A number of a lane, counted from the block's first."""
        wave, own, kind = self.program.wave, lane["lane"], place.kind
        if kind == "block":
            return (lane["t"] + self.value(place.amount, lane)) % self.program.threads
        amount = 0 if place.amount is None else self.value(place.amount, lane)
        number = {"own": lambda: own, "xor": lambda: own ^ amount, "rotate": lambda: (own + amount) % wave,
                  "down": lambda: own - amount, "up": lambda: own + amount, "reversed": lambda: wave - 1 - own,
                  "table": lambda: table(amount, own, wave), "slot": lambda: amount % wave}[kind]()
        if not 0 <= number < wave:
            raise Undefined(self.at, f"there is no lane {number}")
        return lane["wave"] * wave + number

    def bytes_at(self, element, lane):
        """The memory, its bytes, and the first of them that the element has."""
        name = lane.get(element.memory, element.memory)
        memory, size = self.program.memory(name), SIZES[element.type]
        place = self.place(element.place, lane)
        if memory.apart:
            wave = self.program.wave
            first = (place // wave * wave * memory.parts + element.part * wave + place % wave) * size
        else:
            first = place * memory.lane_bytes + element.part * size
        if memory.kind != "global":
            return name, self.shared[name], first
        return name, self.scratch, self.places[name] + self.block * self.program.bytes_of(memory) + first

    def load(self, element, lane):
        name, memory, first = self.bytes_at(element, lane)
        size = SIZES[element.type]
        if element.place.kind == "block":
            self.load_across(lane["wave"], [(name, byte) for byte in range(first, first + size)])
        self.touch(0, name, first, size)
        number = int.from_bytes(memory[first:first + size], "little")
        return (number ^ number >> 32) & MASK

    def load_across(self, wave, places):
        """Barriers stand between a load from another wave's memory and that wave's stores."""
        for place in places:
            if self.stored_by.get(place, wave) != wave:
                raise Undefined(self.at, "no barrier stands between this load and another wave's store")
            self.loaded_by.setdefault(place, []).append((wave, self.at))

    def store_across(self, wave, places):
        for place in places:
            for by, statement in self.loaded_by.get(place, ()):
                if by != wave:
                    raise Undefined(statement, "no barrier stands between this load and another wave's store")
            self.stored_by[place] = wave

    def touch(self, kind, name, first, size):
        if self.touched:
            self.touched[-1][kind].update((name, byte) for byte in range(first, first + size))

    # Statements.

    def statements(self, nodes, lanes):
        for node in nodes:
            lanes = [lane for lane in lanes if id(lane) not in self.left and id(lane) not in self.broken]
            if not lanes:
                return
            self.at = node
            getattr(self, type(node).__name__)(node, lanes)

    def Set(self, node, lanes):
        values = [self.value(node.value, lane) for lane in lanes]
        for lane, value in zip(lanes, values):
            lane[node.name] = self.combined(node.op, lane[node.name], value)

    def combined(self, op, old, value):
        return value if op == "=" else OPERATIONS[op[0]](old, value) & MASK

    def Store(self, node, lanes):
        for together in [lanes] if self.in_step else [[lane] for lane in lanes]:
            self.store(node, together)

    def store(self, node, lanes):
        element, size = node.element, SIZES[node.element.type]
        olds = [0 if node.op == "=" else self.load(element, lane) for lane in lanes]
        values = [self.combined(node.op, old, self.value(node.value, lane)) for old, lane in zip(olds, lanes)]
        written = set()
        for lane, value in zip(lanes, values):
            name, memory, first = self.bytes_at(element, lane)
            if (name, first) in written:
                raise Undefined(node, "two lanes store to the same element")
            written.add((name, first))
            self.touch(1, name, first, size)
            self.store_across(lane["wave"], [(name, byte) for byte in range(first, first + size)])
            # Of 64 bits, the value and its product with an odd number: load() mixes halves.
            whole = value | (value * 0x9e3779b1 & MASK) << 32
            memory[first:first + size] = (whole & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def If(self, node, lanes):
        tests = [self.value(node.test, lane) for lane in lanes]
        sides = []
        for wanted, body in ((True, node.then), (False, node.otherwise)):
            self.touched.append((set(), set()))
            self.statements(body, [lane for lane, test in zip(lanes, tests) if bool(test) == wanted])
            sides.append(self.touched.pop())
        if self.touched:
            for side in sides:
                self.touched[-1][0].update(side[0])
                self.touched[-1][1].update(side[1])
        (read, written), (other_read, other_written) = sides
        if written & (other_read | other_written) or other_written & read:
            raise Undefined(node, "the two sides of a branch exchange values")

    def Loop(self, node, lanes):
        limits = [self.value(node.limit, lane) for lane in lanes]
        for lane, limit in zip(lanes, limits):
            lane[node.name] = {"count": 0, "double": 1, "halve": limit // 2}[node.kind]
        outer, self.broken = self.broken, set()
        while True:
            going = [lane for lane, limit in zip(lanes, limits)
                     if (lane[node.name] > 0 if node.kind == "halve" else lane[node.name] < limit)
                     and id(lane) not in self.broken]
            if not going:
                break
            self.statements(node.body, going)
            for lane in going:
                old = lane[node.name]
                lane[node.name] = {"count": old + 1, "double": old * 2, "halve": old // 2}[node.kind]
        self.broken = outer

    def Break(self, node, lanes):
        self.broken.update(id(lane) for lane in lanes if self.value(node.test, lane))

    def Leave(self, node, lanes):
        self.left.update(id(lane) for lane in lanes if self.value(node.test, lane))

    def Barrier(self, node, lanes):
        if len(lanes) != self.program.threads:
            raise Undefined(node, "not all lanes come to a barrier")
        self.stored_by, self.loaded_by = {}, {}

    def Fence(self, node, lanes):
        pass

    def Call(self, node, lanes):
        function = self.functions[node.function]
        frames = []
        for lane in lanes:
            frame = Lane(lane)
            for name in function.variables:
                frame[name] = 0
            for name, argument in zip(function.parameters, node.arguments):
                frame[name] = self.value(argument, lane)
            frames.append(frame)
        self.statements(function.body, frames)
        for lane, frame in zip(lanes, frames):
            lane[node.name] = frame[function.result]
