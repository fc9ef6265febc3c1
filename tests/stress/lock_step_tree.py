# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the random programs of lock_step.py consist of. Values are unsigned numbers of 32 bits, one for each lane."""

from dataclasses import dataclass, field

SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
FILL = 2654435761  # memory begins as multiples of this: filled() says which


def filled(index, salt):
    """What element `index` of a memory holds before the first statement; smaller elements have its low bytes."""
    return ((index + salt) * FILL & 0xffffffff) >> 7


# Values.


@dataclass
class Constant:
    value: int


@dataclass
class Variable:
    name: str  # or t, lane, self (the lane, read from a table), wave, block, a, b, or a loop's


@dataclass
class Input:
    index: object  # modulo 256


@dataclass
class Binary:
    op: str  # of C++; comparisons give 0 or 1
    left: object
    right: object


@dataclass
class Place:
    """A lane's number, within its wave: that of
    own: the lane itself; xor, rotate, down, up: one that is `amount` away; reversed; table: by table number `amount`;
    slot: the lane `amount` modulo the wave's size; block: a thread's number, of any wave, `amount` away."""
    kind: str
    amount: object = None


@dataclass
class Element:
    """Of a memory or pointer: part `part` of what a lane has there, seen as `type`."""
    memory: str
    type: str
    place: Place
    part: int = 0


# Statements. In each, all lanes that take part load, then all of them compute, then all of them store.


@dataclass
class Set:
    name: str
    op: str  # =, +=, ^=
    value: object


@dataclass
class Store:
    element: Element
    op: str
    value: object


@dataclass
class If:
    test: object
    then: list
    otherwise: list
    order_outside: bool = False  # what keeps the order stands behind the branch in place of in it


@dataclass
class Loop:
    """count: 0, 1, … below the limit; double: 1, 2, 4, … below it; halve: half of it, a quarter, … 1."""
    kind: str
    name: str
    limit: object
    body: list


@dataclass
class Break:
    test: object


@dataclass
class Leave:
    """Lanes for which the test holds end."""
    test: object


@dataclass
class Barrier:
    """For the block."""


@dataclass
class Fence:
    """Nothing but an order for the compiler."""


@dataclass
class Call:
    name: str
    function: str
    arguments: list


# What they are about.


@dataclass
class Memory:
    """Each lane has `parts` elements. Where `mixed`, it has 8 bytes that are accessed as elements of any size."""
    name: str
    kind: str   # static, dynamic, global
    type: str
    parts: int = 1
    apart: bool = False      # a wave's first parts of all lanes, then its second ones
    mixed: bool = False
    aliased: bool = False    # by types that may alias
    indexed: bool = False    # by the thread's number; otherwise by the lane's, from where the wave's begins
    salt: int = 0

    @property
    def lane_bytes(self):
        return 8 if self.mixed else self.parts * SIZES[self.type]

    def types(self):
        return list(SIZES) if self.mixed else [self.type]

    def parts_of(self, type_name):
        return 8 // SIZES[type_name] if self.mixed else self.parts


@dataclass
class Pointer:
    """To the first of two memories that are alike, or to the second one."""
    name: str
    test: object
    first: str
    second: str


@dataclass
class Function:
    name: str
    inlined: bool
    parameters: list
    variables: list
    body: list
    result: str


@dataclass
class Program:
    seed: int
    wave: int
    flavour: str             # what keeps the order of accesses within a lane: lock_step_programs.py
    shape: tuple = (1, 1, 1)
    blocks: int = 1
    numbering: str = "x"     # how a thread knows its number
    fill: str = "block"      # who fills shared memory: the block, then a barrier; or each wave for itself
    a: int = 0
    b: int = 0
    variables: list = field(default_factory=list)
    memories: list = field(default_factory=list)
    pointers: list = field(default_factory=list)
    functions: list = field(default_factory=list)
    body: list = field(default_factory=list)
    version: str = ""        # of a program that is made smaller

    @property
    def name(self):
        return f"k{self.seed}{self.version}"

    @property
    def threads(self):
        return self.shape[0] * self.shape[1] * self.shape[2]

    @property
    def waves(self):
        return -(-self.threads // self.wave)

    def memory(self, name):
        """The memory of this name, or the first one that the pointer of this name leads to."""
        for pointer in self.pointers:
            if pointer.name == name:
                name = pointer.first
        return next(memory for memory in self.memories if memory.name == name)

    def bytes_of(self, memory):
        return self.waves * self.wave * memory.lane_bytes

    def offsets(self, kind):
        """Where memories of this kind begin, in bytes, in what they share; and where they end."""
        places, end = {}, 0
        for memory in self.memories:
            if memory.kind == kind:
                places[memory.name] = end
                end += -(-self.bytes_of(memory) * (self.blocks if kind == "global" else 1) // 8) * 8
        return places, end


def parts_of(node):
    """The nodes right within a node, values and statements."""
    for value in vars(node).values():
        if isinstance(value, list):
            yield from value
        elif hasattr(value, "__dataclass_fields__"):
            yield value


def everything_in(nodes):
    for node in nodes:
        yield node
        yield from everything_in(part for part in parts_of(node) if not isinstance(part, str))
