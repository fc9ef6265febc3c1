#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One test program through the whole product: pipeline_test.py PROGRAM.hip, or --self to test the test.

The program is built recordable at -O0 and -O3, runs on the host device, is recorded, and its kernels are replayed in a
matrix of modes: how the bundle travels x optimisation x recorded at x form. Every replay must verify, and one must have
changed memory. By default a covering array is run, in which each pair of settings occurs that may have to do with each
other; $MNEME_MATRIX=full runs all.
"""

import json
import pathlib
import sys
import unittest

import bundles
import matrix
from recordings import keep_recording
from support import TestCase, run, tool
from tampering import Recording, pattern_of

DIMENSIONS = {
    "route": ["pipe", "files", "restored"],
    "level": ["-O0", "-O1", "-O2", "-O3", "-Os", "-Oz"],
    "recorded": ["-O0", "-O3"],
    "form": ["auto", "fiber"],  # auto is loop wherever that can be had, and is checked to be
    "globals": ["kept", "moved"],
}
UNRELATED = {("route", "level")}  # how a bundle travels has nothing to do with the code in it
ONLY_FIBERS = {"barrier_in_recursion", "barrier_in_virtual"}  # programs some of whose kernels cannot be had as loops


class CoveringArray(unittest.TestCase):
    def test_covers_every_pair(self):
        def all_pairs(modes):
            return set().union(*(matrix.pairs(mode, UNRELATED) for mode in modes))

        covering = matrix.covering_array(DIMENSIONS, UNRELATED)
        self.assertEqual(all_pairs(matrix.everything(DIMENSIONS)), all_pairs(covering))
        self.assertLess(len(covering), 15)


class Pipeline(TestCase):
    source = None  # set from the command line

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs, cls.recordings = {}, {}
        for level in DIMENSIONS["recorded"]:
            cls.programs[level] = cls.build(cls.source, f"{cls.source.stem}{level}", level)
            cls.recordings[level] = cls.record(cls.programs[level], name=f"recorded{level}.tar")
        keep_recording(cls.source, cls.recordings["-O3"], cls.programs["-O3"])

    def replay(self, mode):
        """Runs the mode's pipe; the report's lines."""
        capture = [tool("capture"), "--device", "host", self.programs[mode.recorded]]
        recording = self.recordings[mode.recorded]
        moved = ["--move-globals"] if mode.globals == "moved" else []
        rest = [[tool("compile"), mode.level, "--form", mode.form], [tool("run"), *moved], [tool("verify")]]
        if mode.route == "pipe":
            result = self.run_well(capture, *rest)
        elif mode.route == "restored":
            result = self.run_well([tool("restore"), recording], *rest)
        else:
            bundle = recording
            for i, stage in enumerate(rest[:-1]):
                following = self.folder / f"stage{i}.tar"
                self.run_well([*stage, "-o", following, bundle])
                bundle = following
            result = self.run_well([*rest[-1], bundle])
        return [json.loads(line) for line in result.out.decode().splitlines()]

    def test_program_runs(self):
        for level, program in self.programs.items():
            with self.subTest(recorded=level):
                result = self.run_well([tool("capture"), "--device", "host", "--max-instances", "0", program])
                self.assertRegex(result.error + result.out.decode(), rf"(?m)^{self.source.stem}: ok$", result.text())

    def test_recordings_are_the_same_every_time(self):
        if "hipHostRegister" in self.source.read_text():
            return  # memory that the application registers lies where the system put it, which differs
        before = self.recordings["-O3"].read_bytes()
        again = self.record(self.programs["-O3"], name=self.recordings["-O3"].name)
        self.assertEqual(again.read_bytes() == before, True, "two recordings differ")

    def test_forms_that_cannot_be_had_are_refused(self):
        if self.source.stem not in ONLY_FIBERS:
            return  # test_modes has both
        for level in DIMENSIONS["recorded"]:
            with self.subTest(recorded=level):
                result = run([tool("compile"), "--form", "loop", self.recordings[level]])
                self.assertEqual(result.statuses, [2], result.text())
                self.assertIn("that takes the form fiber", result.error)

    def test_modes(self):
        instances = {level: sum(m.name.startswith("instances/") for m in bundles.read(recording.read_bytes()))
                     for level, recording in self.recordings.items()}
        changed = 0
        for mode in matrix.modes(DIMENSIONS, UNRELATED):
            with self.subTest(**mode._asdict()):
                report = self.replay(mode)
                self.assertEqual([line["status"] for line in report], ["verified"] * instances[mode.recorded])
                forms = {line["form"] for line in report}
                if mode.form == "auto" and self.source.stem in ONLY_FIBERS:
                    self.assertIn("fiber", forms)
                else:
                    self.assertEqual(forms, {"loop" if mode.form == "auto" else mode.form})
                changed += sum(line["changed_bytes"] for line in report)
        self.assertGreater(changed, 0, "no replay changed memory")

    def test_tampered_epilogue_is_found_out(self):
        """Every verdict above could have been no."""
        for level in DIMENSIONS["recorded"]:
            recording = Recording(self.recordings[level].read_bytes())
            bundle, address, offset = recording.with_changed_epilogue(recording.instances[-1])
            with self.subTest(recorded=level):
                result = run([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=bundle)
                self.assertEqual(result.statuses, [0, 0, 1], result.text())
                self.assertRegex(result.out.decode(), pattern_of(address, offset))


if __name__ == "__main__":
    program = sys.argv.pop(1)
    if program == "--self":
        unittest.main(defaultTest="CoveringArray", verbosity=2)
    Pipeline.source = pathlib.Path(program).resolve()
    unittest.main(defaultTest=None if sys.argv[1:] else "Pipeline", verbosity=2)
