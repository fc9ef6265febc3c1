# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a search is getting on, in a line."""

import math
import sys
import time
from collections.abc import Sequence

from .study import Trial


def time_text(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= 10 * size:
            return f"{nanoseconds / size:.1f} {unit}"
    return f"{nanoseconds:.0f} ns"


class Progress:
    """A line that is written again and again on a terminal; elsewhere one each time that there is a better trial."""

    def __init__(self, before: int, total: float, end: float) -> None:
        self.total, self.end_time = total, end
        self.before, self.begin = before, time.monotonic()
        self.best, self.text = math.inf, ""
        self.terminal = sys.stderr.isatty()

    def show(self, trials: Sequence[Trial]) -> None:
        times = [trial.median_ns for trial in trials if trial.median_ns]
        best = min(times, default=math.inf)
        total = "" if self.total == math.inf else f" of {self.total:.0f}"
        text = f"{len(trials)}{total} trials, {len(times)} verified"
        if times:
            text += f", best {time_text(best)}"
            if trials[0].baseline and trials[0].median_ns:
                text += f": {trials[0].median_ns / best:.2f} times the baseline's speed"
        text += self.pace(len(trials))
        if self.terminal:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        self.text = text
        if not self.terminal and best < self.best:
            self.end()
        self.best = best

    def pace(self, count: int) -> str:
        now = time.monotonic()
        rate = (count - self.before) / max(now - self.begin, 1e-3)
        if count <= self.before:
            return ""
        left = min((self.total - count) / rate, self.end_time - now)
        minutes, seconds = divmod(max(math.ceil(left), 0), 60) if left < math.inf else (0, 0)
        return f"; {rate:.1f} trials/s" + (f", {minutes}:{seconds:02} left" if left < math.inf else "")

    def end(self) -> None:
        if self.terminal:
            print(file=sys.stderr)
        elif self.text:
            print(f"mneme-tune: {self.text}", file=sys.stderr, flush=True)
            self.text = ""
