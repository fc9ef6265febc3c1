# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search spaces of a recorded kernel: launch, compiler, passes, full, or a file of Python."""

from __future__ import annotations

import math
import pathlib
import re
import runpy
from collections.abc import Sequence
from typing import Any, Protocol

from .passes import pipelines_space
from .space import Parameter, Parameters, Space, SpaceError, Value

NAMES = "launch", "compiler", "passes", "full"


class Recording(Protocol):
    """What a space depends on: of the selected launches of one kernel."""

    @property
    def name(self) -> str: ...

    @property
    def device(self) -> str:
        """On which it was recorded: host, cuda or hip."""

    @property
    def target(self) -> str:
        """For which it is compiled: host:x86-64-v3, sm_90, hip:gfx90a; empty for the device that it was recorded on."""

    @property
    def grid(self) -> Sequence[int]: ...

    @property
    def block(self) -> Sequence[int]: ...

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block, the most of all launches."""

    @property
    def has_ir(self) -> bool: ...

    @property
    def has_ptx(self) -> bool: ...


def kind_of(recording: Recording) -> str:
    """Of the target: cuda, hip or host."""
    target = recording.target
    if not target:
        return recording.device
    if target.startswith(("sm_", "cuda:")):
        return "cuda"
    return "hip" if target.startswith(("gfx", "hip:")) else "host"


# ---- the compiler ----

REGISTERS: list[Value] = [None, 32, 48, 64, 96, 128]


def assembler_space(recording: Recording) -> Space:
    """Of a kernel without IR, whose PTX is assembled. Where nothing is set, it is the code that ran."""
    if not recording.has_ptx:
        raise SpaceError(f"kernel '{recording.name}' has neither IR nor PTX, so its code cannot vary: --space launch "
                         "varies its block and its dynamic shared memory")
    return Space({"max_registers": REGISTERS, "ptxas_level": [None, 1, 2, 3]})


def code_parameters(recording: Recording) -> list[Parameter]:
    """All that changes code but the passes."""
    kind = kind_of(recording)
    parameters = [
        Parameter.of("codegen_opt", [1, 2, 3]),
        Parameter.of("unroll_threshold", [None, 0, 75, 300, 1200], ordered=False),
        Parameter.of("specialize_args", [None, "all"]),
        Parameter.of("specialize_dims", [None, True])]
    if kind == "host":
        parameters.append(Parameter.of("vector_width", [None, 128, 256, 512]))
    else:
        parameters.append(Parameter.of("inline_threshold", [None, 0, 1000]))
    if kind == "cuda":
        parameters.append(Parameter.of("max_registers", REGISTERS))
    if kind == "hip":
        parameters.append(Parameter.of("waves_per_eu", [None, 1, 2, 4, 8]))
    return parameters


def code_configuration(parameters: dict[str, Value]) -> dict[str, Value]:
    made = dict(parameters)
    width, waves = made.pop("vector_width", None), made.pop("waves_per_eu", None)
    if width:
        made["attributes"] = f"prefer-vector-width={width}"
    if waves:
        made["attributes"] = f"amdgpu-waves-per-eu={waves}"
    return made


def compiler_space(recording: Recording) -> Space:
    if not recording.has_ir:
        return assembler_space(recording)
    levels = Parameter.of("passes", [f"default<O{level}>" for level in "123s"])
    return Space([levels, *code_parameters(recording)], code_configuration)


def passes_space(recording: Recording) -> Space:
    if not recording.has_ir:
        raise SpaceError(f"kernel '{recording.name}' has no IR, which passes need: --space compiler or --space launch")
    return pipelines_space()


# ---- the launch ----

MOST_THREADS = 1024  # of a block
MOST_OF_BLOCK = {"x": 1024, "y": 1024, "z": 64}
MOST_OF_GRID = {"x": (1 << 31) - 1, "y": 65535, "z": 65535}
WAVE = 32
SHARED_BYTES = [16 << 10, 32 << 10, 48 << 10, 64 << 10, 96 << 10]
KIB = 1 << 10
# Shared memory of a block, where it is more than 48 KiB: by compute capability.
SHARED_OF_CUDA = {70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 120: 99}


def most_shared_bytes(recording: Recording) -> int:
    """That a block may have on the target. What the kernel has of its own is part of it, which the compiler checks."""
    kind = kind_of(recording)
    if kind == "host":
        return 256 * KIB
    if kind == "hip":
        return 64 * KIB
    version = re.search(r"sm_(\d+)", recording.target)
    return SHARED_OF_CUDA.get(int(version[1]), 48) * KIB if version else 48 * KIB


def launch_space(recording: Recording) -> Space:
    """The block, with as many blocks as the recorded threads need; dynamic shared memory; launch bounds."""
    recorded, grid = list(recording.block), list(recording.grid)
    threads = math.prod(recorded)
    shared, most_shared = recording.shared_bytes, most_shared_bytes(recording)
    parameters = []
    for axis, block, blocks in zip("xyz", recorded, grid):
        if axis == "x" or block > 1 or blocks > 1:
            sizes = sorted({block, *(1 << i for i in range(11) if 1 << i <= MOST_OF_BLOCK[axis])})
            parameters.append(Parameter.of(f"block_{axis}", sizes))
    if shared:
        # A kernel that has shared memory for each thread needs as much for each of another block's.
        parameters.append(Parameter.of("shared_by_thread", [False, True]))
    elif not recording.has_ir:
        # More than the kernel asks for, so that a multiprocessor holds fewer blocks.
        more = [size for size in SHARED_BYTES if size <= most_shared]
        parameters.append(Parameter.of("shared_mem", [None, *more]))
    if recording.has_ir:
        parameters.append(Parameter.of("bounds", [False, True]))
        if kind_of(recording) == "cuda":
            parameters.append(Parameter.of("min_blocks", [None, 1, 2, 4], when={"bounds": [True]}))
    least = min(WAVE, threads)

    def block_of(p: Parameters) -> list[int]:
        return [p.get(f"block_{axis}", 1) for axis in "xyz"]

    def grid_of(block: list[int]) -> list[int]:
        return [-(-recorded_blocks * was // now) for recorded_blocks, was, now in zip(grid, recorded, block)]

    def shared_of(p: Parameters, block: list[int]) -> int | None:
        if p.get("shared_by_thread"):
            return -(-shared * math.prod(block) // threads)
        more: int | None = p.get("shared_mem")
        return more

    def allowed(p: dict[str, Value]) -> bool | str:
        block = block_of(p)
        count = math.prod(block)
        if not least <= count <= MOST_THREADS:
            return f"a block of {count} threads is not within {least} to {MOST_THREADS}"
        for axis, blocks in zip("xyz", grid_of(block)):
            if blocks > MOST_OF_GRID[axis]:
                return f"a grid of {blocks} blocks in {axis} is more than {MOST_OF_GRID[axis]}"
        bytes_ = shared_of(p, block)
        if bytes_ is not None and bytes_ > most_shared:
            return f"{bytes_} bytes of shared memory are more than the {most_shared} of a block"
        return True

    def configuration(p: dict[str, Value]) -> dict[str, Value]:
        block = block_of(p)
        made: dict[str, Value] = {}
        if block != recorded:
            made["block"] = block  # the tools rescale the grid, of each launch its own
        shared_mem = shared_of(p, block)
        if shared_mem != (shared or None):
            made["shared_mem"] = shared_mem
        if p.get("bounds"):
            made.update(max_threads=math.prod(block), min_blocks=p.get("min_blocks"))
        return made
    return Space(parameters, configuration, allowed)


# ---- by name ----

def space_named(name: str, recording: Recording) -> Space:
    if name == "compiler":
        return compiler_space(recording)
    if name == "launch":
        return launch_space(recording)
    if name == "passes":
        return passes_space(recording)
    if name == "full":
        launch = launch_space(recording)
        return launch.joined(compiler_space(recording)) if recording.has_ir or recording.has_ptx else launch
    if not name.endswith(".py"):
        raise SpaceError(f"--space takes {', '.join(NAMES)} or a file of Python, not '{name}'")
    if not pathlib.Path(name).exists():
        raise SpaceError(f"'{name}' cannot be read: No such file or directory")
    return space_of_file(name, recording)


def space_of_file(name: str, recording: Any) -> Space:
    """PARAMETERS: lists by name, or Parameters, or a function of the recording. Optional: configuration, allowed, and
    CONDITIONS: of a parameter, the values of others with which it is active."""
    try:
        found = runpy.run_path(name)
        parameters = found["PARAMETERS"]
        return Space(parameters(recording) if callable(parameters) else parameters, found.get("configuration"),
                     found.get("allowed"), conditions=found.get("CONDITIONS"))
    except KeyError as error:
        raise SpaceError(f"'{name}' defines no {error}") from None
    except SpaceError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a user's program, with any mistakes)
        raise SpaceError(f"'{name}' is no search space: {type(error).__name__}: {error}") from None
