# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one of lock_step.py's programs smaller as long as it still goes wrong in the same mode."""

import copy
import time

import lock_step_trial
from lock_step_interpreter import Interpreter, Undefined
from lock_step_tree import Binary, Break, Call, Element, Loop, Variable, everything_in

AT_ONCE = 12  # versions in one application: HIP's headers take longer than a kernel
COUNTERS = ("i", "o")  # the first letters of loop counters: lock_step_programs.fresh()
LISTS = ("then", "otherwise", "body")


def lists_of(nodes):
    """All lists of statements, those that hold more before those within them."""
    yield nodes
    for node in nodes:
        for part in LISTS:
            if hasattr(node, part):
                yield from lists_of(getattr(node, part))


def values_of(node):
    """Where a statement or value has values: object and member."""
    for name, value in vars(node).items():
        if hasattr(value, "__dataclass_fields__"):
            yield node, name
            yield from values_of(value)


def bodies(program):
    return [program.body, *(function.body for function in program.functions)]


def simpler(program):
    """Changes that each make a program smaller: functions that do that to a copy of it."""
    all_lists = [nodes for body in bodies(program) for nodes in lists_of(body)]

    def nth(copied, number):
        return [nodes for body in bodies(copied) for nodes in lists_of(body)][number]

    def cut(number, first, last):
        def change(copied):
            del nth(copied, number)[first:last]
        return change

    def unwrap(number, at, part):
        def change(copied):
            nodes = nth(copied, number)
            nodes[at:at + 1] = getattr(nodes[at], part)
        return change

    for number, nodes in enumerate(all_lists):
        if len(nodes) > 3:
            yield cut(number, 0, len(nodes) // 2)
            yield cut(number, len(nodes) // 2, len(nodes))
    for number, nodes in enumerate(all_lists):
        for at, node in enumerate(nodes):
            yield cut(number, at, at + 1)
            yield from (unwrap(number, at, part) for part in LISTS if getattr(node, part, None))
    if program.blocks > 1:
        yield lambda copied: setattr(copied, "blocks", 1)


def plainer(program):
    """The same for values, which become a part of what they were."""
    def places(copied):
        statements = [node for body in bodies(copied) for nodes in lists_of(body) for node in nodes]
        return [(holder, name) for node in statements for holder, name in values_of(node)
                if isinstance(getattr(holder, name), Binary)]

    def take(number, side):
        def change(copied):
            holder, name = places(copied)[number]
            setattr(holder, name, getattr(getattr(holder, name), side))
        return change

    for number in range(len(places(program))):
        yield take(number, "left")
        yield take(number, "right")


def drop_stray_breaks(nodes):
    """Those that were in a loop that is no more."""
    nodes[:] = [node for node in nodes if not isinstance(node, Break)]
    for node in nodes:
        if not isinstance(node, Loop):
            for part in LISTS:
                drop_stray_breaks(getattr(node, part, []))


def counters_are_declared(nodes, declared=frozenset()):
    """Whether each loop counter that a statement uses is that of a loop around it."""
    for node in nodes:
        inside = declared | {node.name} if isinstance(node, Loop) else declared
        lists = [getattr(node, part) for part in LISTS if hasattr(node, part)]
        values = [getattr(holder, name) for holder, name in values_of(node)]
        used = {value.name for value in values if isinstance(value, Variable) and value.name[:1] in COUNTERS}
        if not used <= inside or not all(counters_are_declared(body, inside) for body in lists):
            return False
    return True


def pruned(program):
    """Without the functions, pointers and memories that nothing uses."""
    for body in bodies(program):
        drop_stray_breaks(body)
    nodes = list(everything_in([node for body in bodies(program) for node in body]))
    called = {node.function for node in nodes if isinstance(node, Call)}
    program.functions = [function for function in program.functions if function.name in called]
    nodes = list(everything_in([node for body in bodies(program) for node in body]))
    used = {node.memory for node in nodes if isinstance(node, Element)}
    program.pointers = [pointer for pointer in program.pointers if pointer.name in used]
    used |= {name for pointer in program.pointers for name in (pointer.first, pointer.second)}
    program.memories = [memory for memory in program.memories if memory.name in used] or program.memories[:1]
    return program


class Reducer:
    def __init__(self, folder, program, target, level, mode, seconds):
        self.folder, self.program, self.target, self.level, self.mode = folder, program, target, level, mode
        self.end = time.monotonic() + seconds

    def failing(self, programs):
        """Of these the first that still goes wrong, and what it says, or None."""
        expected = []
        for number, program in enumerate(programs):
            if not all(counters_are_declared(body) for body in bodies(program)):
                continue
            try:
                program.version = f"_{number}"
                expected.append((program, Interpreter(program).run()))
            except (Undefined, KeyError, IndexError):
                pass  # means nothing now
        for first in range(0, len(expected), AT_ONCE):
            if time.monotonic() > self.end:
                return None
            some = expected[first:first + AT_ONCE]
            trial = lock_step_trial.Trial(self.folder, some, self.target, self.level)
            trial.build()
            verdicts, said = trial.verdicts([self.mode])
            for program, _ in some:
                if verdicts.get((program.name, *self.mode)) is False:
                    return program, trial.expected[program.name], said[self.mode[0]][program.name]
        return None

    def run(self):
        """The smallest version found, what it has to say, and what it says; nothing if it goes wrong by chance."""
        best = self.failing([copy.deepcopy(self.program)])
        for changes in (simpler, plainer):
            while best:
                versions = []
                for change in changes(best[0]):
                    versions.append(copy.deepcopy(best[0]))
                    change(versions[-1])
                    pruned(versions[-1])
                found = self.failing(versions)
                if not found:
                    break
                best = found
        return best
