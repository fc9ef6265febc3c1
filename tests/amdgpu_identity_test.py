#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a replay on an AMD GPU would run is what the application runs there: at the application's own level, the code
object that mneme-compile makes of a recorded kernel has the application's own code for it, instruction for instruction.

Compared is what each recorded kernel of tests/programs leads to in the application's code object and in the variant's:
its descriptor, functions and variables, by llvm-objdump, and apart from where they lie. By default that is all programs
at -O3, and one at the other levels; $MNEME_MATRIX=full takes all at all levels.

Each program is also compiled for another of AMD's GPUs, in turn; with $MNEME_MATRIX=full, for all. What cannot become
code for one is listed, with the reason that mneme-compile has to give.

    amdgpu_identity_test.py [PROGRAM…]     these programs, at all levels and for all GPUs
"""

import json
import os
import pathlib
import re
import sys
import unittest

import bundles
from code_objects import CodeObject, in_program
from recordings import program_of, recording_of
from support import PROGRAMS, TestCase, tool

OWN = "gfx90a"
OTHERS = ["gfx900", "gfx906:sramecc+:xnack-", "gfx908:xnack+", "gfx940", "gfx942", "gfx1030", "gfx1100", "gfx9-generic",
          "gfx10-3-generic", "gfx11-generic"]
LEVELS = ["-O0", "-O1", "-O2", "-Os", "-Oz"]
AT_ALL_LEVELS = ["recursion"]

# Functions that are called from one place are inlined into it, however large. In a recording there is one kernel, so
# that may be said there of functions that several kernels of the application call.
SHARED_FUNCTION = "it calls a function that other kernels call, too"
DIFFERS = {}

# By program, the kernels' names and what mneme-compile says: all are of instructions that only some GPUs have.
REFUSED = {
}

NO_PROGRAM_KERNELS = {"runtime_compilation"}  # compiled while the program runs: their code is in no file


def everything():
    return sys.argv[1:] or os.environ.get("MNEME_MATRIX") == "full"


def programs():
    return sys.argv[1:] or sorted(source.stem for source in PROGRAMS.glob("*.hip"))


def others(name):
    return OTHERS if everything() else [OTHERS[sum(name.encode()) % len(OTHERS)]]


class Identity(TestCase):
    def compiled(self, recording, lines):
        """{(kernel's name, line): (demangled name, code or None, why not)}; lines are configurations."""
        file = self.folder / "variants.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        bundle = bundles.read(self.run_well([tool("compile"), "--variants", file, recording]).out)
        members = {member.name: member.data for member in bundle}
        kernels, found = {}, {}
        for name, data in members.items():
            if name.endswith("/kernel.json"):
                kernel = json.loads(data)
                kernels[kernel["id"]] = kernel
            if name.endswith("/variant.json"):
                variant = json.loads(data)
                if "failed" not in variant:
                    holder = name.replace(variant["id"], variant.get("same_as", variant["id"]))
                    variant["bytes"] = members[str(pathlib.PurePath(holder).with_name(variant["code"]))]
                number = next(i for i, line in enumerate(lines) if all(
                    variant["configuration"][key] == ("hip:" + value if key == "target" else value)
                    for key, value in line.items()))
                kernel = kernels[variant["kernel"]]
                found[kernel["name"], number] = (kernel["demangled"], variant)
        return found

    def differing(self, name, program, variants):
        """{kernel: how it differs}, and counts all in self.counted."""
        own, found = in_program(program), {}
        for (kernel, number), (_, variant) in variants.items():
            if number:
                continue
            mine = CodeObject(variant["bytes"]).listing(kernel)
            theirs = [listing for listing in (each.listing(kernel) for each in own) if listing]
            self.assertTrue(theirs or name in NO_PROGRAM_KERNELS, f"the program has no {kernel}")
            if not theirs:
                continue
            self.counted[0] += 1
            if mine in theirs:
                self.counted[1] += 1
            else:
                pairs = zip([*theirs[0], "(end)"], [*mine, "(end)"])
                found[kernel] = " <> ".join(next(pair for pair in pairs if pair[0] != pair[1]))
        return found

    counted = [0, 0]

    def test_own_level(self):
        for name in programs():
            with self.subTest(name):
                source = PROGRAMS / f"{name}.hip"
                lines = [{"target": target, "passes": "default<O3>"} for target in [OWN, *others(name)]]
                variants = self.compiled(recording_of(source, self), lines)
                differing = self.differing(name, program_of(source, self), variants)
                self.assertEqual(set(differing), set(DIFFERS.get(name, [])), differing)
                self.check_refusals(name, variants, lines)
        print(f"{self.counted[1]} of {self.counted[0]} kernels have the application's own code")

    def check_refusals(self, name, variants, lines):
        for (_, number), (demangled, variant) in variants.items():
            if "failed" not in variant:
                continue
            with self.subTest(f"{demangled} {lines[number]['target']}"):
                reasons = [reason for part, reason in REFUSED.get(name, {}).items() if part in demangled]
                self.assertTrue(reasons, variant["failed"])
                self.assertRegex(variant["failed"], "|".join(reasons))
                self.assertIn(demangled, variant["failed"])

    def test_other_levels(self):
        for name in programs():
            for level in LEVELS if everything() or name in AT_ALL_LEVELS else []:
                with self.subTest(f"{name} {level}"):
                    program = self.build(PROGRAMS / f"{name}.hip", f"{name}{level}", level)
                    recording = self.record(program)
                    codegen = int(level[2]) if level[2].isdigit() else 2
                    line = {"target": OWN, "passes": f"default<{level[1:]}>", "codegen_opt": codegen}
                    self.assertEqual(self.differing(name, program, self.compiled(recording, [line])), {})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
