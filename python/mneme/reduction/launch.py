# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least launch and memory: blocks and threads, segments, and the bytes that are not zeros."""

import pathlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..bisection.search import least
from ..bundle import Bundle, Dimensions
from ..edits import edit
from ..errors import MnemeError
from ..memory import Segment
from .case import Case, symptom_of

BLOCK, PAGE, LINE = 65536, 4096, 256  # bytes in which memory is tried
SMALL = 60_000  # bytes of a bundle that needs no finer pieces

Range = tuple[int, int]  # address, size


@dataclass
class Plan:
    """An edit, as mneme-restore --edit takes it."""

    grid: Dimensions
    block: Dimensions
    sizes: dict[int, int] = field(default_factory=dict)
    zero: list[Range] = field(default_factory=list)

    def changes(self) -> dict[str, Any]:
        def ranges(found: Sequence[Range]) -> list[dict[str, Any]]:
            return [{"address": hex(address), "size": size} for address, size in found]
        return {"grid": self.grid, "block": self.block, "segments": ranges(sorted(self.sizes.items())), "zero": ranges(self.zero)}


def least_number(most: int, holds: Callable[[int], bool]) -> int:
    """The least power of two for which it holds, else `most`, for which it does."""
    number = 1
    while number < most and not holds(number):
        number *= 2
    return min(number, most)


def complement(segments: Sequence[Segment], kept: Sequence[Range]) -> list[Range]:
    """What of the segments is in none of the ranges, which ascend."""
    found = []
    for segment in segments:
        begin, end = segment.address, segment.address + segment.size
        for address, size in kept:
            if begin <= address < end:
                found.append((begin, address - begin))
                begin = address + size
        found.append((begin, end - begin))
    return [(address, size) for address, size in found if size > 0]


class LaunchReducer:
    def __init__(self, case: Case, base: pathlib.Path, ir: pathlib.Path, say: Callable[[str], None]) -> None:
        self.case, self.base, self.ir, self.say = case, base, ir, say
        with Bundle.open(base) as bundle:
            [self.instance] = bundle.instances
        self.plan = Plan(self.instance.grid, self.instance.block)

    def write(self, plan: Plan, made: pathlib.Path) -> None:
        edit(self.base, plan.changes(), self.case.settings(self.base).selection(), made)

    def shows(self, plan: Plan) -> bool:
        with tempfile.TemporaryDirectory(prefix="mneme-reduce-") as name:
            made = pathlib.Path(name) / "edited.tar"
            try:
                self.write(plan, made)
            except MnemeError:
                return False
            return symptom_of(self.case, made, self.ir) == self.case.symptom

    def with_(self, **changes: Any) -> Plan:
        return replace(self.plan, **changes)

    def dimensions(self) -> None:
        for name in ("grid", "block"):
            for axis in range(3):
                def with_number(number: int, name: str = name, axis: int = axis) -> Plan:
                    numbers = list(getattr(self.plan, name))
                    numbers[axis] = number
                    return self.with_(**{name: tuple(numbers)})
                now = getattr(self.plan, name)[axis]
                self.plan = with_number(least_number(now, lambda number: self.shows(with_number(number))))
        self.say(f"launch: {self.plan.grid} blocks of {self.plan.block} threads; recorded: {self.instance.grid} of "
                 f"{self.instance.block}")

    def segments(self) -> list[Segment]:
        """Those that are left. Variables of the device stay as they are."""
        return [Segment(one.address, size, one.kind, one.symbol) for one in self.instance.segments
                if (size := self.plan.sizes.get(one.address, one.size))]

    def sizes(self) -> None:
        free = [one for one in self.instance.segments if not one.symbol]

        def without(kept: Sequence[Segment]) -> Plan:
            return self.with_(sizes={one.address: 0 for one in free if one not in kept})
        if len(free) > 1:
            self.plan = without(least(free, lambda kept: self.shows(without(kept))))
        for one in self.segments():
            blocks = -(-one.size // BLOCK)
            if one.symbol or blocks == 1:
                continue

            def cut(number: int, one: Segment = one) -> Plan:
                return self.with_(sizes={**self.plan.sizes, one.address: min(one.size, number * BLOCK)})
            self.plan = cut(least_number(blocks, lambda number: self.shows(cut(number))))
        left = self.segments()
        self.say(f"segments: {len(left)} of {len(self.instance.segments)}, {sum(one.size for one in left)} of "
                 f"{sum(one.size for one in self.instance.segments)} bytes")

    def pieces(self, kept: Sequence[Range], size: int) -> Iterator[Range]:
        """Of these ranges, those that are not zeros."""
        with Bundle.open(self.base) as bundle:
            memory = bundle.instances[0].prologue
            for begin, length in kept:
                view = memory[begin]
                with open(view.path, "rb") as file:
                    for at in range(0, length, size):
                        file.seek(view.offset + at)
                        piece = file.read(min(size, length - at))
                        if piece.count(0) < len(piece):
                            yield begin + at, len(piece)

    def bytes_of_bundle(self) -> int:
        with tempfile.TemporaryDirectory(prefix="mneme-reduce-") as name:
            made = pathlib.Path(name) / "edited.tar"
            self.write(self.plan, made)
            return made.stat().st_size

    def memory(self) -> None:
        segments = self.segments()
        kept: list[Range] = [(one.address, one.size) for one in segments]

        def only(ranges: Sequence[Range]) -> Plan:
            return self.with_(zero=complement(segments, sorted(ranges)))
        for size in (BLOCK, PAGE, LINE):
            pieces = list(self.pieces(kept, size))
            kept = [] if self.shows(only([])) else least(pieces, lambda left: self.shows(only(left)))
            self.plan = only(kept)
            if not kept or (size < BLOCK and self.bytes_of_bundle() < SMALL):
                break
        self.say(f"memory: {sum(size for _, size in kept)} bytes that are not zeros")

    def run(self) -> Plan:
        self.dimensions()
        self.sizes()
        self.memory()
        return self.plan
