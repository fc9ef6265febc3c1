#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ENGINE=slurm: grids made by the job arrays of a cluster, which here is a Slurm of one node that the test starts."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import slurm_cluster
from support import BUILD, ROOT, TestCase

GRID = ROOT / "scripts" / "grid"

# Stands for all three tools. A cell whose passes are `slow` waits until there is a file `go`; `die` takes its whole task
# along, as a node that fails does.
FAKE = """#!/bin/sh
case $0 in
*compile) echo >> "$LOG.compile"; cat ;;
*run) configuration=$(cat)
  case $configuration in
  *slow*) until [ -e "$LOG.go" ]; do sleep 0.1; done ;;
  *die*) kill -KILL $PPID; sleep 1 ;;
  esac
  echo begin >> "$LOG"; sleep 0.1; echo end >> "$LOG" ;;
*verify) cat > /dev/null; echo '{"kernel":"k","instance":"i","status":"verified","verified":true}' ;;
esac
"""

MOST_TASKS = 4


class Slurm(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = slurm_cluster.Cluster(cls.folder / "slurm", MOST_TASKS)
        cls.addClassCleanup(cls.leave)
        cls.cluster.start()

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
        self.place.mkdir()
        self.folder.chmod(0o755)
        self.log = self.place / "log"
        self.env = {**os.environ, **self.cluster.env, "LOG": str(self.log), "ENGINE": "slurm", "SLURM_SETTLE": "1",
                    "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}

    def command(self, text, *words):
        (self.place / "Makefile").write_text(f"{text}\ninclude {GRID / 'grid.mk'}\n")
        return ["make", "-C", self.place, "--no-print-directory", *words]

    def make(self, text, *words, status=0, **env):
        result = subprocess.run(self.command(text, *words), capture_output=True, text=True, env={**self.env, **env},
                                timeout=120)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def start(self, text):
        make = subprocess.Popen(self.command(text), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=self.env, start_new_session=True)
        self.addCleanup(self.end, make)
        return make

    def end(self, make):
        if make.poll() is None:
            os.killpg(make.pid, signal.SIGKILL)
        make.communicate()
        self.cluster.ask("scancel", "--quiet", "--me")

    def results(self, folder="results"):
        return {path.stem: json.loads(path.read_text()) for path in (self.place / folder / "cells").glob("*.json")}

    def fakes(self):
        folder = self.place / "fakes"
        folder.mkdir()
        for name in ("compile", "run", "verify"):
            (folder / f"mneme-{name}").write_text(FAKE)
            (folder / f"mneme-{name}").chmod(0o755)
        self.env["PATH"] = f"{folder}:{os.environ['PATH']}"
        (self.place / "b.tar").write_text("")

    def until(self, is_so):
        end = time.monotonic() + 30
        while not is_so():
            self.assertLess(time.monotonic(), end, "it does not come about")
            time.sleep(0.1)

    def queue(self):
        return self.cluster.ask("squeue", "--noheader", "--array", "--format=%F_%K %T").stdout.split("\n")[:-1]

    def test_the_cells_are_those_of_this_machine(self):
        bundle = self.record(self.build(ROOT / "tests" / "small.hip"))
        text = f"BUNDLE := {bundle}\nPASSES := default<O0> default<O3> nonsense\nCODEGEN_OPT := default 0\nROUNDS := 6"
        said = self.make(text, status=2)
        self.assertIn("4 of 6 cells verified", said)
        self.assertEqual(said.count("submitted"), 2, f"an array has {MOST_TASKS} tasks at most: {said}")
        here = self.make(text, "-j2", status=2, ENGINE="local", RESULTS="local")
        there, local = self.results(), self.results("local")
        self.assertEqual(there.keys(), local.keys())
        for cell, result in there.items():
            self.assertEqual(result.keys() - local[cell].keys(), {"node"})
            for key in ("axes", "configuration", "status", "statuses"):
                self.assertEqual(result[key], local[cell][key])
            kept = ("kernel", "instance", "variant", "verified", "rounds", "device")
            self.assertEqual([[row.get(key) for key in kept] for row in result["runs"]],
                             [[row.get(key) for key in kept] for row in local[cell]["runs"]])

        def lines(folder):
            text = (self.place / folder / "summary.jsonl").read_text()
            return [{key: line[key] for key in ("cell", "kernel", "instance", "status", "verified")}
                    for line in map(json.loads, text.splitlines())]
        self.assertEqual(lines("results"), lines("local"))
        self.assertIn("4 of 6 cells verified", here)
        # What is done is not submitted again, and nothing of the jobs is left; what has changed is.
        again = self.make(text, status=2)
        self.assertNotIn("submitted", again)
        self.assertEqual(list((self.place / "results" / "slurm").iterdir()), [])
        more = self.make(text.replace("default 0", "default 0 3"), status=2)
        self.assertRegex(more, "submitted +job [0-9]+: 3 cells\n")

    def test_a_cell_has_its_device_alone(self):
        self.fakes()
        self.make("BUNDLE := b.tar\nPASSES := a b c d e\n", SLURM_TASKS="2")
        self.assertEqual(self.log.read_text().split(), ["begin", "end"] * 5)

    def test_a_task_that_is_cancelled_or_killed_is_a_result(self):
        self.fakes()
        make = self.start("BUNDLE := b.tar\nPASSES := a die slow\nSLURM_TASKS := 1\n")
        self.until(lambda: any("_2 RUNNING" in line for line in self.queue()))
        job = self.queue()[0].split("_")[0]
        self.cluster.ask("scancel", f"{job}_2")
        said = make.communicate(timeout=60)[0]
        self.assertEqual(make.returncode, 2, said)
        self.assertIn("1 of 3 cells verified", said)
        states = {result["axes"]["PASSES"]: (result["status"], result["messages"][:1]) for result in self.results().values()}
        self.assertEqual(states["slow"], ("failed", [f"error: Slurm job {job}_2 ended without a result: CANCELLED"]))
        self.assertEqual(states["die"], ("failed", [f"error: Slurm job {job}_1 ended without a result: FAILED"]))
        self.assertIn(f"Slurm job {job}_2 ended without a result: CANCELLED", said)
        # It is made again when that is asked for.
        pathlib.Path(f"{self.log}.go").touch()
        self.assertIn("removed", self.make("BUNDLE := b.tar\nPASSES := a slow\n", "retry"))
        again = self.make("BUNDLE := b.tar\nPASSES := a slow\n")
        self.assertIn("2 of 2 cells verified", again)
        self.assertIn(": 1 cells", again)

    def test_who_comes_again_waits_for_what_goes_on(self):
        self.fakes()
        text = "BUNDLE := b.tar\nPASSES := slow\n"
        first = self.start(text)
        self.until(lambda: any("RUNNING" in line for line in self.queue()))
        job = self.queue()[0]
        os.killpg(first.pid, signal.SIGKILL)
        second = self.start(text)
        time.sleep(1)
        self.assertEqual(self.queue(), [job])
        pathlib.Path(f"{self.log}.go").touch()
        said = second.communicate(timeout=60)[0]
        self.assertEqual(second.returncode, 0, said)
        self.assertNotIn("submitted", said)
        self.assertEqual(pathlib.Path(f"{self.log}.compile").read_text(), "\n")

    def test_an_interrupt_cancels(self):
        self.fakes()
        make = self.start("BUNDLE := b.tar\nPASSES := slow\n")
        self.until(lambda: any("RUNNING" in line for line in self.queue()))
        os.killpg(make.pid, signal.SIGINT)
        self.assertIn("the submitted jobs are cancelled", make.communicate(timeout=60)[0])
        self.until(lambda: not self.queue())
        self.assertEqual(self.results(), {})
        pathlib.Path(f"{self.log}.go").touch()
        self.assertIn("1 of 1 cells verified", self.make("BUNDLE := b.tar\nPASSES := slow\n"))

    def test_what_cannot_be_submitted_is_said(self):
        self.fakes()
        text = "BUNDLE := b.tar\nPASSES := a\n"
        self.assertRegex(self.make(text, status=2, SLURM_OPTIONS="--partition=none"),
                         "error: sbatch does not take the cells: .*partition")
        without = self.place / "bin"
        without.mkdir()
        for command in ("make", "sh", "env", "python3"):
            (without / command).symlink_to(slurm_cluster.find(command))
        self.assertIn("needs Slurm's sbatch, which is not found", self.make(text, status=2, PATH=str(without)))
        self.assertIn("neither local nor slurm", self.make(text, status=2, ENGINE="pbs"))


class WhatSlurmDoesNotKnow(TestCase):
    """Clusters that lose tasks, or fall silent: scripts that play Slurm's commands."""

    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]
        (self.place / "results" / "cells").mkdir(parents=True)
        (self.place / "results" / "grid.cells").write_text("one\ntwo\n")
        for cell in ("one", "two"):
            (self.place / "results" / "cells" / f"{cell}.config").write_text('{"axes": {}, "configuration": {}}\n')
        (self.place / "b.tar").write_text("")

    def play(self, status, **commands):
        commands = {"sbatch": "cat >> sent; echo 7", "scontrol": "echo MaxArraySize = 1001", "scancel": "", **commands}
        for name, text in commands.items():
            (self.place / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.place / name).chmod(0o755)
        result = subprocess.run([GRID / "mneme-grid-slurm", "--settle=0", "--patience=1", "results", "b.tar"],
                                cwd=self.place, env={**os.environ, "PATH": f"{self.place}:{os.environ['PATH']}"},
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout + result.stderr

    def messages(self):
        return [json.loads((self.place / "results" / "cells" / f"{cell}.json").read_text())["messages"]
                for cell in ("one", "two")]

    def test_a_task_that_is_gone(self):
        self.play(0, squeue="exit 0", sacct="exit 1")
        self.assertEqual(self.messages()[1], ["error: Slurm job 7_1 ended without a result: not known to Slurm any more"])

    def test_the_accounting_remembers(self):
        self.play(0, squeue="exit 0", sacct="case $* in *=7_0) echo NODE_FAIL ;; *) echo 'CANCELLED by 5' ;; esac")
        self.assertEqual(self.messages(), [["error: Slurm job 7_0 ended without a result: NODE_FAIL"],
                                           ["error: Slurm job 7_1 ended without a result: CANCELLED by 5"]])

    def test_one_that_falls_silent(self):
        said = self.play(2, squeue="echo Unable to contact >&2; exit 1")
        self.assertIn("error: Slurm does not answer: Unable to contact; the submitted jobs go on", said)
        sent = (self.place / "sent").read_text()
        # It is no reason to submit anything once more, neither while the silence lasts nor when it is over.
        self.play(2, squeue="exit 1")
        self.play(0, squeue="[ -e once ] && exit; touch once; echo '7|0|RUNNING|None'; echo '7|1|RUNNING|None'",
                  sacct="exit 1")
        self.assertEqual((self.place / "sent").read_text(), sent)

    def test_arrays_that_are_not_allowed(self):
        self.assertIn("allows no job arrays", self.play(2, squeue="exit 0", scontrol="echo 'MaxArraySize = 0'"))
        self.assertIn("the limit of its job arrays: no", self.play(2, squeue="exit 0", scontrol="echo no >&2; exit 1"))


if __name__ == "__main__":
    if missing := slurm_cluster.lacking():
        print(f"skipped: of Slurm there is no {missing[0]} (scripts/setup installs it)")
        sys.exit(77)
    unittest.main(verbosity=2)
