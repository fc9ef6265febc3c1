#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mathematical functions of the host device: their accuracy, and that every optimisation level and processor gives
the same bits."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import support
from support import tool

SOURCE = pathlib.Path(__file__).resolve().parent / "accuracy.hip"


class Accuracy(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build(SOURCE, "accuracy", "-O2", "-std=c++17", "-lmpfr", "-lgmp")

    def test_within_the_documented_bounds(self):
        result = self.run_well([tool("capture"), "--device", "host", "--max-instances", "0", self.program])
        self.assertIn("accuracy: ok", result.out.decode() + result.error)

    def test_same_bits_everywhere(self):
        bundle = self.record(self.program, options=("--max-instances", "1"))
        for compile in (["-O0"], ["-O3", "--target", "host:x86-64-v2"]):
            self.run_well([tool("compile"), *compile, bundle], [tool("run")], [tool("verify")])


if __name__ == "__main__":
    unittest.main()
