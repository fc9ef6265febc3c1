#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning, and experiment grids, of kernels without IR: what of them can vary."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import bundles
from support import BUILD, ROOT, run, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "mneme-inject"), str(ROOT / "python")]
sys.dont_write_bytecode = True

import mneme  # noqa: E402
from code_only_recordings import Recordings  # noqa: E402


class CodeOnlyTuning(Recordings):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]

    def tune(self, *options, bundle=None, status=0):
        result = run([tool("tune"), "--kernel", "combine", "--iterations", "2", "--rounds", "6", "--seed", "1",
                      "--run-flags=--device cuda", "-o", self.place, *options, bundle or self.recorded()],
                     env=self.environment, timeout=240)
        self.assertEqual(result.status, status, result.text())
        return result

    def trials(self):
        return [json.loads(line) for line in (self.place / "trials.jsonl").read_text().splitlines()]

    def test_its_ptx(self):
        result = self.tune("--sampler", "grid", "--trials", "8")
        self.assertRegex(result.error, r"mneme-tune: kernel 'combine\(.*' has no IR, which passes, .* and launch bounds "
                                       "need: a limit of registers, the assembler's level and the launch vary")
        trials = self.trials()
        self.assertEqual([trial["configuration"] for trial in trials[:2]], [{}, {"ptxas_level": 1}])
        self.assertEqual({frozenset(trial["configuration"]) - {"max_registers", "ptxas_level"} for trial in trials},
                         {frozenset()})
        self.assertEqual({trial["status"] for trial in trials}, {"verified"}, trials)
        self.assertTrue(all(trial["code_bytes"] for trial in trials), trials)
        self.assertEqual({trial["resources"]["occupancy"] for trial in trials}, {64}, "24 registers, blocks of 256 threads")
        best = json.loads((self.place / "best.json").read_text())
        self.assertTrue(best["instances"][0]["baseline_ns"])
        shown = run(["sh", self.place / "best.sh"], env=self.environment)
        self.assertEqual(shown.status, 0, shown.text())

    def test_its_task(self):
        """It has the PTX, which is a candidate as it stands."""
        made = run([tool("export"), "--task", self.place, "--kernel", "combine", "--device", "cuda", self.recorded()],
                   env=self.environment)
        self.assertEqual(made.status, 0, made.text())
        self.assertIn(".entry", (self.place / "kernel.ptx").read_text())
        self.assertFalse((self.place / "kernel.ll").exists())
        judged = run([tool("export"), "--check", self.place, self.place / "kernel.ptx"], env=self.environment)
        self.assertEqual((judged.status, json.loads(judged.out)["reason"]), (0, "verified"), judged.text())

    def test_workers_have_a_gpu_each(self):
        self.tune("--workers", "2", "--trials", "8", "--sampler", "random")
        trials = self.trials()
        self.assertEqual({trial["status"] for trial in trials}, {"verified"}, trials)
        self.assertEqual(len({json.dumps(trial["parameters"]) for trial in trials}), 8)
        with unittest.mock.patch.dict(os.environ, {**self.environment, "CUDA_VISIBLE_DEVICES": "4,7"}):
            with mneme.Session(self.recorded(), kernel="combine", devices=["cuda:0", "cuda:1"]) as session:
                for future in [session.submit({"ptxas_level": level}) for level in (0, 1, 2, 3)]:
                    self.assertTrue(future.result(120).verified)
                for worker, gpu in zip(session.workers, "47"):
                    self.assertTrue(worker.pipes[0].processes)
                    for process in worker.pipes[0].processes:
                        variables = pathlib.Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
                        self.assertIn(f"CUDA_VISIBLE_DEVICES={gpu}".encode(), variables)

    def test_variants_that_are_there(self):
        """Have their code as members by its digest."""
        self.compile("--ptxas-level", "1")
        self.tune("--sampler", "grid", "--trials", "2", bundle=self.folder / "compiled.tar")
        self.assertTrue(all(trial["code_bytes"] for trial in self.trials()), self.trials())

    def test_its_launch(self):
        """Grid and block, and shared memory, need no PTX."""
        self.tune("--space", "launch", "--trials", "12", bundle=self.without_ptx())
        trials = self.trials()
        self.assertEqual({key for trial in trials for key in trial["configuration"]}, {"block", "shared_mem"})
        self.assertEqual({trial["status"] for trial in trials}, {"verified"}, trials)

    def test_both(self):
        self.tune("--space", "full", "--trials", "10")
        found = {key for trial in self.trials() for key in trial["configuration"]}
        self.assertEqual(found, {"block", "shared_mem", "max_registers", "ptxas_level"})
        self.place = self.folder / "both_without"
        said = self.tune("--space", "full", "--trials", "3", bundle=self.without_ptx())
        self.assertIn("constants and launch bounds need: only the launch varies", said.error)

    def test_nothing_varies(self):
        said = self.tune("--trials", "3", bundle=self.without_ptx(), status=2)
        self.assertRegex(said.error, "error: kernel 'combine.*' has neither IR nor PTX, so its code cannot vary: --space "
                                     "launch varies its block and its dynamic shared memory")

    def test_what_needs_ir_is_a_failed_trial(self):
        space = self.folder / "space.py"
        space.write_text('PARAMETERS = lambda r: {"passes": [None] + ["default<O2>"] * (not r.has_ir and not r.has_ptx)}\n')
        without = self.without_ptx()
        said = self.tune("--space", space, "--sampler", "grid", bundle=without, status=1)
        self.assertIn("none of the 1 trials but the baseline is verified; the last: it was not compiled: kernel", said.error)
        self.assertIn("2 of 2 trials", said.error)
        first, second = self.trials()
        self.assertEqual((first["status"], second["status"]), ("verified", "failed"))
        self.assertIn("has no IR, which 'passes' needs", second["reason"])
        said = self.tune("--space", "launch", "--baseline", '{"passes":"default<O2>"}', "-o", self.folder / "failed", bundle=without,
                         status=1)
        self.assertRegex(said.error, "the baseline is failed: .*has no IR, which 'passes' needs")

    def test_a_tuned_bundle(self):
        """The baseline is the application's own code, wherever it stands; the code lies there by its digest."""
        lines, runs = self.folder / "launches.jsonl", self.folder / "launches.tar"
        lines.write_text('{"shared_mem":4096}\n{}\n')
        self.run_well([tool("compile"), "--kernel", "combine", "--variants", lines, self.without_ptx()],
                      [tool("run"), "--device", "cuda", "--kernel", "combine", "--rounds", "6", "-o", runs], env=self.environment)
        members = bundles.read(runs.read_bytes())
        own = {bundles.parsed(m)["id"] for m in members if m.name.endswith("variant.json")
               and "shared_mem" not in bundles.parsed(m)["configuration"]}
        for member in members:  # that of the fake is no GPU's
            if member.name.startswith("runs/"):
                run_of = bundles.parsed(member)
                times = [2000 if run_of["variant"] in own else 1000 for _ in run_of["nanoseconds"]]
                member.data = bundles.compact({**run_of, "nanoseconds": times})
        runs.write_bytes(bundles.write(members))
        made = self.run_well([tool("restore"), "--tuned", "--kernel", "combine", runs]).out
        found = {m.name.split("/")[0]: m for m in bundles.read(made)}
        choice = bundles.parsed(found["choices"])
        self.assertEqual((choice["device"], choice["target"][:8]), ("cuda", "cuda:sm_"))
        self.assertEqual((choice["launch"]["shared_bytes"], choice["ratio"]), (4096, 2))
        self.assertNotEqual(choice["shared_bytes"], 4096)
        self.assertIn("code", found)
        self.run_well([tool("verify")], input=made)
        again = self.run_well([tool("restore"), "--tuned"], input=made).out
        self.assertEqual({m.name: m.data for m in bundles.read(again)[1:]}, {m.name: m.data for m in bundles.read(made)[1:]})
        refused = run([tool("restore"), "--tuned", "--reference", "first", runs])
        self.assertRegex(refused.error, "error: nothing is tuned: no variant")

    def test_grid(self):
        self.place.mkdir()
        (self.place / "Makefile").write_text(
            f"BUNDLE := {self.recorded()}\nPTXAS_LEVEL := default 1\nMAX_REGISTERS := default 32\nBLOCKS := 256 512\n"
            "SHARED_MEM := default 4096\nROUNDS := 6\nCOMPILE_FLAGS := --kernel combine\n"
            f"RUN_FLAGS := --device cuda\ninclude {ROOT / 'scripts' / 'grid' / 'grid.mk'}\n")
        environment = {**os.environ, **self.environment, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}

        def make(*words):
            made = subprocess.run(["make", "-C", self.place, *words], capture_output=True, text=True, env=environment)
            return made.returncode, made.stdout + made.stderr

        status, said = make()
        self.assertEqual(status, 0, said)
        self.assertIn("16 of 16 cells verified", said)
        cells = [json.loads(path.read_text()) for path in self.place.glob("results/cells/*.json")]
        self.assertEqual({run["passes"] for cell in cells for run in cell["runs"]}, {"as recorded", "recorded PTX"})
        shutil.rmtree(self.place / "results")
        status, said = make(f"BUNDLE={self.without_ptx()}", "PASSES=default<O1>", "PTXAS_LEVEL=", "MAX_REGISTERS=",
                            "BLOCKS=", "SHARED_MEM=")
        self.assertEqual(status, 2, said)
        self.assertIn("has no IR, which 'passes' needs", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
