#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was changed must not verify: a byte of the epilogue, an instruction of the IR, a word of an argument. Exit status
1, and the report names the segment and the offset. (Each program's pipeline test changes its epilogue as well.)"""

import collections
import json
import re
import struct
import unittest

from support import PROGRAMS, TestCase, run, tool
from tampering import Recording, pattern_of

# An instruction of a kernel: what to look for in the IR, once, and what to put there.
Instruction = collections.namedtuple("Instruction", "program kernel find put")
INSTRUCTIONS = [
    Instruction("vector_add", "vector_add", r"fadd contract float", "fsub contract float"),
    Instruction("tree_reduction", "tree_reduction", r"fadd contract double", "fsub contract double"),
    Instruction("histogram", "histogram", r"atomicrmw add ptr", "atomicrmw xor ptr"),
    Instruction("spmv_csr", "spmv_csr", r"fmul contract (float|double)", r"fadd contract \1"),
]

# A word of an argument: a kernel's scalar, at its offset among the argument bytes.
Word = collections.namedtuple("Word", "program kernel offset value")
WORDS = [
    Word("vector_add", "vector_add", 24, struct.pack("<i", 50000)),
    Word("stencil_2d", "heat_step", 24, struct.pack("<f", 0.25)),
    Word("tree_reduction", "tree_reduction", 16, struct.pack("<i", 100)),
    Word("histogram", "histogram", 8, struct.pack("<i", 200000)),
]


class Tamper(TestCase):
    recordings = {}

    def recording(self, program):
        if program not in self.recordings:
            built = self.build(PROGRAMS / f"{program}.hip")
            self.recordings[program] = Recording(self.record(built, name=f"{program}.tar").read_bytes())
        return self.recordings[program]

    def reasons(self, compile_options, bundle, options=()):
        """Replays; the reasons of the verdicts that say no: in the report's lines, or in the table."""
        result = run([tool("compile"), *compile_options], [tool("run")], [tool("verify"), *options], input=bundle)
        self.assertEqual(result.statuses, [0, 0, 1], result.text() + result.out.decode())
        if options:
            return result.out.decode()
        report = [json.loads(line) for line in result.out.decode().splitlines()]
        wrong = [line for line in report if line["status"] != "verified"]
        self.assertTrue(wrong)
        return "\n".join(str(line) for line in wrong)

    def test_epilogue(self):
        for program in ["vector_add", "tree_reduction", "device_globals", "linked_list"]:
            recording = self.recording(program)
            bundle, address, offset = recording.with_changed_epilogue(recording.instances[-1])
            with self.subTest(program):
                self.assertRegex(self.reasons(["-O2"], bundle), pattern_of(address, offset))
                self.assertRegex(self.reasons(["-O2"], bundle, ["--format", "table"]), pattern_of(address, offset))

    def test_instruction(self):
        for program, kernel, find, put in INSTRUCTIONS:
            with self.subTest(program):
                recording = self.recording(program)
                selected = ["--kernel", rf"^{kernel}\b"]
                text = self.run_well([tool("extract-ir"), "-S", *selected], input=recording.archive).out.decode()
                changed, count = re.subn(find, put, text, count=1)
                self.assertEqual(count, 1, text)
                (self.folder / "changed.ll").write_text(changed)
                (self.folder / "same.ll").write_text(text)
                same = [tool("compile"), "-O2", *selected, "--ir", self.folder / "same.ll"]
                self.run_well(same, [tool("run")], [tool("verify"), *selected], input=recording.archive)
                reasons = self.reasons(["-O2", *selected, "--ir", self.folder / "changed.ll"], recording.archive)
                self.assertRegex(reasons, r"0x[46]0{3}[0-9a-f]{8}\b.*\d")

    def test_word_of_an_argument(self):
        for program, kernel, offset, value in WORDS:
            with self.subTest(program):
                recording = self.recording(program)
                index = recording.instance_of(kernel)
                bundle = recording.with_changed_argument(index, offset, value)
                reasons = self.reasons(["-O2"], bundle)
                self.assertRegex(reasons, r"0x[46]0{3}[0-9a-f]{8}\b.*\d")

    def test_word_of_an_argument_names_the_very_byte(self):
        recording = self.recording("vector_add")
        index = recording.instance_of("vector_add")
        bundle = recording.with_changed_argument(index, 24, struct.pack("<i", 50000))
        segment = [a for a, (before, after) in recording.memory(index).items() if before != after]
        self.assertEqual(len(segment), 1)
        before, after = recording.memory(index)[segment[0]]
        first = next(i for i in range(4 * 50000, len(after)) if before[i] != after[i])
        self.assertRegex(self.reasons(["-O2"], bundle), pattern_of(segment[0], first))


if __name__ == "__main__":
    unittest.main(verbosity=2)
