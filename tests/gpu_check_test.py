#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dry runs of scripts/gpu-check, of the script and not of a GPU: its half for AMD's GPUs with what plays AMD's runtime;
what it says of CUDA programs, with the host device in place of a GPU and where a toolkit is to build them with."""

import os
import re
import unittest

import cuda_test
from support import BUILD, ROOT, TestCase, run

FAKE = BUILD / "tests" / "fake_hip" / "6"
PROGRAMS = ["device_globals", "tree_reduction", "vector_add"]


class Dry(TestCase):
    """A bundle as scripts/gpu-bundle packs it, but for the programs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bundle = cls.folder / "gpu-bundle"
        (cls.bundle / "libraries").mkdir(parents=True)
        for name in ["bin", "lib"]:
            (cls.bundle / name).symlink_to(BUILD / name)
        for name in ["device_contract_test", "element_kernel_test"]:
            (cls.bundle / name).symlink_to(BUILD / "tests" / name)
        for name in ["gpu-check", "gpu-check-programs", "gpu-check-hip"]:
            (cls.bundle / name).write_bytes((ROOT / "scripts" / name).read_bytes())

    @classmethod
    def pack(cls, script, *arguments):
        made = run(["python3", "-B", ROOT / "tests" / "gpu" / script, *arguments])
        if made.status or made.error:
            raise AssertionError(made.text())

    def check(self, sections, status=0, **env):
        """The report of a dry run."""
        report = self.folder / "report.md"
        result = run(["bash", self.bundle / "gpu-check", report, sections], env=env, timeout=300)
        text = report.read_text()
        self.assertEqual(result.status, status, result.text() + text)
        return text


class Hip(Dry):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pack("hip_bundle.py", cls.bundle / "hip", *PROGRAMS)

    def check(self, sections, status=0, library=FAKE, **env):
        return super().check(sections, status, MNEME_GPU_CHECK_HIP=str(library), **env)

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


class Variants(TestCase):
    def test_programs_are_replayed_in_all_configurations(self):
        """But for what is left out of three of them."""
        modes = self.folder / "modes"
        modes.mkdir()
        lines = [f'{{"passes":"default<O{level}>","assembler":"none"}}' for level in "0123sz"]
        (modes / "gpu.jsonl").write_text("".join(line + "\n" for line in lines))
        for name, left_out in [("vector_add", ""), ("wave_operations", "0"), ("uniform_loops", "2s")]:
            script = f'source "$0"; here={self.folder}; cd "$here"; variants_for {name} gpu.jsonl; cat gpu.jsonl'
            result = run(["bash", "-c", script, ROOT / "scripts" / "gpu-check-programs"])
            expected = [line for level, line in zip("0123sz", lines) if level not in left_out]
            self.assertEqual(result.out.decode().splitlines(), expected, name)


@unittest.skipUnless(cuda_test.has_toolkit(), "there is no CUDA toolkit to build programs with")
class Cuda(Dry):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pack("cuda_bundle.py", cls.bundle, "vector_add", "relocatable", "surfaces")

    def check(self, status=0, **env):
        return super().check("CUDA applications", status, MNEME_GPU_CHECK_CUDA="host", **env)

    def test_all_is_well(self):
        text = self.check()
        for name in ["relocatable", "surfaces", "vector_add"]:
            for level in ["-O0", "-O3"]:
                counts = re.search(rf"(?m)^    {name} {level}: GPU: (\d+) of \1 byte for byte; CPU: (\d+) of \2 byte for byte$", text)
                self.assertTrue(counts, text)
                self.assertGreaterEqual(int(counts[1]), 12)

    def test_modes(self):
        """Each program is replayed in one, in turn; or in all."""
        runs = {matrix: int(re.search(r"vector_add -O0: GPU: (\d+) of", self.check(MNEME_MATRIX=matrix))[1])
                for matrix in ["", "full"]}
        lines = (self.bundle / "modes" / "runs").read_text().splitlines()
        self.assertEqual(runs["full"], runs[""] * sum(line.startswith("-O0 ") for line in lines))

    def test_what_is_not_well_is_said(self):
        """A program that fails, one that says something else when it is recorded, and variants that are none."""
        folder = self.bundle / "applications" / "-O3"
        scripts = {"fails": "echo what is wrong; exit 1", "differs": f"echo $$; exec {folder}/vector_add"}
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
            self.addCleanup((folder / name).unlink)
        variants = self.bundle / "modes" / "host.jsonl"
        self.addCleanup(variants.write_text, variants.read_text())
        variants.write_text('{"passes":"no such pass"}\n')
        text = self.check(status=1)
        self.assertIn("fails -O3: does NOT run by itself: what is wrong", text)
        self.assertIn("differs -O3: does NOT say the same when recorded", text)
        self.assertRegex(text, r"vector_add -O3: .*; CPU: 0 of \d+ byte for byte, \d+ NOT verified: .*no such pass")


if __name__ == "__main__":
    unittest.main(verbosity=2)
