#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --check init and --check sync find in kernels with faults, and that they find nothing in the same kernels
without."""

import re
import unittest

import bundles
from cuda_test import HEADERS, PROCESSOR, has_toolkit
from support import PROGRAMS, TestCase, run, tool

INIT = PROGRAMS / "faults" / "uninitialised.hip"
SYNC = PROGRAMS / "faults" / "synchronisation.hip"


def line_of(source, case):
    """The line that the comment FIRST marks."""
    number, = (i for i, line in enumerate(source.read_text().splitlines(), 1) if line.endswith(f"// FIRST {case}"))
    return f"{source.name}:{number}"


class Checks(TestCase):
    def captured(self, check, program, *words):
        return run([tool("capture"), "--device", "host", "--max-instances", "0", "--check", check, program, *words])

    def assert_found(self, check, program, source, cases):
        """`cases`: {name: (what the sentence says, whether it is lesser)}."""
        for case, (says, lesser) in cases.items():
            with self.subTest(case):
                result = self.captured(check, program, case, "bad")
                self.assertEqual(result.status, 0 if lesser else 1, result.text())
                self.assertRegex(result.error, rf"(at |\(){line_of(source, case)}", result.text())
                self.assertRegex(result.error, rf"{check}{' .lesser.' if lesser else ''}: kernel '.*{case}<.*{says}")
                self.assert_silent(check, program, case)

    def assert_silent(self, check, program, case):
        result = self.captured(check, program, case, "well")
        self.assertEqual((result.status, result.error), (0, ""), result.text())

    def findings(self, check, bundle):
        result = self.run_well([tool("run"), "--check", check, "--warmup", "0", "--iterations", "1", bundle])
        runs = [bundles.parsed(m) for m in bundles.read(result.out) if m.name.startswith("runs/")]
        return [finding for line in runs for finding in line.get("findings", [])]


class Init(Checks):
    CASES = {
        "shared": ("reads 4 bytes at 0x.* shared memory.*nobody has written; a result of it is stored", False),
        "branch": ("reads 4 bytes at 0x.* shared memory.*; a branch depends on it", False),
        "address": ("reads 1 byte at 0x.* shared memory.*; it is used as an address", False),
        "device": ("reads 4 bytes at 0x.* allocation of device memory.*; a result of it is stored", False),
        "updated": ("reads 4 bytes at 0x.* shared memory.*; an atomic operation takes it", False),
        "local": ("reads 4 bytes of a local variable.*; a result of it is stored", False),
        "carried": ("reads 4 bytes at 0x.* shared memory.*; a result of it is stored", False),
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build(INIT, "uninitialised", "-O1", "-g")

    def test_found_while_an_application_runs(self):
        self.assert_found("init", self.program, INIT, self.CASES)

    def test_copies_are_no_findings(self):
        self.assert_silent("init", self.program, "copied")
        self.assert_silent("init", self.build(INIT, "unoptimised", "-O0", "-g"), "copied")

    def test_found_in_unoptimised_code(self):
        self.assert_found("init", self.build(INIT, "uninitialised_O0", "-O0", "-g"), INIT, self.CASES)

    def test_found_in_a_recording(self):
        """Memory of the device's is then as it was recorded."""
        for case in self.CASES:
            with self.subTest(case):
                bundle = self.record(self.program, case, "bad", name=f"{case}.tar")
                lines = [finding["line"] for finding in self.findings("init", bundle)]
                self.assertEqual(line_of(INIT, case) in lines, case != "device", lines)


class Sync(Checks):
    CASES = {
        "missed": ("thread .* ended before a barrier that 96 threads wait at \\(", False),
        "left": ("thread .* ended before a barrier that 100 threads wait at \\(", True),
        "lane": (r"takes a value from lane \d+.*, which does not take part; a result of it is stored", False),
        "bare": ("comes to a barrier.* with no fence for what it writes to shared memory", False),
    }
    CUDA_CASES = {
        "caller": ("is lane 2, which the mask 0xfffffffb .* does not have", False),
        "others": ("the mask 0xffffffff .* has lane 20, which does not come to it", False),
    }

    def test_found_while_an_application_runs(self):
        self.assert_found("sync", self.build(SYNC, "synchronisation", "-O1", "-g"), SYNC, self.CASES)

    @unittest.skipUnless(has_toolkit(), "there is no CUDA toolkit")
    def test_masks(self):
        program = self.folder / "cuda"
        self.run_well([tool("inject"), "clang++-19", "-std=c++17", "-x", "cuda", f"--offload-arch={PROCESSOR}", "-O1",
                       "-g", "-I", HEADERS, SYNC, "-o", program])
        self.assert_found("sync", program, SYNC, self.CUDA_CASES)
        self.assert_silent("sync", program, "ended")

    def test_found_in_a_recording(self):
        program = self.build(SYNC, "recorded", "-O1", "-g")
        for case, (_, lesser) in self.CASES.items():
            with self.subTest(case):
                bundle = self.record(program, case, "bad", name=f"{case}.tar")
                found = [(finding["line"], finding.get("lesser", False)) for finding in self.findings("sync", bundle)]
                self.assertIn((line_of(SYNC, case), lesser), found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
