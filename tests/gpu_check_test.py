#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dry run of scripts/gpu-check's half for AMD's GPUs, with what plays AMD's runtime: of the script, not of a GPU."""

import os
import re
import unittest

from support import BUILD, ROOT, TestCase, run

STAND = BUILD / "tests" / "hip_stand" / "6"
PROGRAMS = ["device_globals", "tree_reduction", "vector_add"]


class GpuCheck(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bundle = cls.folder / "gpu-bundle"  # as scripts/gpu-bundle packs it
        (cls.bundle / "libraries").mkdir(parents=True)
        for name in ["bin", "lib"]:
            (cls.bundle / name).symlink_to(BUILD / name)
        for name in ["device_contract_test", "element_kernel_test"]:
            (cls.bundle / name).symlink_to(BUILD / "tests" / name)
        for name in ["gpu-check", "gpu-check-hip"]:
            (cls.bundle / name).write_bytes((ROOT / "scripts" / name).read_bytes())
        made = run(["python3", "-B", ROOT / "tests" / "gpu" / "hip_bundle.py", cls.bundle / "hip", *PROGRAMS])
        if made.status or made.error:
            raise AssertionError(made.text())

    def check(self, sections, status=0, library=STAND, **env):
        """The report of a dry run."""
        report = self.folder / "report.md"
        result = run(["bash", self.bundle / "gpu-check", report, sections],
                     env={"MNEME_GPU_CHECK_HIP": str(library), **env}, timeout=300)
        text = report.read_text()
        self.assertEqual(result.status, status, result.text() + text)
        return text

    def test_all_is_well(self):
        text = self.check("HIP|AMD", GTEST_FILTER="Contract.*:*EveryType*/f32")
        self.assertIn("A dry run", text)
        self.assertEqual(len(re.findall(r"\[  PASSED  \] \d+ tests", text)), 2)
        self.assertNotIn("this device has none", text)
        for name in PROGRAMS:
            self.assertRegex(text, rf"(?m)^    {name}: hip: byte for byte$")
            self.assertRegex(text, rf"(?m)^    {name}: [1-9]\d* recorded; hip: byte for byte; host: byte for byte$")
        for case in ["cut", "flipped_bits", "no_bundle"]:
            self.assertRegex(text, rf"(?m)^    {case}: mneme-run: (error|warning): .+")
        self.assertEqual(len(re.findall(r'cache (?:warm|cold)(?:, without rocprofiler-sdk)?: "clock":"events" "min_ns":\d+', text)), 4)

    def test_what_is_not_well_is_said(self):
        """ROCm 5's memory is at other addresses."""
        text = self.check("HIP: kernels recorded on the host", status=1, MNEME_TEST_ROCM="5.2")
        self.assertRegex(text, "vector_add: hip: NOT verified: failed: .* memory at 0x40.* cannot be there")
        self.assertIn("**failed: exit status 1**", text)

    def test_no_runtime(self):
        nothing = self.folder / "nothing"
        os.makedirs(nothing, exist_ok=True)
        self.assertIn("runtime library: none found", self.check("AMD", status=1, library=nothing))


if __name__ == "__main__":
    unittest.main(verbosity=2)
