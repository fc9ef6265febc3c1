# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What memory held before and after a launch: files that mneme-restore writes, seen by names, as numpy arrays."""

import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import MnemeError

if TYPE_CHECKING:
    import numpy


MOST_SEGMENTS = 2097152  # of an instance, as the format has it
_NAMES_A_FILE = re.compile(r"(?!0x)[A-Za-z0-9_$][A-Za-z0-9_.$]{0,99}")


@dataclass(frozen=True)
class Segment:
    """Contiguous memory that the kernel could see: an allocation, or a variable of the device."""

    address: int
    size: int  # bytes
    kind: str  # heap, global, host
    symbol: str  # of a variable; else empty

    def holds(self, address: int) -> bool:
        return self.address <= address < self.address + self.size


def segments_of(entries: Sequence[Mapping[str, Any]]) -> tuple[Segment, ...]:
    """An instance's. An entry may stand for many that are alike."""
    if sum(entry.get("count", 1) for entry in entries) > MOST_SEGMENTS:
        raise ValueError("too many segments")
    return tuple(Segment(int(entry["address"], 16) + place * entry.get("stride", 0), entry["size"], entry["kind"],
                         entry.get("symbol", ""))
                 for entry in entries for place in range(entry.get("count", 1)))


@dataclass(frozen=True)
class View:
    """The bytes from an address to the end of its segment, in a file."""

    address: int
    segment: Segment
    path: pathlib.Path

    @property
    def offset(self) -> int:
        return self.address - self.segment.address

    @property
    def size(self) -> int:
        return self.segment.size - self.offset

    def tobytes(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return file.read(self.size)

    def as_numpy(self, dtype: Any) -> "numpy.ndarray[Any, Any]":
        """A read-only array of the whole elements, which is read from the file where it is used."""
        try:
            import numpy
        except ImportError:
            raise MnemeError("as_numpy() needs numpy for this Python: Debian's python3-numpy", 3) from None
        count = self.size // numpy.dtype(dtype).itemsize
        if not count:
            raise MnemeError(f"the segment at {self.address:#x} has {self.size} bytes, less than an element of {dtype}")
        return numpy.memmap(self.path, dtype=dtype, mode="r", offset=self.offset, shape=(count,))


class Memory(Mapping[str | int, View]):
    """Views by the name of a pointer argument, the symbol of a variable, or an address (a number, or text such as
    "0x400000000000"), which may lie within a segment."""

    def __init__(self, folder: pathlib.Path, segments: Sequence[Segment], pointers: Mapping[str, int]) -> None:
        self._folder, self._segments, self._pointers = folder, segments, pointers

    def __getitem__(self, name: str | int) -> View:
        address = name if isinstance(name, int) else self._address(name)
        segment = next((segment for segment in self._segments if segment.holds(address)), None)
        if segment is None:
            raise MnemeError(f"no memory was recorded at {address:#x}")
        path = self._folder / f"{segment.address:#x}.raw"
        if _NAMES_A_FILE.fullmatch(segment.symbol) and not path.exists():
            path = self._folder / f"{segment.symbol}.raw"
        return View(address, segment, path)

    def _address(self, name: str) -> int:
        if name in self._pointers:
            return self._pointers[name]
        for segment in self._segments:
            if segment.symbol == name:
                return segment.address
        try:
            return int(name, 16) if name.startswith("0x") else int(name)
        except ValueError:
            there = ", ".join(map(str, self)) or "none"
            raise MnemeError(f"no pointer argument, variable or address is called '{name}'; there are: {there}") from None

    def __iter__(self) -> Iterator[str | int]:
        yield from self._pointers
        for segment in self._segments:
            yield segment.symbol or segment.address

    def __len__(self) -> int:
        return len(self._pointers) + len(self._segments)
