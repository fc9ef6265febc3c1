#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several processes search together: no trial is lost or made twice when one of them is killed."""

import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
sys.dont_write_bytecode = True

from support import TestCase, run, tool  # noqa: E402

from mneme.tuning import workers  # noqa: E402

# What the journal holds, by Optuna itself.
TRIALS = """
import json, sys, warnings
import optuna
warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
where = sys.argv[1]
storage = where if "://" in where else optuna.storages.JournalStorage(optuna.storages.JournalFileStorage(where))
[study] = optuna.get_all_study_summaries(storage=storage)
for trial in optuna.load_study(study_name=study.study_name, storage=storage).trials:
    print(json.dumps({"state": trial.state.name, "params": trial.params, "value": trial.value, **trial.user_attrs}))
"""


class Together(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))

    def words(self, storage, folder, *options):
        return list(map(str, [tool("tune"), "--kernel", "^add", "--iterations", "2", "--rounds", "6", "--sampler", "random",
                              "--storage", storage, "-o", self.folder / folder, *options, self.recording]))

    def trials(self, folder):
        return [json.loads(line) for line in (self.folder / folder / "trials.jsonl").read_text().splitlines()]

    def stored(self, storage):
        shown = subprocess.run(["/usr/bin/python3", "-c", TRIALS, str(storage)], capture_output=True, text=True)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return [json.loads(line) for line in shown.stdout.splitlines()]

    def test_one_of_three_is_killed(self):
        journal = self.folder / "journal.log"
        count = 40
        processes = [subprocess.Popen(self.words(journal, f"process{place}", "--trials", count + 1),
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for place in range(3)]
        killed, *others = processes
        while not journal.exists() or journal.read_text().count('"trial') < 8:
            self.assertIsNone(killed.poll())
            time.sleep(0.02)
        killed.send_signal(signal.SIGKILL)
        killed.communicate(timeout=10)
        for process in others:
            said = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 0, said)
        stored = self.stored(journal)
        ended = [one for one in stored if "trial" in one]
        self.assertEqual(len(ended), count)
        self.assertEqual(len({one["point"] for one in ended}), count, "none is made twice")
        self.assertEqual({one["state"] for one in stored if "trial" not in one} - {"FAIL"}, set(), "none is left open")
        for one in ended:  # as Optuna's own tools look for it
            self.assertEqual((one["params"], one["value"]), (json.loads(one["point"]), json.loads(one["trial"])["median_ns"]))
        self.assertGreater(len({one["owner"] for one in ended}), 1)
        for folder in ("process1", "process2"):
            trials = self.trials(folder)
            self.assertEqual([trial["trial"] for trial in trials], list(range(count + 1)))
            self.assertEqual({json.dumps(trial["parameters"], sort_keys=True) for trial in trials[1:]},
                             {json.dumps(json.loads(one["point"]), sort_keys=True) for one in ended})
            self.assertTrue((self.folder / folder / "best.json").exists())

        # A later process has all trials from the journal; another search is refused.
        late = run(self.words(journal, "late", "--trials", count + 1))
        self.assertEqual(late.status, 0, late.text())
        self.assertEqual(len(self.trials("late")), count + 1)
        self.assertEqual(len([one for one in self.stored(journal) if "trial" in one]), count)
        other = run(self.words(journal, "other", "--space", "launch"))
        self.assertIn("has the trials of another search (parameters): name another --storage", other.error)

    def test_a_data_base(self):
        storage = f"sqlite:///{self.folder}/search.db"
        for trials in (4, 7):
            result = run(self.words(storage, "stored", "--trials", trials))
            self.assertEqual(result.status, 0, result.text())
            self.assertEqual(len(self.trials("stored")), trials)
        self.assertEqual(len([one for one in self.stored(storage) if "trial" in one]), 6)
        for place, wrong in enumerate(("nonsense://x", self.folder / "no folder" / "journal")):
            result = run(self.words(wrong, f"unreachable{place}", "--trials", "2"))
            self.assertEqual(result.status, 2)
            self.assertRegex(result.error, f"error: '{wrong}' cannot be used: ")

    def test_workers(self):
        result = run([word for word in self.words("", "workers", "--workers", "2", "--trials", "12")])
        self.assertEqual(result.status, 0, result.text())
        self.assertRegex(result.error, r"2 workers of \d+ core\(s\) each change each other's times by [+-]\d+ %")
        trials = self.trials("workers")
        self.assertEqual(len({json.dumps(trial["parameters"]) for trial in trials}), 12)
        self.assertEqual({trial["status"] for trial in trials}, {"verified"})


class Slots(unittest.TestCase):
    def slots(self, factors, count=8, device="host"):
        """With what was measured of 8, 4, … workers."""
        said = []
        selection = unittest.mock.Mock(is_nvidia=device == "cuda", target="", device=device)
        with (unittest.mock.patch.object(workers.os, "sched_getaffinity", lambda _: set(range(16))),
              unittest.mock.patch.object(workers, "disturbance", unittest.mock.Mock(side_effect=factors))):
            return workers.devices_for(count, selection, unittest.mock.MagicMock(), {}, said.append), said

    def test_as_many_as_do_not_disturb_each_other(self):
        devices, said = self.slots([1.3, 1.02])
        self.assertEqual(devices, [f"host:{4 * n},{4 * n + 1},{4 * n + 2},{4 * n + 3}" for n in range(4)])
        self.assertEqual(said, ["8 workers of 2 core(s) each change each other's times by +30 %",
                                "4 workers of 4 core(s) each change each other's times by +2 %"])
        devices, said = self.slots([1.3, 1.2, 1.1])
        self.assertEqual((devices, said[-1]), ([], "so there is one worker, with all cores"))
        self.assertEqual(self.slots([], count=1)[0], [])
        self.assertEqual(self.slots([], count=2, device="cuda")[0], ["cuda:0", "cuda:1"])
        with self.assertRaisesRegex(Exception, "--workers 17 needs as many cores, and there are 16"):
            self.slots([], count=17)


if __name__ == "__main__":
    unittest.main(verbosity=2)
