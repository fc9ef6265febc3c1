#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: what they try, what they must not take for right, and that tools that die are replaced."""

import asyncio
import contextlib
import dataclasses
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
sys.dont_write_bytecode = True

from support import TestCase, tool  # noqa: E402

import mneme  # noqa: E402
from mneme import devices, pipe, session  # noqa: E402


def mneme_grid():
    loader = importlib.machinery.SourceFileLoader("mneme_grid", str(ROOT / "scripts" / "grid" / "mneme-grid"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mneme_grid", loader))
    loader.exec_module(module)
    return module


class Sessions(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))

    def session(self, **options):
        return mneme.Session(self.recording, **{"kernel": "^add", "iterations": 2, **options})

    def test_configurations(self):
        with self.session() as tried:
            futures = [tried.submit({"codegen_opt": level}) for level in (0, 3)]
            futures.append(tried.submit(mneme.Configuration(grid=[1, 1, 1])))
            futures.append(tried.submit({"passes": "nonsense"}))
            slow, fast, wrong, failed = (future.result(60) for future in futures)
        for run in (slow, fast):
            self.assertEqual((run.status, run.verified, run.reason), ("verified", True, ""))
            self.assertEqual(run.median_ns, sum(launch.median_ns for launch in run.launches))
            self.assertEqual(len(run.launches), 2, "both launches of the kernel")
            self.assertGreater(run.code_bytes, 0)
        self.assertNotEqual(slow.executed, fast.executed)
        self.assertEqual((wrong.status, wrong.verified, wrong.median_ns), ("not verified", False, None))
        self.assertIn("in place of the recorded", wrong.reason)
        self.assertTrue(any("bytes differ" in reason for reason in wrong.reasons), wrong.reasons)
        self.assertEqual(failed.status, "failed")
        self.assertIn("unknown pass name", failed.reason)

    def test_iterations_end_with_the_precision(self):
        with self.session(precision=0.9, iterations=1000, device="host") as tried:
            self.assertTrue(tried.submit({}).result(60).verified)
            words = tried.workers[0].pipes[0].processes[1].args
            self.assertEqual(words[words.index("--precision") + 1], "0.9")

    def test_a_worker_that_dies_is_replaced(self):
        with self.session() as tried:
            self.assertTrue(tried.submit({"codegen_opt": 1}).result(60).verified)
            for pipe_of_launch in tried.workers[0].pipes:
                for process in pipe_of_launch.processes:
                    process.kill()
            self.assertTrue(tried.submit({"codegen_opt": 2}).result(60).verified)

    def test_unknown_keys_are_said_at_once(self):
        with self.session() as tried, self.assertRaisesRegex(mneme.MnemeError, "no configuration has the key 'pases'"):
            tried.submit({"pases": "default<O1>"})

    def test_asyncio(self):
        async def search(tried):
            runs = await asyncio.gather(*(asyncio.wrap_future(tried.submit({"codegen_opt": level})) for level in (1, 2)))
            return [run.status for run in runs]
        with self.session() as tried:
            self.assertEqual(asyncio.run(search(tried)), ["verified"] * 2)

    def test_policies(self):
        bits = {"fuse": True}
        program = self.build(ROOT / "tests" / "programs" / "stencil_2d.hip")
        bundle = self.record(program, name="stencil.tar", options=["--max-instances", "1"])
        for policy, verified in ((mneme.Verify(), False), (mneme.Verify(infer=True), True),
                                 (mneme.Verify(tolerance=1e-4, dtype="f32", kind="scaled", norm="linf"), True),
                                 (mneme.Verify(tolerance=0.0, dtype="f32", kind="scaled", norm="linf"), False)):
            with mneme.Session(bundle, verify=policy, iterations=1) as tried:
                self.assertEqual(tried.submit(bits).result(60).verified, verified, policy)

    def test_several_devices(self):
        with self.session(devices=["host:0", f"host:{max(os.sched_getaffinity(0))}"]) as tried:
            runs = [future.result(60) for future in [tried.submit({"codegen_opt": level}) for level in (0, 1, 2, 3)]]
        self.assertEqual([run.status for run in runs], ["verified"] * 4)

    def test_turns(self):
        folder = self.folder / "turns"
        folder.mkdir()
        with self.session() as tried:
            first, other, failed = tried.compare([{}, {"passes": "default<O0>", "codegen_opt": 0}, {"passes": "no"}],
                                                 rounds=6, keep=folder).result(60)
        self.assertEqual([run.comparison["outcome"] for run in first], ["reference"] * 2)
        self.assertEqual([run.comparison["outcome"] for run in other], ["slower"] * 2)
        self.assertEqual([run.status for run in failed], ["failed"] * 2)
        with self.assertRaisesRegex(mneme.MnemeError, "nothing is tuned") as raised:
            mneme.tuned(sorted(folder.iterdir()), self.folder / "tuned.tar", reference="first")
        self.assertEqual(raised.exception.tool, "mneme-restore")

    def test_close_ends_what_is_tried(self):
        tried = self.session(iterations=1_000_000)
        futures = [tried.submit({"codegen_opt": level}) for level in (0, 1)]
        while not futures[0].running():
            time.sleep(0.01)
        time.sleep(0.3)
        begin = time.monotonic()
        tried.close()
        self.assertLess(time.monotonic() - begin, 4)
        self.assertTrue(futures[0].done())
        self.assertTrue(futures[1].cancelled())
        with self.assertRaisesRegex(mneme.MnemeError, "the session is closed"):
            tried.submit({})

    def test_several_kernels(self):
        with self.assertRaisesRegex(mneme.MnemeError, "the bundle has several kernels; choose with --kernel among add"):
            self.session(kernel="")

    # ---- the tools ----

    def settings(self, **changed):
        settings = pipe.Settings(str(self.recording), devices.device_named("auto"), kernel="^add", iterations=1)
        return dataclasses.replace(settings, **changed)

    @contextlib.contextmanager
    def pipe(self, bundle=None):
        """The tools, ready for configurations of the first launch."""
        selection = mneme.select(mneme.Bundle.open(bundle or self.recording), kernel="^add")[0]
        with tempfile.TemporaryFile() as messages:
            made = pipe.Pipe(self.settings(bundle=str(bundle or self.recording)), selection.ids()[0], messages,
                             selection.code_bytes)
            try:
                yield made
            finally:
                made.close()

    def test_tools_that_die_are_started_again(self):
        with self.pipe() as tools:
            self.assertTrue(tools.judge({})["verified"])
            for place in range(3):
                tools.processes[place].kill()
                tools.processes[place].wait()
                again = tools.judge({"passes": f"default<O{place}>"})
                self.assertTrue(again["verified"], again)
            # One that cannot go on at all is a failed trial, with what they have to say.
            tools.stop()
            tools.settings = self.settings(flags={"run": ["--nonsense"]})
            self.assertIn("--nonsense", tools.judge({})["failed"])

    def test_tools_that_say_nothing_are_not_waited_for(self):
        with self.pipe() as tools:
            self.assertTrue(tools.judge({})["verified"])
            for name, flags, words in (("verify", ["--format", "table"], "a line that is not JSON"),
                                       ("verify", ["--kernel", "none"], "no kernel matches --kernel"),
                                       ("verify", ["-o", str(self.folder / "report")], "without a message"),
                                       ("run", ["-o", str(self.folder / "run.tar")], "standard input is empty"),
                                       ("compile", ["-o", str(self.folder / "compiled.tar")], "standard input is empty")):
                tools.stop()
                tools.settings, tools.patience = self.settings(kernel="", flags={name: flags}), 1
                self.assertIn(words, tools.judge({"codegen_opt": 1})["failed"], flags)
            # What only takes long is there all the same, and is waited for longer then.
            tools.stop()
            tools.settings, tools.patience = self.settings(flags={"run": ["--rounds", "3"]}), 1
            for level in (1, 2):
                self.assertTrue(tools.judge({"codegen_opt": level})["verified"])
            self.assertGreater(tools.patience, 4)

    def test_variants_that_the_bundle_has_are_trials_like_others(self):
        bundle = self.folder / "compiled.tar"
        bundle.write_bytes(self.run_well([tool("compile"), "--passes", "default<O1>", self.recording],
                                         [tool("compile"), "--passes", "default<O2>"],
                                         [tool("compile"), "--passes", "default<O3>"]).out)
        with self.pipe(bundle) as tools:
            for level in (3, 0, 2, 1):  # of the last, mneme-verify has spoken long before
                row = tools.judge({"passes": f"default<O{level}>"})
                self.assertTrue(row["verified"], row)
                self.assertEqual(row["passes"], f"default<O{level}>")
                self.assertGreater(row["code_bytes"], 0)

    def test_flags_for_what_it_says_itself(self):
        self.assertEqual(pipe.refused("run", ["--iterations", "3", "--rounds=2"]), "--rounds")
        for name, flags in (("compile", "-v --jobs 2 -O3"), ("run", "--force --timeout=9"), ("verify", "--infer")):
            self.assertIsNone(pipe.refused(name, flags.split()))

    def test_comparing_without_tools_has_no_rows(self):
        with self.session() as tried, unittest.mock.patch.object(pipe, "tool", lambda name: "/bin/false"):
            more_than_a_pipe_holds = {"passes": "x" * 1_000_000}
            found = tried.compare([{}, more_than_a_pipe_holds]).result(60)
        self.assertEqual([[run.status for run in runs] for runs in found], [["failed"] * 2] * 2)


class Judging(unittest.TestCase):
    def test_only_what_is_verified_counts(self):
        row = {"variant": "v", "verified": True, "status": "verified", "median_ns": 5, "reasons": [], "code_bytes": 7,
               "registers": 9}
        wrong = {**row, "verified": False, "status": "not verified", "median_ns": 1, "reasons": ["it is wrong"]}

        def summed(*rows):
            return session.summed([session.run_of(one) for one in rows])
        self.assertEqual(summed(row, row).median_ns, 10)
        self.assertEqual(summed(row).resources, {"registers": 9})
        self.assertEqual((summed(row, wrong).status, summed(row, wrong).reasons), ("not verified", ("it is wrong",)))
        self.assertEqual((summed(row, {"failed": "no"}).status, summed({"failed": "no"}).reason), ("failed", "no"))
        self.assertEqual(summed({**row, "median_ns": 0}).status, "failed")
        self.assertFalse(summed({**row, "median_ns": 0}).verified)


class Devices(unittest.TestCase):
    def test_a_device_is_locked_as_a_grid_locks_it(self):
        grid = mneme_grid()
        for is_nvidia in (False, True):
            for given in ({}, {"CUDA_VISIBLE_DEVICES": "2,3"}, {"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_GPUS": "5"}):
                with unittest.mock.patch.dict(os.environ, given):
                    self.assertEqual(devices.lock_of(is_nvidia), grid.lock_of(is_nvidia))
                    [(path, _)] = devices.device_named("auto", is_nvidia).locks
                    self.assertEqual(path, grid.lock_of(is_nvidia))

    def test_one_of_several(self):
        with unittest.mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "2,3"}):
            os.environ.pop("SLURM_JOB_GPUS", None)
            made = devices.device_named("cuda:1")
            self.assertEqual((made.words, made.environment), (("--device", "cuda"), {"CUDA_VISIBLE_DEVICES": "3"}))
            self.assertIn("gpu-3", made.locks[0][0].name)
            with self.assertRaisesRegex(mneme.MnemeError, "there is no device 'cuda:2'"):
                devices.device_named("cuda:2")
            with unittest.mock.patch.dict(os.environ, {"SLURM_JOB_GPUS": "6,7"}):  # of the machine; visible are others
                made = devices.device_named("cuda:1")
                self.assertEqual((made.environment["CUDA_VISIBLE_DEVICES"], made.locks[0][0].name[-10:]), ("3", "gpu-7.lock"))
        for name in ("gpu", "auto:1", "cuda:x", "host:a"):
            with self.assertRaises(mneme.MnemeError):
                devices.device_named(name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
