#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relocatable device code (-fgpu-rdc): kernels whose code is spread over translation units are recordable."""

import json
import unittest

from support import PROGRAMS, TestCase, run, tool

UNITS = PROGRAMS / "relocatable"
COMPILER = [tool("inject"), "clang++-19", "--offload-arch=gfx90a", "-fgpu-rdc"]


class Relocatable(TestCase):
    def well(self, *command):
        result = run(command, cwd=self.folder)
        self.assertEqual(result.status, 0, result.text())
        return result

    def compile_units(self, level):
        for unit in ("main", "scale"):
            self.well(*COMPILER, "-x", "hip", level, "-c", UNITS / f"{unit}.hip", "-o", f"{unit}.o")

    def check(self, program):
        """Runs, records and replays: three kernels, two of them of the same name."""
        self.assertEqual(self.well(tool("capture"), "--device", "host", "--max-instances", "0", program).status, 0)
        recording = self.record(program, name=f"{program.name}.tar")
        result = run([tool("compile"), "-O2", recording], [tool("run")], [tool("verify")])
        self.assertEqual(result.statuses, [0, 0, 0], result.text())
        lines = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([line["status"] for line in lines], ["verified"] * 3)

    def test_units_linked(self):
        for level in ("-O0", "-O3"):
            self.compile_units(level)
            linked = self.well(*COMPILER, "--hip-link", "main.o", "scale.o", "-o", f"linked{level}")
            self.assertEqual(linked.error, "")
            self.check(self.folder / f"linked{level}")

    def test_one_command(self):
        self.well(*COMPILER, "-x", "hip", "-O2", UNITS / "main.hip", UNITS / "scale.hip", "-o", "at-once")
        self.check(self.folder / "at-once")

    def test_static_library(self):
        self.compile_units("-O2")
        self.well("ar", "rcs", "libscale.a", "scale.o")
        self.well(*COMPILER, "--hip-link", "main.o", "libscale.a", "-o", "with-library")
        self.check(self.folder / "with-library")

    def test_nothing_was_changed(self):
        """Linking numbers types without a name anew, the device library's say, and makes one of two that are alike."""
        for program in ("device_heap", "virtual_functions"):
            for options in (["-O2"], ["-O1", "-g"]):
                self.well(*COMPILER, "-x", "hip", *options, "-c", PROGRAMS / f"{program}.hip", "-o", "one.o")
                self.assertEqual(self.well(*COMPILER, "--hip-link", "one.o", "-o", "one").error, "", (program, options))

    def test_a_unit_without_ir_is_recorded_as_it_is_linked(self):
        self.compile_units("-O2")
        plain = [word for word in COMPILER[1:]]
        self.well(*plain, "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "-x", "hip", "-O2", "-c",
                  UNITS / "scale.hip", "-o", "scale.o")
        linked = self.well(*COMPILER, "--hip-link", "main.o", "scale.o", "-o", "partly")
        self.assertIn("some of it was compiled without mneme-inject", linked.error)
        self.check(self.folder / "partly")


if __name__ == "__main__":
    unittest.main(verbosity=2)
