#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --check finds in kernels with faults, and that it finds nothing in the same kernels without."""

import json
import re
import unittest
from xml.etree import ElementTree

import bundles
from support import PROGRAMS, TestCase, run, tool

RACES = PROGRAMS / "faults" / "races.hip"


def lines_of(source, case):
    """The lines that the comments FIRST and SECOND mark."""
    marks = {}
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if found := re.search(rf"// (FIRST|SECOND) {case}$", line):
            marks[found[1]] = f"{source.name}:{number}"
    return sorted({marks["FIRST"], marks.get("SECOND", marks["FIRST"])})


class Races(TestCase):
    # By what is found: the kind, and whether it is lesser.
    CASES = {
        "reverse": ("write-read", False),
        "rounds": ("read-write", False),
        "bytes": ("write-read", False),
        "neighbours": ("write-read", False),
        "count": ("write-read", False),
        "last_block": ("write-read", False),
        "last_block_of_all": ("write-read", False),
        "locked": ("write-read", False),
        "look_back": ("write-read", False),
        "equal_values": ("equal-values", True),
        "in_step": ("warp-synchronous", True),
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build(RACES, "races", "-O1", "-g")

    def captured(self, *words, check="races"):
        return run([tool("capture"), "--device", "host", "--max-instances", "0", "--check", check, *words])

    def findings(self, bundle, *options):
        result = self.run_well([tool("run"), "--check", "races", "--warmup", "0", "--iterations", "1", *options, bundle])
        runs = [bundles.parsed(m) for m in bundles.read(result.out) if m.name.startswith("runs/")]
        return [finding for line in runs for finding in line.get("findings", [])], result

    def test_found_while_an_application_runs(self):
        for case, (kind, lesser) in self.CASES.items():
            with self.subTest(case):
                result = self.captured(self.program, case, "bad")
                self.assertEqual(result.status, 0 if lesser else 1, result.text())
                for line in lines_of(RACES, case):
                    self.assertIn(line, result.error)
                self.assertRegex(result.error, rf"mneme: races{' .lesser.' if lesser else ''}: kernel '.*{case}<.*', "
                                 r"block \(\d, 0, 0\), thread \(\d+, 0, 0\): (reads|writes) ")

    def test_nothing_is_found_in_what_is_right(self):
        for case in self.CASES:
            with self.subTest(case):
                result = self.captured(self.program, case, "well")
                self.assertEqual((result.status, result.error), (0, ""), result.text())

    def test_found_in_a_recording(self):
        for case, (kind, lesser) in self.CASES.items():
            with self.subTest(case):
                bundle = self.record(self.program, case, "bad", name=f"{case}.tar")
                findings, result = self.findings(bundle)
                pairs = [(f["kind"], sorted({f["line"], f.get("other", f["line"])}), f.get("lesser", False))
                         for f in findings]
                self.assertIn((kind, lines_of(RACES, case), lesser), pairs, result.text())
                self.assertIn("races", result.error)

    def test_verify_judges(self):
        bundle = self.record(self.program, "reverse", "bad", name="judged.tar")
        report = self.folder / "report.xml"
        stages = [[tool("run"), "--check", "races", bundle], [tool("verify"), "--junit", report]]
        result = run(*stages)
        self.assertEqual(result.status, 1, result.text())
        lines = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertEqual([line["verified"] for line in lines], [False])
        self.assertEqual(lines[0]["findings"][0]["check"], "races")
        self.assertIn("unordered with", ElementTree.parse(report).getroot().find(".//failure").get("message"))
        table = run(stages[0], [tool("verify"), "--format", "table"])
        self.assertIn("unordered with", table.out.decode())

        known = self.folder / "known"
        known.write_text("# known\nraces *reverse* races.hip:*\n")
        for last in [["--suppress", known], []]:
            first = ["--suppress", known] if not last else []
            with self.subTest(last=last):
                result = run([tool("run"), "--check", "races", *first, bundle], [tool("verify"), *last])
                self.assertEqual(result.status, 0, result.text())
        known.write_text("races *\n")
        result = run([tool("run"), "--suppress", known, bundle])
        self.assertEqual(result.status, 2)
        self.assertRegex(result.error, "error: line 1 of .* is not a check")

    def test_suppressed_while_an_application_runs(self):
        known = self.folder / "known_here"
        known.write_text("races *count* *\n")
        result = run([tool("capture"), "--device", "host", "--max-instances", "0", "--check", "races", "--suppress", known,
                      self.program, "count", "bad"])
        self.assertEqual((result.status, result.error), (0, ""), result.text())
        result = run([tool("capture"), "--device", "host", "--max-instances", "0", "--check", "races",
                      "--warp-synchronous", self.program, "in_step", "bad"])
        self.assertEqual((result.status, result.error), (0, ""), result.text())

    def test_bad_usage(self):
        result = run([tool("run"), "--check", "race"], input=b"")
        self.assertRegex(result.error, "error: --check takes all, or some of memory,init,nan,races,sync, not 'race'")
        self.assertEqual(result.status, 2)
        result = self.captured(self.program, "count", "well", check="3")
        self.assertRegex(result.error, "error: --check with a number needs --apply")
        bundle = self.record(self.program, "count", "well", name="well.tar")
        result = run([tool("compile"), "--check", "races", "--target", "gfx90a", bundle])
        self.assertRegex(result.error, "--check is for the host device, not for --target")


if __name__ == "__main__":
    unittest.main(verbosity=2)
