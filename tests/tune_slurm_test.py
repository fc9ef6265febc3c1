#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-tune --engine slurm: three workers of a Slurm that the test starts search together, and one of them is lost."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import slurm_cluster
from support import ROOT, TestCase, tool

sys.path.insert(0, str(ROOT / "python" / "mneme" / "tuning"))
from shared_test import TRIALS  # noqa: E402


class TuneBySlurm(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder.chmod(0o755)
        cls.cluster = slurm_cluster.Cluster(cls.folder / "slurm", 8)
        cls.addClassCleanup(cls.leave)
        cls.cluster.start()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))

    @classmethod
    def leave(cls):
        cls.cluster.stop()
        left = cls.cluster.processes()
        for pid, _ in left:
            os.kill(pid, signal.SIGKILL)
        if left:
            raise AssertionError(f"the cluster left processes behind: {left}")

    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]

    def start(self, *options):
        words = [tool("tune"), "--engine", "slurm", "--kernel", "^add", "--iterations", "2", "--rounds", "6", "--sampler",
                 "random", "-o", self.place, *options, self.recording]
        return subprocess.Popen([*map(str, words), "--slurm-options=--oversubscribe", "--slurm-settle=0.5"],
                                env={**os.environ, **self.cluster.env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stored(self):
        shown = subprocess.run(["/usr/bin/python3", "-c", TRIALS, str(self.place / "search.log")], capture_output=True, text=True)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return [json.loads(line) for line in shown.stdout.splitlines()]

    def steps(self, worker):
        """Processes of this worker's batch script and of what it runs."""
        mark = f"SLURM_ARRAY_TASK_ID={worker}".encode()
        found = []
        for pid, _ in self.cluster.processes():
            with contextlib.suppress(OSError):  # it is gone
                if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(pid)
        return found

    def test_a_worker_is_lost(self):
        count = 100
        tune = self.start("--workers", "3", "--trials", str(count + 1))
        journal = self.place / "search.log"
        end = time.monotonic() + 60
        while not journal.exists() or journal.read_text().count('"trial"') < 6 or not self.steps(1):
            self.assertIsNone(tune.poll(), tune.communicate()[1] if tune.poll() is not None else "")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        for pid in self.steps(1):
            with contextlib.suppress(ProcessLookupError):  # it went with another
                os.kill(pid, signal.SIGKILL)
        out, said = tune.communicate(timeout=400)
        self.assertEqual(tune.returncode, 0, said)
        self.assertRegex(said, r"worker 1 \(Slurm job \d+_1\) is lost: \w+; it is submitted again")
        stored = self.stored()
        ended = [one for one in stored if "trial" in one]
        self.assertEqual(len(ended), count, "none is lost")
        self.assertEqual(len({one["point"] for one in ended}), count, "none is made twice")
        self.assertEqual({one["state"] for one in stored if "trial" not in one} - {"FAIL"}, set(), "none is left open")
        self.assertGreater(len({one["owner"] for one in ended}), 1)
        trials = [json.loads(line) for line in (self.place / "trials.jsonl").read_text().splitlines()]
        self.assertEqual(len(trials), count + 1)
        self.assertTrue((self.place / "best.json").exists())
        self.assertIn("best, trial", out)
        self.assertFalse(self.cluster.ask("squeue", "--noheader").stdout.strip(), "all tasks have ended")

    def test_what_is_wrong_is_said(self):
        tune = self.start("--workers", "2", "--trials", "3", "--baseline", '{"passes": "nonsense"}')
        said = tune.communicate(timeout=120)[1]
        self.assertEqual(tune.returncode, 1, said)
        self.assertIn("no worker has searched: the baseline is failed", said)


if __name__ == "__main__":
    if missing := slurm_cluster.lacking():
        print(f"skipped: of Slurm there is no {missing[0]} (scripts/setup installs it)")
        sys.exit(77)
    unittest.main(verbosity=2)
