#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults planted in copies of the test programs (tests/checks/faults.py): --check all finds each, at its line, and
nothing in the programs as they are.

With --sample, some. With names of programs, theirs.
"""

import concurrent.futures
import functools
import os
import re
import sys
import unittest

from checks.faults import FAULTS, SAMPLE
from cuda_test import HEADERS, PROCESSOR, has_toolkit
from support import PROGRAMS, TestCase, run, tool

AT_ONCE = min(4, os.cpu_count() or 1)
SECONDS = 120  # that a mutant may take: some wait for what does not come
# Findings in programs as they are: real ones, by check and a text of the source line.
REAL = {}


class Mutants(TestCase):
    faults = FAULTS

    @functools.cache
    def findings(self, name, cuda, text):
        """(check, numbers of lines) of each finding of a program with this text."""
        folder = self.folder / f"{abs(hash((name, cuda, text)))}"
        folder.mkdir()
        source, program = folder / f"{name}.hip", folder / "program"
        source.write_text(text)
        options = ["-O1", "-g", "-w", "-std=c++17", "-I", PROGRAMS, source, "-o", program]
        if cuda:
            options = ["-x", "cuda", f"--offload-arch={PROCESSOR}", "-I", HEADERS, *options]
        else:
            options = ["-x", "hip", "--offload-arch=gfx90a", *options]
        built = run([tool("inject"), "clang++-19", *options])
        self.assertEqual(built.status, 0, built.text())
        result = run([tool("capture"), "--device", "host", "--max-instances", "0", "--check", "all",
                      "timeout", str(SECONDS), program], timeout=2 * SECONDS)
        found = []
        for line in result.error.splitlines():
            check = re.search(r"\b(races|init|sync|nan)(?: \(lesser\))?: kernel '", line)
            faulted = re.search(r"kernel '.*', block \(.*, thread \(.*: (reads|writes|updates) ", line)
            kind = check[1] if check else "memory" if faulted else None
            if kind:
                places = re.findall(rf"{re.escape(source.name)}:(\d+)", line)
                found.append((kind, tuple(map(int, places)), line))
        self.assertNotIn("cannot be compiled", result.error, result.text())
        return tuple(found)

    def check_fault(self, fault):
        text = (PROGRAMS / f"{fault.program}.hip").read_text()
        planted = fault.planted(text)
        lines = fault.lines(planted)
        found = self.findings(fault.program, fault.cuda, planted)
        # Memory checks name no line.
        if not any(check == fault.check and (check == "memory" or set(places) & set(lines))
                   for check, places, _ in found):
            return f"{fault.name}: not found by {fault.check} at {lines}: {found}"
        return None

    def check_program(self, name, cuda):
        found = self.findings(name, cuda, (PROGRAMS / f"{name}.hip").read_text())
        found = [line for check, _, line in found if check not in REAL.get(name, ()) and "(lesser)" not in line]
        return f"{name}{' as CUDA' if cuda else ''}: {found}" if found else None

    def test_planted_faults_are_found(self):
        faults = [fault for fault in self.faults if not fault.cuda or has_toolkit()]
        programs = sorted({(fault.program, fault.cuda) for fault in faults})
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            missed = list(filter(None, pool.map(self.check_fault, faults)))
            alarms = list(filter(None, pool.map(lambda program: self.check_program(*program), programs)))
        print(f"{len(faults) - len(missed)} of {len(faults)} planted faults found, "
              f"{len(alarms)} of {len(programs)} programs with findings as they are")
        self.assertEqual((missed, alarms), ([], []), "\n".join(["", *missed, *alarms]))


if __name__ == "__main__":
    names = {word for word in sys.argv[1:] if not word.startswith("-")}
    if "--sample" in sys.argv:
        Mutants.faults = SAMPLE
    elif names:
        Mutants.faults = [fault for fault in FAULTS if fault.program in names]
    unittest.main(argv=sys.argv[:1], verbosity=2)
