#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device that becomes slower during a search is noticed."""

import concurrent.futures
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python")]
sys.dont_write_bytecode = True

from mneme.tuning import throttling  # noqa: E402
from mneme.tuning.throttling import Clocks, Watch, slowdown  # noqa: E402


class Session:
    """Of which the baseline takes so long, time after time."""

    def __init__(self, times):
        self.times, self.compared = list(times), []

    def compare(self, configurations, rounds):
        self.compared.append(configurations)
        future = concurrent.futures.Future()
        future.set_result([[types.SimpleNamespace(verified=True, median_ns=self.times.pop(0))]])
        return future


class Throttling(unittest.TestCase):
    def test_slowdown(self):
        self.assertIsNone(slowdown([100, 101, 99, 100, 101, 100]))
        self.assertIsNone(slowdown([100, 101, 99, 100, 130, 100]), "once is no trend")
        self.assertAlmostEqual(slowdown([100, 101, 99, 115, 116, 117]), 1.16)
        self.assertIsNone(slowdown([100, 120]))

    def watched(self, times):
        said, session = [], Session(times)
        with unittest.mock.patch.object(throttling, "EVERY", 0.0), unittest.mock.patch.object(throttling, "MOST_COST", 1e9):
            with Watch(session, {"passes": "x"}, False, said.append) as watch:
                for _ in range(2 * len(times)):
                    watch.step()
        return said, session

    def test_the_baseline_is_timed_again(self):
        said, session = self.watched([100, 101, 99, 115, 116, 117, 118, 119])
        self.assertEqual(session.compared, [[{"passes": "x"}]] * 8)
        self.assertEqual(said, ["the baseline takes 1.16 times as long as at first: the device throttles, or something else uses "
                                "it; times of this search are not comparable"])
        self.assertEqual(self.watched([100, 101, 99, 100, 102, 100, 101, 99])[0], [])

    def test_it_costs_little(self):
        session = Session([100, 100])
        with Watch(session, {}, False, lambda _: None) as watch:
            for _ in range(10):
                watch.step()
        self.assertEqual(session.compared, [], "a minute has not passed")

    def test_what_nvidia_smi_says(self):
        said = []
        with tempfile.TemporaryDirectory() as folder:
            smi = pathlib.Path(folder) / "nvidia-smi"
            smi.write_text("#!/bin/sh\ncase $* in *event*) echo 'Field is not a valid field to query.'; exit 2 ;; esac\n"
                           "echo '0, 0x0000000000000001'; echo '1, 0x0000000000000024'; echo '1, 0x04'; echo '2, [N/A]'\n"
                           "exec sleep 30\n")
            smi.chmod(0o755)
            with unittest.mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}):
                clocks = Clocks(said.append)
                end = time.monotonic() + 20
                while len(said) < 2 and time.monotonic() < end:
                    time.sleep(0.05)
                clocks.close()
        self.assertEqual(said, ["GPU 1 lowers its clocks (power cap): times of this search may not be comparable",
                                "GPU 1 lowers its clocks (software thermal slowdown): times of this search may not be comparable"])
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            Clocks(said.append).close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
