# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many executions a median needs, and whether the device has become slower: functions of times alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

LEAST = 5            # times before a median is judged
MAD_TO_SIGMA = 1.4826  # of a normal distribution, from the median of the absolute deviations
MEDIAN_TO_MEAN = math.sqrt(math.pi / 2)  # its standard error by that of the mean


def relative_error(times: Sequence[float]) -> float:
    """The standard error of the median by the median; infinite where there are too few times to say. Outliers, such as
    an execution that was interrupted, hardly change it."""
    if len(times) < LEAST:
        return math.inf
    median = statistics.median(times)
    if median <= 0:
        return math.inf
    deviation = MAD_TO_SIGMA * statistics.median(abs(time - median) for time in times)
    return MEDIAN_TO_MEAN * deviation / math.sqrt(len(times)) / median


def is_precise(times: Sequence[float], precision: float) -> bool:
    """Whether the median is known to that relative standard error."""
    return relative_error(times) <= precision


def needed(times: Sequence[float], precision: float, most: int) -> int:
    """How many times there should be in all, by these: at most `most`."""
    error = relative_error(times)
    if error == math.inf:
        return min(max(LEAST, len(times)), most)
    return min(max(math.ceil(len(times) * (error / precision) ** 2), LEAST), most)


def slowdown(baselines: Sequence[float], recent: int = 3, threshold: float = 0.05) -> float | None:
    """Of the baseline's times, measured now and then during a search: by which factor the last few are slower than
    those before, if that is more than the threshold and more than they vary; else None. Such a device throttles, or is
    shared."""
    before, last = baselines[:-recent], baselines[-recent:]
    if len(before) < recent or len(last) < recent:
        return None
    factor = statistics.median(last) / statistics.median(before)
    return factor if factor > 1 + threshold and min(last) > max(sorted(before)[:math.ceil(0.9 * len(before))]) else None
