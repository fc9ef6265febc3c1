# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices for several workers: GPUs, or slots of cores that do not disturb each other's times."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import MnemeError
from ..selection import Selection
from ..session import Session

MOST_DISTURBED = 1.05  # the time beside others by that alone
ROUNDS = 6


def slots(count: int) -> list[str]:
    """So many of equally many cores each, of those that this process may use."""
    cores = sorted(os.sched_getaffinity(0))
    size = len(cores) // count
    if not size:
        raise MnemeError(f"--workers {count} needs as many cores, and there are {len(cores)}", 3)
    return ["host:" + ",".join(map(str, cores[place * size:(place + 1) * size])) for place in range(count)]


def kind_of(selection: Selection) -> str:
    if selection.is_nvidia:
        return "cuda"
    target = selection.target or selection.device
    return "hip" if target.startswith(("gfx", "hip")) else "host"


def disturbance(session: Session, configuration: Mapping[str, Any]) -> float:
    """How many times as long it takes when all devices are busy with it, at most."""
    def time(runs: list[list[Any]]) -> float:
        for run in runs[0]:
            if not run.verified:
                raise MnemeError(f"the baseline is {run.status}: {run.reason}", 1)
        return float(sum(run.median_ns for run in runs[0]))
    before = time(session.compare([configuration], rounds=ROUNDS).result())
    beside = [session.compare([configuration], rounds=ROUNDS) for _ in session.workers]
    longest = max(time(future.result()) for future in beside)
    return longest / min(before, time(session.compare([configuration], rounds=ROUNDS).result()))


def devices_for(count: int, selection: Selection, open_session: Callable[[Sequence[str]], Session],
                baseline: Mapping[str, Any], say: Callable[[str], None]) -> list[str]:
    """GPUs by number. On the host as many slots, up to `count`, as do not disturb each other; none where that is one, which
    has the whole host."""
    if count == 1:
        return []
    kind = kind_of(selection)
    if kind != "host":
        return [f"{kind}:{number}" for number in range(count)]
    while count > 1:
        devices = slots(count)
        with open_session(devices) as session:
            factor = disturbance(session, baseline)
        cores = devices[0].count(",") + 1
        say(f"{count} workers of {cores} core(s) each change each other's times by {100 * (factor - 1):+.0f} %")
        if factor <= MOST_DISTURBED:
            return devices
        count //= 2
    say("so there is one worker, with all cores")
    return []
