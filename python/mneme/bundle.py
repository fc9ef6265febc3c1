# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bundle: its kernels, instances, variants and runs, read from the archive when they are asked for.

lib/bundle/FORMAT.md says what members there are. Packed memory is read by mneme-restore (memory.py)."""

import contextlib
import functools
import json
import os
import pathlib
import statistics
import struct
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .configuration import KEYS, Configuration
from .errors import MnemeError
from .memory import Memory, Segment, segments_of
from .tools import run_tool

Dimensions = tuple[int, int, int]


@dataclass(frozen=True)
class Argument:
    """One of a kernel's: where it lies in the argument bytes."""

    name: str  # in the source; empty where it is not known
    kind: str  # pointer, scalar, struct
    type: str  # as LLVM spells it
    offset: int
    size: int

    def value(self, arguments: bytes) -> int | float | bytes:
        """A number where the type is one, an address of a pointer, else the bytes."""
        data = arguments[self.offset:self.offset + self.size]
        if self.type in ("float", "double", "half"):
            number: float = struct.unpack({"float": "<f", "double": "<d", "half": "<e"}[self.type], data)[0]
            return number
        is_number = self.kind == "pointer" or self.type in ("i1", "i8", "i16", "i32", "i64")
        return int.from_bytes(data, "little", signed=self.kind != "pointer") if is_number else data


@dataclass(frozen=True)
class Kernel:
    id: str  # the static hash
    name: str  # for people
    symbol: str  # as the linker sees it
    target: str
    wave_size: int
    arguments: tuple[Argument, ...]
    has_ir: bool
    has_ptx: bool
    source: str  # the file that was compiled
    bundle: "Bundle" = field(repr=False, compare=False)

    @property
    def instances(self) -> tuple["Instance", ...]:
        return tuple(one for one in self.bundle.instances if one.kernel_id == self.id)

    @property
    def variants(self) -> tuple["Variant", ...]:
        return tuple(one for one in self.bundle.variants if one.kernel_id == self.id)


@dataclass(frozen=True)
class Instance:
    """A recorded launch."""

    id: str  # the dynamic hash
    kernel_id: str
    index: int  # of this launch among all of the application
    grid: Dimensions
    block: Dimensions
    shared_bytes: int  # dynamic shared memory of a block
    argument_bytes: bytes
    segments: tuple[Segment, ...] = field(repr=False)
    complete: bool
    missing: tuple[str, ...]  # what is not recorded, and why
    bundle: "Bundle" = field(repr=False, compare=False)

    @property
    def kernel(self) -> Kernel:
        return self.bundle.kernel(self.kernel_id)

    @property
    def arguments(self) -> Mapping[str, int | float | bytes]:
        """Values by name; of an argument without a name by its number."""
        return {one.name or str(place): one.value(self.argument_bytes)
                for place, one in enumerate(self.kernel.arguments)}

    @property
    def prologue(self) -> Memory:
        """Memory before the launch."""
        return self._memory("prologue")

    @property
    def epilogue(self) -> Memory:
        """Memory after the launch."""
        return self._memory("epilogue")

    def _memory(self, moment: str) -> Memory:
        pointers = {one.name or str(place): int.from_bytes(self.argument_bytes[one.offset:one.offset + one.size], "little")
                    for place, one in enumerate(self.kernel.arguments) if one.kind == "pointer"}
        return Memory(self.bundle.memory_of(self) / moment, self.segments, pointers)


@dataclass(frozen=True)
class Variant:
    """A configuration that was compiled, or could not be."""

    id: str
    kernel_id: str
    configuration: Configuration
    failed: str  # why it could not be compiled; else empty
    form: str
    same_as: str  # the variant that has the code; else empty
    code_bytes: int | None
    resources: Mapping[str, Any]


@dataclass(frozen=True)
class Measurement:
    """One execution of a variant on an instance, which mneme-run measured and mneme-verify has not judged."""

    kernel_id: str
    instance_id: str
    variant_id: str
    device: str
    completed: bool
    reason: str  # why it failed; else empty
    nanoseconds: tuple[int, ...]

    @property
    def median_ns(self) -> float | None:
        return statistics.median(self.nanoseconds) if self.nanoseconds else None


def _dimensions(value: Any) -> Dimensions:
    x, y, z = (value[axis] for axis in "xyz") if isinstance(value, dict) else value
    return int(x), int(y), int(z)


