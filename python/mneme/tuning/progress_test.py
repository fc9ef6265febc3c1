#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The live line of a search."""

import io
import math
import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python")]
sys.dont_write_bytecode = True

from mneme.tuning import Trial, progress  # noqa: E402


class Terminal(io.StringIO):
    def isatty(self):
        return True


def trials(*times):
    return [Trial(place, {}, {}, "verified" if time else "failed", 0.0, not place, median_ns=time)
            for place, time in enumerate(times)]


class Live(unittest.TestCase):
    def shown(self, stream, total=10, end=math.inf):
        with unittest.mock.patch.object(sys, "stderr", stream), unittest.mock.patch.object(progress.time, "monotonic") as clock:
            clock.return_value = 0.0
            line = progress.Progress(1, total, end)
            for seconds, times in ((0.0, [40e6]), (2.0, [40e6, None, 20e6, 20e6, 30e6]),
                                   (4.0, [40e6, None, 20e6, 20e6, 30e6, 21e6])):
                clock.return_value = seconds
                line.show(trials(*times))
            line.end()
        return stream.getvalue()

    def test_on_a_terminal_it_is_written_again(self):
        lines = self.shown(Terminal()).split("\r\033[K")
        best = "best 20.0 ms: 2.00 times the baseline's speed"
        self.assertEqual(lines[2], f"5 of 10 trials, 4 verified, {best}; 2.0 trials/s, 0:03 left")
        self.assertEqual(lines[3], f"6 of 10 trials, 5 verified, {best}; 1.2 trials/s, 0:04 left\n")
        self.assertIn("2.0 trials/s, 0:01 left", self.shown(Terminal(), math.inf, 3.0), "the time is nearer than the trials")
        self.assertNotIn("left", self.shown(Terminal(), math.inf))

    def test_elsewhere_it_is_written_for_what_is_better(self):
        lines = self.shown(io.StringIO()).splitlines()
        self.assertEqual([line.partition(" trials")[0] for line in lines],
                         ["mneme-tune: 1 of 10", "mneme-tune: 5 of 10", "mneme-tune: 6 of 10"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
