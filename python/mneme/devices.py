# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices by name, and the locks that give a replay one to itself."""

import contextlib
import fcntl
import os
import pathlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .errors import MnemeError

_VISIBLE = {"cuda": "CUDA_VISIBLE_DEVICES", "hip": "HIP_VISIBLE_DEVICES"}


def _lock(device: str) -> pathlib.Path:
    """The same that a grid's cells take (mneme-grid)."""
    return pathlib.Path(tempfile.gettempdir()) / f"mneme-grid-{os.getuid()}-{device}.lock"


def _listed(variable: str) -> list[str]:
    return [one for one in os.environ.get(variable, "").split(",") if one]


def lock_of(is_nvidia: bool, index: int = 0) -> pathlib.Path:
    if not is_nvidia:
        return _lock("host")
    # Slurm's numbers are the machine's; what is visible may be counted from 0 in each job.
    given = _listed("SLURM_JOB_GPUS") or _listed("CUDA_VISIBLE_DEVICES")
    return _lock("gpu-" + re.sub(r"[^A-Za-z0-9-]", "_", given[index] if index < len(given) else str(index)))


@dataclass(frozen=True)
class Device:
    """Where variants run: `auto`, `host`, `cuda`, `hip`, one of several GPUs (`cuda:1`), or some cores (`host:0-3`)."""

    name: str
    words: tuple[str, ...] = ()  # for mneme-run
    prefix: tuple[str, ...] = ()  # of each tool's command
    environment: Mapping[str, str] = field(default_factory=dict)
    locks: tuple[tuple[pathlib.Path, int], ...] = ()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """The device has nothing else to do for those who ask so."""
        with contextlib.ExitStack() as taken:
            for path, kind in self.locks:
                # The folder is everybody's: a link that lies there is not followed.
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                fcntl.flock(taken.enter_context(os.fdopen(handle, "w")), kind)
            yield


def device_named(name: str, is_nvidia: bool = False) -> Device:
    """`is_nvidia`: what `auto` is."""
    kind, _, which = name.partition(":")
    if kind not in ("auto", "host", "cuda", "hip") or (which and kind == "auto"):
        raise MnemeError(f"'{name}' is no device: name auto, host, cuda, hip, a GPU (cuda:1) or cores (host:0-3)")
    words = () if kind == "auto" else ("--device", kind)
    alone = fcntl.LOCK_EX
    if kind == "host" and which:
        if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", which):
            raise MnemeError(f"'{name}' names no cores: give their numbers, as in host:0-3,8")
        # Beside others with cores of their own, but not beside what has the whole host.
        locks = (lock_of(False), fcntl.LOCK_SH), (_lock(f"host-{which}"), alone)
        return Device(name, words, ("taskset", "--cpu-list", which), {}, locks)
    if which:
        if not which.isdecimal():
            raise MnemeError(f"'{name}' is no device: a GPU has a number, as in {kind}:1")
        given, index = _listed(_VISIBLE[kind]), int(which)
        if given and index >= len(given):
            raise MnemeError(f"there is no device '{name}': {_VISIBLE[kind]} leaves {len(given)}", 3)
        visible = given[index] if given else which
        return Device(name, words, (), {_VISIBLE[kind]: visible}, ((lock_of(kind == "cuda", index), alone),))
    return Device(name, words, (), {}, ((lock_of(kind == "cuda" or (kind == "auto" and is_nvidia)), alone),))
