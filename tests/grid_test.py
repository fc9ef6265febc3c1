#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experiment grids: what make does of a Makefile with some lists and grid.mk."""

import csv
import html
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import bundles
from support import BUILD, ROOT, TestCase

GRID = ROOT / "scripts" / "grid"

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("mneme_grid", str(GRID / "mneme-grid"))
mneme_grid = importlib.util.module_from_spec(importlib.util.spec_from_loader("mneme_grid", loader))
loader.exec_module(mneme_grid)

# Stands for all three tools: mneme-run says when it had the device.
FAKE = """#!/bin/sh
case $0 in
*compile) echo "$@" >> "$LOG.compile" ;;
*run) cat; echo begin >> "$LOG"; sleep 0.1; echo end >> "$LOG" ;;
*verify) cat > /dev/null; echo '{"kernel":"k","instance":"i","status":"verified","verified":true}' ;;
esac
"""


class Grid(TestCase):
    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        self.place.mkdir()
        self.path = f"{BUILD / 'bin'}:{os.environ['PATH']}"

    def make(self, text, *words, status=0, env=None):
        (self.place / "Makefile").write_text(f"{text}\ninclude {GRID / 'grid.mk'}\n")
        result = subprocess.run(["make", "-C", self.place, "--no-print-directory", *words], capture_output=True, text=True,
                                env={**os.environ, "PATH": self.path, **(env or {})}, timeout=600)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def results(self):
        return {path.stem: json.loads(path.read_text()) for path in (self.place / "results" / "cells").glob("*.json")}

    def fakes(self):
        folder = self.place / "fakes"
        folder.mkdir()
        for name in ("compile", "run", "verify"):
            (folder / f"mneme-{name}").write_text(FAKE)
            (folder / f"mneme-{name}").chmod(0o755)
        self.path = f"{folder}:{os.environ['PATH']}"
        (self.place / "b.tar").write_text("")
        return self.place / "log"

    def test_a_grid_from_a_recording(self):
        bundle = self.record(self.build(ROOT / "tests" / "small.hip"))
        text = f"BUNDLE := {bundle}\nPASSES := default<O0> default<O3> nonsense\nCODEGEN_OPT := default 0\nROUNDS := 6"
        said = self.make(text, "-j2", status=2)
        self.assertIn("4 of 6 cells verified", said)
        self.assertIn("unknown pass name 'nonsense'", said)
        results = self.results()
        self.assertEqual(sorted(result["status"] for result in results.values()), ["failed"] * 2 + ["verified"] * 4)
        for result in results.values():
            self.assertTrue(all(row["verified"] for row in result["baseline"]))
            if result["status"] != "verified":
                continue
            self.assertEqual(len(result["runs"]), len(result["baseline"]), "one of each instance")
            for row in result["runs"]:
                self.assertEqual((row["passes"], row["rounds"]), (result["axes"]["PASSES"], 6))
                outcomes = {"reference", "faster", "slower", "within noise", "same code"}
                self.assertIn(row["comparison"]["outcome"], outcomes)
        lines = [json.loads(line) for line in (self.place / "results" / "summary.jsonl").read_text().splitlines()]
        with open(self.place / "results" / "summary.csv") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([line["status"] for line in lines], [row["status"] for row in rows])
        self.assertEqual({row["PASSES"] for row in rows}, {"default<O0>", "default<O3>", "nonsense"})

        said = self.make(text, "plot")
        for name in ("bars.svg", "bars.png", "heat.svg", "heat.png"):
            self.assertIn(f"results/plots/{name}", said)
        drawn = html.unescape((self.place / "results" / "plots" / "bars.svg").read_text())
        self.assertTrue("default<O0> 0" in drawn and "nonsense" not in drawn)

        # What is there is not made again, until it is no good and is to be.
        self.assertNotIn("nonsense-", self.make(text, status=2).partition("CELL")[0])
        self.assertIn("removed", self.make(text, "retry"))
        self.assertIn("failed       nonsense-", self.make(text, "-j2", status=2))
        # Other lists are another grid.
        self.assertIn("2 of 2 cells verified", self.make(text.replace(" nonsense", "").replace(" 0\n", "\n")))

    def test_what_has_changed_is_made_again(self):
        log = self.fakes()
        text = "BUNDLE := b.tar\nPASSES := a b\n"
        self.make(text, env={"LOG": log})
        self.assertEqual(log.read_text().count("begin"), 2)
        self.make(text, env={"LOG": log})
        self.assertEqual(log.read_text().count("begin"), 2)
        self.make(text + "ROUNDS := 20\n", env={"LOG": log})
        self.assertEqual(log.read_text().count("begin"), 4)
        os.utime(self.place / "b.tar")
        self.make(text + "ROUNDS := 20\n", env={"LOG": log})
        self.assertEqual(log.read_text().count("begin"), 6)

    def test_a_cell_has_the_device_alone(self):
        log = self.fakes()
        self.make("BUNDLE := b.tar\nPASSES := a b c d\nCODEGEN_OPT := 0 1\n", "-j8", env={"LOG": log})
        self.assertEqual(log.read_text().split(), ["begin", "end"] * 8)
        self.assertEqual(len((self.place / "log.compile").read_text().splitlines()), 8)

    def test_a_grid_may_be_larger_than_a_command_line(self):
        log = self.fakes()
        words = " ".join(f"{'long' * 16}{number}" for number in range(40))
        text = f"BUNDLE := b.tar\nPASSES := {words}\nFAST_MATH := {words}\n"
        for cell in self.make(text, "-n", env={"LOG": log}).split("'"):
            if cell.startswith("long"):
                (self.place / "results" / "cells" / f"{cell}.json").write_text(json.dumps(
                    {"cell": cell, "axes": {}, "status": "verified", "runs": [], "messages": []}))
        self.assertIn("1600 of 1600 cells verified", self.make(text, env={"LOG": log}))

    def test_gpus_are_told_apart(self):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name in ("SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"):
            os.environ.pop(name, None)

        def lock(is_nvidia):
            return mneme_grid.lock_of(is_nvidia).name.rpartition("mneme-grid-")[2]
        uid = os.getuid()
        self.assertEqual([lock(False), lock(True)], [f"{uid}-host.lock", f"{uid}-gpu-0.lock"])
        os.environ["CUDA_VISIBLE_DEVICES"] = "3,1"
        self.assertEqual([lock(False), lock(True)], [f"{uid}-host.lock", f"{uid}-gpu-3.lock"])
        os.environ.update(CUDA_VISIBLE_DEVICES="0", SLURM_JOB_GPUS="5")
        self.assertEqual(lock(True), f"{uid}-gpu-5.lock")

    def test_what_runs_on_a_gpu(self):
        def bundle(device):
            path = self.place / f"{device}.tar"
            path.write_bytes(bundles.write([("bundle.json", bundles.compact({"device": device}))]))
            return path
        on_host, on_gpu = bundle("host"), bundle("cuda")
        (self.place / "none.tar").write_text("no bundle")
        for path, baseline, configuration, flags, expected in (
                (on_host, {}, {}, [], False), (on_gpu, {}, {}, [], True), (self.place / "none.tar", {}, {}, [], False),
                (on_host, {}, {"target": "sm_90"}, [], True), (on_host, {"target": "cuda:sm_90"}, {"target": "host"}, [], True),
                (on_host, {"target": "sm_90"}, {"target": "sm_90"}, [], True),
                (on_gpu, {"target": "host"}, {"target": "host"}, [], False), (on_gpu, {"target": "host"}, {}, [], True),
                (on_gpu, {}, {}, ["--target", "host"], False), (on_host, {}, {}, ["-v", "--target=sm_90"], True)):
            config = {"baseline": baseline, "configuration": configuration, "compile": flags}
            self.assertEqual(mneme_grid.uses_nvidia(config, path), expected, (path.name, config))

    def test_lists_become_configurations(self):
        lists = ["GRIDS=8,2 default", "LAUNCH_BOUNDS=256 128,2", "SPECIALIZE=none all",
                 "ATTRIBUTES=prefer-vector-width=512,minsize"]
        found = dict(mneme_grid.choices(lists))
        self.assertEqual(found["GRIDS"], [("8,2", {"grid": [8, 2, 1]}), ("default", {})])
        self.assertEqual(found["LAUNCH_BOUNDS"][1], ("128,2", {"max_threads": 128, "min_blocks": 2}))
        self.assertEqual(found["SPECIALIZE"][1][1], {"specialize_args": "all", "specialize_dims": True})
        self.assertEqual(found["ATTRIBUTES"][0][1], {"attributes": "prefer-vector-width=512 minsize"})
        for wrong in ("CODEGEN_OPT=fast", "SPECIALIZE=some", "NONE=1"):
            with self.assertRaises(mneme_grid.Wrong):
                list(mneme_grid.choices([wrong]))

    def test_what_is_wrong_is_no_success(self):
        row = {"kernel": "k", "instance": "i", "status": "verified", "verified": True}
        wrong = {**row, "status": "not verified", "verified": False}
        self.assertEqual(mneme_grid.split([row, wrong]), ([row], [wrong]))
        self.assertEqual(mneme_grid.split([row]), ([row], [row]), "the baseline itself")
        self.assertEqual(mneme_grid.status_of([0, 0, 1], [wrong]), "not verified")
        self.assertEqual(mneme_grid.status_of([0, 0, 1], [row]), "verified", "it is the baseline that is wrong")
        for statuses in ([2, 0, 0], [0, 2, 0], [0, 0, 2], [-9, 0, 0]):
            self.assertEqual(mneme_grid.status_of(statuses, [row]), "failed")
        self.assertEqual(mneme_grid.status_of([0, 0, 0], []), "failed")

    def test_what_is_interrupted_has_no_result(self):
        """Also where a tool of it gets the signal first: a job array's task that is cancelled, say."""
        log = self.fakes()
        run = self.place / "fakes" / "mneme-run"
        run.write_text(FAKE.replace("*run) cat;", '*run) cat; [ -e "$LOG.go" ] || kill -TERM $$;'))
        text = "BUNDLE := b.tar\nPASSES := a\n"
        self.assertRegex(self.make(text, status=2, env={"LOG": str(log)}), "error: a-.* was interrupted and has no result")
        self.assertEqual(self.results(), {})
        (self.place / "log.go").touch()
        self.assertIn("1 of 1 cells verified", self.make(text, env={"LOG": str(log)}))

    def test_control_c_leaves_no_trace(self):
        log = self.fakes()
        run = self.place / "fakes" / "mneme-run"
        run.write_text(FAKE.replace("sleep 0.1", "sleep 60"))
        self.make("BUNDLE := b.tar\nPASSES := a\n", "-n", env={"LOG": str(log)})
        [cell] = (self.place / "results" / "grid.cells").read_text().split()
        process = subprocess.Popen([GRID / "mneme-grid", "run", "results", cell, "b.tar"], cwd=self.place, text=True,
                                   start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**os.environ, "PATH": self.path, "LOG": str(log)})
        while process.poll() is None and not log.exists():
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual((process.communicate(timeout=60)[0], process.returncode), ("", -signal.SIGINT))
        self.assertEqual(self.results(), {})

    def test_variables_for_what_a_cell_says_itself(self):
        bundle = self.record(self.build(ROOT / "tests" / "small.hip"))
        aside = self.place / "aside"
        variables = {"MNEME_FORMAT": "table", "MNEME_OUTPUT": str(aside), "MNEME_CHECK_MEMORY": "1"}
        said = self.make(f"BUNDLE := {bundle}\nPASSES := default<O1>\nROUNDS := 6", env=variables)
        self.assertIn("1 of 1 cells verified", said)
        self.assertFalse(aside.exists())
        [result] = self.results().values()
        self.assertEqual({row["passes"] for row in result["runs"]}, {"default<O1>"})

    def test_a_report_that_is_none_fails_the_cell(self):
        log = self.fakes()
        verify = self.place / "fakes" / "mneme-verify"
        verify.write_text(FAKE.replace('"verified":true}', ""))
        self.assertIn("failed       a-", self.make("BUNDLE := b.tar\nPASSES := a\n", status=2, env={"LOG": str(log)}))

    def test_what_plots_show(self):
        def cell(passes, level, *speedups, status="verified"):
            runs = [{"status": status, "verified": status == "verified",
                     "comparison": {"speedup": speedup, "low": speedup, "high": speedup, "outcome": "faster"}}
                    for speedup in speedups]
            return {"cell": f"{passes}-{level}", "axes": {"PASSES": passes, "CODEGEN_OPT": level}, "status": status,
                    "runs": runs}
        cells = list(mneme_grid.of_cells([cell("a", "0", 2, 8), cell("a", "1", 3), cell("b", "1", 1.5),
                                          cell("b", "0", 9, status="not verified")]))
        self.assertEqual([round(values[0], 9) for _, values in cells], [4, 3, 1.5])
        self.assertEqual([row.split() for row in mneme_grid.heat_rows(cells, "CODEGEN_OPT", "PASSES")],
                         [['""', '"0"', '"1"'], ['"a"', "4.0", "3.0000000000000004"], ['"b"', "NaN", "1.5"]])

    def test_mistakes_are_said(self):
        (self.place / "b.tar").write_text("no bundle")
        self.assertIn("BUNDLE", self.make("", status=2))
        self.assertIn("which is none of its values", self.make("BUNDLE := b.tar\nCODEGEN_OPT := fast", status=2))
        self.assertIn("ROUNDS is 'many', which is no number", self.make("BUNDLE := b.tar\nROUNDS := many", status=2))
        for name, flags, words in (("COMPILE", "-o f", "has --output"), ("COMPILE", "--variants f", "has --variants"),
                                   ("RUN", "-vof", "has --output"), ("RUN", "--check-memory", "has --check-memory"),
                                   ("VERIFY", "--format=table", "has --format"), ("VERIFY", '"', "has a quotation mark")):
            said = self.make(f"BUNDLE := b.tar\n{name}_FLAGS := {flags}", status=2)
            self.assertIn(f"mneme-grid: error: {name}_FLAGS {words}", said)
        self.assertIn("0 of 1 cells verified", self.make("BUNDLE := b.tar\nPASSES := default<O1>", status=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
