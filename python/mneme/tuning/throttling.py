# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notices a device that becomes slower during a search: it throttles, or something else uses it.

The baseline is timed again now and then. On NVIDIA GPUs nvidia-smi lists the reasons for lower clocks as well."""

import concurrent.futures
import contextlib
import math
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..session import Run, Session

EVERY = 60.0  # seconds from one baseline to the next
MOST_COST = 0.02  # of the search's time
RECENT, THRESHOLD = 3, 0.05

# Bits of clocks_event_reasons.active (NVML, nvmlClocksEventReason…) that make a kernel slower.
REASONS = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "software thermal slowdown", 0x40: "hardware thermal slowdown",
           0x80: "hardware power brake"}
FIELDS = "clocks_event_reasons.active", "clocks_throttle_reasons.active"  # the second before driver 535


def slowdown(times: Sequence[float]) -> float | None:
    """By which factor the last few of the baseline's times are longer than those before them, if that is more than the
    threshold and more than those vary; else None."""
    before, last = times[:-RECENT], times[-RECENT:]
    if len(before) < RECENT or len(last) < RECENT:
        return None
    factor = statistics.median(last) / statistics.median(before)
    usual = sorted(before)[:math.ceil(0.9 * len(before))]
    return factor if factor > 1 + THRESHOLD and min(last) > max(usual) else None


class Clocks:
    """nvidia-smi, once a second, until close(). Says each reason once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._said = say, set[str]()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._closed = False
        if shutil.which("nvidia-smi"):
            self._thread.start()

    def _watch(self) -> None:
        for field in FIELDS:
            command = ["nvidia-smi", f"--query-gpu=index,{field}", "--format=csv,noheader", "--loop-ms=1000"]
            with contextlib.suppress(OSError), subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                                                text=True) as process:
                self._process = process
                if self._closed:
                    process.kill()
                assert process.stdout
                for line in process.stdout:
                    self.take(line)

    def take(self, line: str) -> None:
        index, _, mask = line.partition(",")
        try:
            reasons = int(mask.strip(), 16)
        except ValueError:
            return  # a GPU, or a driver, that does not say
        for bit, reason in REASONS.items():
            text = f"GPU {index.strip()} lowers its clocks ({reason}): times of this search may not be comparable"
            if reasons & bit and text not in self._said:
                self._said.add(text)
                self._say(text)

    def close(self) -> None:
        self._closed = True
        if self._process:
            self._process.kill()
        if self._thread.is_alive():
            self._thread.join(5)


class Watch:
    """Times the baseline again during a search: step() is called between trials."""

    def __init__(self, session: Session, baseline: Mapping[str, Any], is_nvidia: bool, say: Callable[[str], None]) -> None:
        self._session, self._baseline, self._say = session, baseline, say
        self._times: list[float] = []
        self._pending: concurrent.futures.Future[list[list[Run]]] | None = None
        self._begin = time.monotonic()
        self._next = self._begin + EVERY
        self._has_said = False
        self._clocks = Clocks(say) if is_nvidia else None

    def step(self) -> None:
        now = time.monotonic()
        if self._pending and self._pending.done():
            [runs] = self._pending.result()
            self._pending = None
            self._next = now + max(EVERY, (now - self._begin) / MOST_COST)
            if all(run.verified for run in runs):
                self.take(sum(run.median_ns or 0 for run in runs))
        elif not self._pending and now >= self._next:
            self._begin = now
            self._pending = self._session.compare([self._baseline], rounds=1)

    def take(self, nanoseconds: float) -> None:
        """A time of the baseline."""
        self._times.append(nanoseconds)
        factor = slowdown(self._times)
        if factor and not self._has_said:
            self._has_said = True
            self._say(f"the baseline takes {factor:.2f} times as long as at first: the device throttles, or something else "
                      "uses it; times of this search are not comparable")

    def close(self) -> None:
        if self._clocks:
            self._clocks.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