class Bundle:
    """Use as a context manager, or close(), to remove what was unpacked."""

    def __init__(self, path: str | os.PathLike[str], folder: "tempfile.TemporaryDirectory[str] | None" = None) -> None:
        self.path = pathlib.Path(path)
        self._folder = folder  # of a bundle that this package made, which goes with it
        self._dumps: dict[str, tempfile.TemporaryDirectory[str]] = {}
        self._members: dict[str, tarfile.TarInfo] = {}
        with self._reading(), tarfile.open(self.path) as archive:
            for member in archive:
                self._members[member.name] = member
            self.device = str(self._json("bundle.json")["device"])

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Bundle":
        """Reads the list of members. Of what is no bundle, or not a whole one, a MnemeError."""
        return cls(path)

    def close(self) -> None:
        for folder in (self._folder, *self._dumps.values()):
            if folder:
                folder.cleanup()
        self._dumps.clear()

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Bundle('{self.path}')"

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MnemeError(f"'{self.path}' cannot be read: {error.strerror or error}") from None
        except (tarfile.TarError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise MnemeError(f"'{self.path}' is no bundle, or not a whole one: name what mneme-capture wrote") from None

    def _read(self, member: tarfile.TarInfo) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(member.offset_data)
            return file.read(member.size)

    def _json(self, name: str) -> dict[str, Any]:
        made = json.loads(self._read(self._members[name]))
        if not isinstance(made, dict):
            raise ValueError(name)
        return made

    def _all(self, folder: str, parts: int, last: str = "") -> Iterator[dict[str, Any]]:
        for name in self._members:
            split = name.split("/")
            if split[0] == folder and len(split) == parts and name.endswith(last):
                yield self._json(name)

    @functools.cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        with self._reading():
            return tuple(self._kernel(kernel) for kernel in self._all("kernels", 3, "/kernel.json"))

    def kernel(self, id: str) -> Kernel:
        return next(kernel for kernel in self.kernels if kernel.id == id)

    def file_of(self, kernel: Kernel, name: str) -> bytes | None:
        """A kernel's kernel.cubin, kernel.ptx or kernel.source; None where there is none."""
        with self._reading():
            info = self._json(f"kernels/{kernel.id}/kernel.json")
            digest = {"kernel.ptx": "ptx", "kernel.source": "source_text"}.get(name, "")
            if info.get("code") == name:
                digest = "code_digest"
            member = self._members.get(f"kernels/{kernel.id}/{name}") or self._members.get(f"code/{info.get(digest)}")
            return self._read(member) if member else None

    def _kernel(self, kernel: Mapping[str, Any]) -> Kernel:
        arguments = tuple(Argument(one.get("name", ""), one["kind"], one["type"], one["offset"], one["size"])
                          for one in kernel["arguments"])
        return Kernel(kernel["id"], kernel.get("demangled") or kernel["name"], kernel["name"], kernel["target"],
                      kernel["wave_size"], arguments, "code" not in kernel,
                      "ptx" in kernel or kernel.get("code") == "kernel.ptx", kernel.get("source", ""), self)

    @functools.cached_property
    def instances(self) -> tuple[Instance, ...]:
        with self._reading():
            return tuple(Instance(one["id"], one["kernel"], one["index"], _dimensions(one["grid"]), _dimensions(one["block"]),
                                  one["shared_bytes"], bytes.fromhex(one["arguments"]), segments_of(one["segments"]),
                                  one.get("complete", True), tuple(one.get("missing", ())), self)
                         for one in self._all("instances", 3))

    @functools.cached_property
    def variants(self) -> tuple[Variant, ...]:
        with self._reading():
            return tuple(map(self._variant, self._all("variants", 4, "/variant.json")))

    def _variant(self, variant: Mapping[str, Any]) -> Variant:
        keys = {key: value for key, value in variant["configuration"].items() if key in KEYS}
        code = (self._members.get(f"variants/{variant['kernel']}/{variant['id']}/{variant.get('code')}")
                or self._members.get(f"code/{variant.get('code_digest')}"))
        return Variant(variant["id"], variant["kernel"], Configuration(keys), variant.get("failed", ""), variant.get("form", ""),
                       variant.get("same_as", ""), code.size if code else None, variant.get("resources", {}))

    @functools.cached_property
    def runs(self) -> tuple[Measurement, ...]:
        with self._reading():
            return tuple(Measurement(one["kernel"], one["instance"], one["variant"], one["device"],
                                     one["status"] == "completed", one.get("reason", ""), tuple(one.get("nanoseconds", ())))
                         for one in self._all("runs", 4))

    @functools.cached_property
    def occurrences(self) -> Mapping[str, int]:
        """How often the application made the launch of each instance, as far as that was counted."""
        with self._reading():
            summary = self._json("summary.json") if "summary.json" in self._members else {}
            return {one["instance"]: one["count"] for one in summary.get("occurrences", ())}

    def memory_of(self, instance: Instance) -> pathlib.Path:
        """The folder with prologue and epilogue, which is written once and goes with the bundle."""
        if instance.id not in self._dumps:
            folder = tempfile.TemporaryDirectory(prefix="mneme-memory-")
            run_tool("restore", ["--instance", instance.id, "--dump", folder.name, self.path])
            self._dumps[instance.id] = folder
        return pathlib.Path(self._dumps[instance.id].name) / "instances" / instance.id
