#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applications for AMD's processors that the device libraries may be older than: mneme-inject makes what those lack, and
what was built runs, is recorded and replayed on the host device like any other, and is compiled for its own processor."""

import json
import pathlib
import unittest

from support import PROGRAMS, TestCase, run, tool

UNITS = PROGRAMS / "relocatable"
DISTRIBUTION = pathlib.Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")


class Processors(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment = {"XDG_CACHE_HOME": str(cls.folder)}  # what is lacking is made here
        cls.own = cls.folder / "mneme"

    def inject(self, processor, *arguments):
        result = run([tool("inject"), "clang++-19", f"--offload-arch={processor}", *arguments], cwd=self.folder,
                     env=self.environment)
        self.assertEqual(result.status, 0, result.text())

    def check(self, name, processor, kernels):
        program = self.folder / name
        recording = self.record(program, name=f"{name}.tar")
        replayed = self.run_well([tool("compile"), "-O2", recording], [tool("run")], [tool("verify")])
        lines = [json.loads(line) for line in replayed.out.splitlines()]
        self.assertEqual([line["status"] for line in lines], ["verified"] * kernels)
        listed = self.run_well([tool("extract-ir"), "--list", program]).out.decode().splitlines()
        self.assertEqual({line.split("\t")[3].partition("--")[2] for line in listed}, {processor})
        # The libraries' code for this processor is what was recorded: nothing is retargeted.
        self.run_well([tool("compile"), "--as-recorded", "--target", processor, "-o", self.folder / "own.tar", recording])

    def test_compiled_and_linked_at_once(self):
        for processor, *options in [["gfx1100"], ["gfx942"], ["gfx11-generic", "-mcode-object-version=6"]]:
            with self.subTest(processor):
                name = f"at_once_{processor}"
                self.inject(processor, *options, "-O2", PROGRAMS / "wave_operations.hip", "-o", name)
                self.check(name, processor, 1)
        made = list(self.own.glob("rocm-*"))
        if not (DISTRIBUTION / "oclc_isa_version_942.bc").exists():
            self.assertEqual(len(made), 1, "for all processors")
            self.assertTrue((made[0] / "oclc_isa_version_942.bc").is_file())

    def test_code_that_asks_for_the_processor(self):
        """What the made files have is used: code in the libraries depends on it."""
        for processor in ["gfx942", "gfx1100"]:
            with self.subTest(processor):
                self.inject(processor, "-O2", PROGRAMS / "math_exact.hip", "-o", f"asks_{processor}")
                self.run_well([tool("capture"), "--device", "host", "-o", self.folder / "asks.tar",
                               self.folder / f"asks_{processor}"])

    def test_clock_that_is_asked_for_by_a_message(self):
        self.inject("gfx1100", "-O2", PROGRAMS / "clock_rates.hip", "-o", "clock")
        self.check("clock", "gfx1100", 1)

    def test_units_linked(self):
        self.inject("gfx942", "-O2", "-c", PROGRAMS / "wave_operations.hip", "-o", "unit.o")
        self.inject("gfx942", "--hip-link", "unit.o", "-o", "linked")
        self.check("linked", "gfx942", 1)

    def test_relocatable_code(self):
        for unit in ("main", "scale"):
            self.inject("gfx1100", "-fgpu-rdc", "-O2", "-c", UNITS / f"{unit}.hip", "-o", f"{unit}.o")
        self.inject("gfx1100", "-fgpu-rdc", "--hip-link", "main.o", "scale.o", "-o", "relocatable")
        self.check("relocatable", "gfx1100", 3)

    def test_flags_for_build_systems(self):
        flags = run([tool("inject"), "--print-flags"], env=self.environment).out.decode().split()
        result = run(["clang++-19", *flags, "-x", "hip", "--offload-arch=gfx942", "-O1", "-c",
                      PROGRAMS / "wave_operations.hip", "-o", "by_flags.o"], cwd=self.folder)
        self.assertEqual(result.status, 0, result.text())

    def test_processors_that_the_libraries_have_need_nothing(self):
        empty = self.folder / "empty"
        empty.mkdir()
        result = run([tool("inject"), "clang++-19", "-x", "hip", "--offload-arch=gfx90a", "-O1", "-c",
                      PROGRAMS / "wave_operations.hip", "-o", "known.o"], cwd=self.folder, env={"XDG_CACHE_HOME": str(empty)})
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual(list(empty.glob("**/rocm-*")), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
