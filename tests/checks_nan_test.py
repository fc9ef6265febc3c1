#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--check nan: operations that make NaNs and infinities are found with their lines and operands, and nothing else is."""

import re
import unittest

import bundles
from support import PROGRAMS, TestCase, run, tool

SOURCE = PROGRAMS / "faults" / "nan.hip"


def line_of(case):
    return next(f"{SOURCE.name}:{number}" for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
                if line.endswith(f"// FOUND {case}"))


class Nan(TestCase):
    # Kind, what the sentence has, and how often.
    CASES = {
        "divided": ("infinity", "1 / 0 is infinite", 1),
        "invalid": ("nan", "0 / 0 is a NaN", 32),
        "logarithm": ("nan", "log(-3.5) is a NaN", 4),
        "root": ("nan", "sqrt(-1.5) is a NaN", 2),
        "overflow": ("infinity", "exp(100) is infinite", 24),
        "rounded": ("infinity", "rounding(4e+38) is infinite", 29),
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = {level: cls.build(SOURCE, f"nan{level}", level, "-g") for level in ["-O0", "-O2"]}

    def test_found_while_an_application_runs(self):
        for level, program in self.programs.items():
            for case, (_, text, _) in self.CASES.items():
                with self.subTest(case, level=level):
                    result = run([tool("capture"), "--device", "host", "--max-instances", "0", "--check", "nan", program,
                                  case])
                    self.assertEqual(result.status, 1, result.text())
                    self.assertRegex(result.error, rf"mneme: nan: kernel '{case}\(.*\)', block \(0, 0, 0\), thread "
                                     rf"\(\d+, 0, 0\): {re.escape(text)}, at {re.escape(line_of(case))}")

    def test_found_in_a_recording(self):
        for case, (kind, text, count) in self.CASES.items():
            with self.subTest(case):
                bundle = self.record(self.programs["-O2"], case, name=f"{case}.tar")
                result = self.run_well([tool("run"), "--check", "nan", "--warmup", "0", "--iterations", "1", bundle])
                found = [finding for m in bundles.read(result.out) if m.name.startswith("runs/")
                         for finding in bundles.parsed(m).get("findings", [])]
                self.assertEqual([(f["check"], f["kind"], f["line"], f.get("count", 1)) for f in found],
                                 [("nan", kind, line_of(case), count)], result.text())
                self.assertIn(text, found[0]["sentence"])
                judged = run([tool("verify")], input=result.out)
                self.assertEqual(judged.status, 1, judged.text())

    def test_silent(self):
        for level, program in self.programs.items():
            result = run([tool("capture"), "--device", "host", "--max-instances", "0", "--check", "nan", program, "silent"])
            self.assertEqual((result.status, result.error), (0, ""), result.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
