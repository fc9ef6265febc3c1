#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--algebra: what compilers may do to floating-point code is the same computation, and what is wrong is a different one."""

import json
import re
import unittest

import bundles
from support import ROOT, TestCase, run, tool

KERNELS = "weighted|softmax|sums"


class Algebra(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = cls.build(ROOT / "tests" / "checks" / "algebra.hip", None, "-O2", "-g")
        cls.recording = cls.record(program, name="algebra.tar")

    def verdicts(self, *variants, kernel=KERNELS, status=0):
        """Of each variant, options of mneme-compile, what is said of each kernel: {(name, hash): text}."""
        stages = [[tool("compile"), "--algebra", "--kernel", kernel, *options] for options in variants]
        stages[0].append(self.recording)
        result = run(*stages, [tool("run"), "--algebra", "--warmup", "0", "--iterations", "1", "--kernel", kernel],
                     [tool("verify"), "--algebra", "--kernel", kernel])
        self.assertEqual(result.status, status, result.text())
        return [json.loads(line) for line in result.out.decode().splitlines()], result

    def edited(self, kernel, *changes):
        """A file of the kernel's IR with each (pattern, replacement) made in it once."""
        ir = self.run_well([tool("extract-ir"), "-S", "--kernel", kernel, self.recording]).out.decode()
        for pattern, replacement in changes:
            ir, count = re.subn(pattern, replacement, ir, count=1)
            self.assertEqual(count, 1, pattern)
        file = self.folder / "edited.ll"
        file.write_text(ir)
        return file

    def test_optimisation_changes_no_computation(self):
        rows, result = self.verdicts(["-O3"], ["-O3", "--fast-math", "fast"], ["-O3", "--fuse"],
                                     ["-O3", "--fast-math", "fast", "--specialize-args", "all"], ["-O1", "--form", "fiber"])
        self.assertEqual(len(rows), 3 * 6, result.text())
        self.assertEqual([row["algebra"] for row in rows].count("reference"), 3, result.text())
        self.assertEqual({row["algebra"] for row in rows}, {"reference", "same computation"}, result.text())

    def test_the_same_without_algebra_differs(self):
        """Or the test above would show nothing."""
        result = self.run_well([tool("compile"), "-O3", "--fast-math", "fast", "--kernel", KERNELS, self.recording],
                               [tool("run"), "--kernel", KERNELS])
        report = run([tool("verify"), "--kernel", KERNELS], input=result.out)
        self.assertEqual(report.status, 1, report.text())

    def test_a_wrong_term_is_another_computation(self):
        FACTOR = r"fmul (contract )?float (%[^,\n]*), 5\.000000e-01"
        for kernel, change in [
                ("weighted", (FACTOR, r"fmul float \2, 0x3FE0000020000000")),      # the last bit of a constant
                ("weighted", (r"fdiv contract float (%[^,\n]*), 3\.000000e\+00", r"fdiv float 3.0, \1")),
                ("softmax", (r"fsub contract float (%[^,\n]*), (%[^,\n]*)", r"fsub float \2, \1")),
                ("softmax", (r"fadd contract float (%[^,\n]*), (%[^,\n]*)", r"fadd float \1, \1")),
                ("sums", (r"fadd contract float (%[^,\n]*), (%[^,\n]*)", r"fadd float \2, \2"))]:
            with self.subTest(kernel, change=change):
                rows, result = self.verdicts(["--ir", self.edited(kernel, change)], kernel=kernel, status=1)
                other = [row for row in rows if row["algebra"] == "different computation"]
                self.assertEqual(len(other), 1, result.text())
                self.assertRegex(other[0]["reasons"][0], r"segment at 0x\w+ \(heap\): at offset \d+ it computes")

    def test_an_edit_that_is_right_is_the_same(self):
        edited = self.edited("weighted", (r"fdiv contract float (%[^,\n]*), 3\.000000e\+00",
                                          r"fmul float \1, 0x3FD5555560000000"))
        rows, result = self.verdicts(["--ir", edited, "-O2"], kernel="weighted")
        self.assertEqual(sorted(row["algebra"] for row in rows), ["reference", "same computation"], result.text())

    def test_refused(self):
        for kernel, sentence in [("histogram", r"computes addresses from floating-point numbers.*algebra\.hip:\d+"),
                                 ("halved", r"a loop that only floating-point numbers end.*algebra\.hip:\d+")]:
            result = run([tool("compile"), "--algebra", "--kernel", kernel, self.recording])
            self.assertEqual(result.status, 2, result.text())
            self.assertRegex(result.error, sentence)

    def test_without_a_reference(self):
        result = run([tool("compile"), "--algebra", "--kernel", "sums", self.recording], [tool("run"), "--kernel", "sums"],
                     [tool("verify"), "--kernel", "sums"])
        self.assertEqual(result.status, 1, result.text())
        self.assertIn("give --algebra to mneme-run", result.error)

    def test_nothing_to_judge(self):
        result = run([tool("compile"), "--kernel", "sums", self.recording], [tool("run"), "--kernel", "sums"],
                     [tool("verify"), "--algebra", "--kernel", "sums"])
        self.assertEqual(result.status, 2, result.text())
        self.assertIn("no run has --algebra", result.error)

    def test_the_configuration_says_so(self):
        result = self.run_well([tool("compile"), "--algebra", "--kernel", "sums", self.recording])
        variants = [bundles.parsed(m) for m in bundles.read(result.out) if m.name.endswith("/variant.json")]
        self.assertEqual([v["configuration"]["algebra"] for v in variants], [True])
        gpu = run([tool("compile"), "--algebra", "--target", "gfx90a", self.recording])
        self.assertEqual(gpu.status, 2, gpu.text())
        self.assertIn("--algebra is for the host device", gpu.error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
