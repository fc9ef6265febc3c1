#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a replay runs is what the application ran: at the application's own level, the PTX that mneme-compile makes of a
recorded kernel is the application's own, instruction for instruction, and so is what ptxas makes of one that calls no functions and uses no variables.

Programs of tests/programs are built with a CUDA toolkit (no GPU is needed), and recorded on the host device. Compared
is what each recorded kernel's code reaches in either PTX: entries, functions and variables. By default that is some
programs at -O3, and a few at other levels and with other options; $MNEME_MATRIX=full takes all at all levels. Without
a toolkit the test says so, and is skipped.

    ptx_identity_test.py [PROGRAM…]     these programs, at all levels
"""

import os
import re
import sys
import unittest

import bundles
import cuda_test
from support import ROOT, tool

sys.path.insert(0, str(ROOT / "mneme-inject"))
import cuda_binaries  # noqa: E402

SKIPPED = 77
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Oz"]
AT_ALL_LEVELS = ["recursion"]
# What applications are compiled with that changes their code: it has to be in the recorded IR.
OPTIONS = ["-ffp-contract=off", "-ffast-math", "-fgpu-flush-denormals-to-zero", "-g"]
WITH_OPTIONS = "double_math"

# Programs that are linked by nvlink of several cubins have no PTX to compare with; and where functions have the loader's
# addresses, a replay's code has others.
NOT_COMPARED = {"-fgpu-rdc", "--cuda-noopt-device-debug"}
# Kernels of which PTX differs, and why. There are none.
PTX_DIFFERS = {}

# What begins a function or a variable at the outermost level.
BEGIN = re.compile(r"(?:\.(?:visible|weak|extern|common)\s+)*\.(?:entry|func|global|const|shared|alias)\b")

OTHERS = (".version", ".file", ".section")  # and what else does, but is not code: debuggers' tables, for one


def statements(ptx):
    """What stands at the outermost level of PTX: functions with their bodies, and variables."""
    found, depth = [], 0
    for line in re.sub(r"//[^\n]*", "", ptx).splitlines():
        line = line.strip()
        if depth == 0 and (BEGIN.match(line) or line.startswith(OTHERS)):
            found.append([])
        depth += line.count("{") - line.count("}")
        if found and line:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found if not lines[0].startswith(OTHERS)]


def name_of(statement):
    head = statement.split("\n{")[0]
    if re.search(r"\.(entry|func)\b", head):
        return re.search(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", head)[1]
    return re.search(r"([\w$]+)\s*(?:\[[\d]*\])*\s*(?:=|;)", statement)[1]


def normalised(statement):
    """Without what only counts functions, and the calls in them, from the top of the file."""
    statement = re.sub(r"\$L__BB\d+_", "$L__BB_", statement)
    statement = re.sub(r"\$L__(tmp|func_begin|func_end)\d+", r"$L__\1", statement)
    statement = re.sub(r"__local_depot\d+", "__local_depot", statement)
    prototypes = list(dict.fromkeys(re.findall(r"\bprototype_\d+", statement)))
    statement = re.sub(r"\bprototype_\d+", lambda match: f"prototype {prototypes.index(match[0])}", statement)
    return [" ".join(line.split()) for line in statement.splitlines() if line.strip()]


def with_file_names(ptx):
    """Lines of source are of files by name: their numbers count what else the application includes."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+(".*")', ptx, re.M))
    return re.sub(r"^(\s*\.loc\s+)(\d+)", lambda match: match[1] + files[match[2]], ptx, flags=re.M)


class Ptx:
    def __init__(self, text):
        text = with_file_names(text)
        self.by_name = {}
        for statement in statements(text):
            name = name_of(statement)
            is_declaration = "\n{" not in statement and re.search(r"\.func\b", statement)
            if not (is_declaration and name in self.by_name):
                self.by_name[name] = statement

    def reached(self, kernel):
        """{name: normalised statement} of what a kernel's code names, transitively."""
        found, pending = {}, [kernel]
        while pending:
            name = pending.pop()
            if name in found or name not in self.by_name:
                continue
            found[name] = normalised(self.by_name[name])
            pending += re.findall(r"(?<![.\w$])[\w$]+", self.by_name[name])
        return found

    def is_alone(self, kernel):
        """Whether it has nothing that lies elsewhere, with another number, where there are others' beside it: no function
        that is called, by name or through a pointer, and no variable."""
        return len(self.reached(kernel)) == 1 and ".callprototype" not in self.by_name[kernel]


def difference(own, compiled, kernel):
    """What differs between an application's PTX and a variant's; nothing if they are the same."""
    own, compiled = own.reached(kernel), compiled.reached(kernel)
    if not own or not compiled:
        return f"{kernel} is in {'neither' if not own and not compiled else 'one of them only'}"
    for name in sorted({*own, *compiled}):
        if name not in own or name not in compiled:
            return f"{name} is only in {'the application' if name in own else 'the variant'}"
        if own[name] != compiled[name]:
            pairs = zip([*own[name], "(end)"], [*compiled[name], "(end)"])
            return f"{name}: " + " <> ".join(next(pair for pair in pairs if pair[0] != pair[1]))
    return ""


def code(cubin, kernel):
    return cuda_binaries.Cubin(cubin).sections()[f".text.{kernel}"]


class PtxIdentity(cuda_test.CudaCase):
    def test_own_level(self):
        for name in sys.argv[1:] or [each for each in cuda_test.programs()
                                     if NOT_COMPARED.isdisjoint(cuda_test.sources_of(each)[1])]:
            everything = sys.argv[1:] or os.environ.get("MNEME_MATRIX") == "full" or name in AT_ALL_LEVELS
            for level in LEVELS if everything else ["-O3"]:
                with self.subTest(f"{name} {level}"):
                    self.check_identity(name, level)

    @unittest.skipIf(sys.argv[1:], "only the programs that are named")
    def test_own_options(self):
        for option in OPTIONS:
            with self.subTest(option):
                self.check_identity(WITH_OPTIONS, "-O3", option)

    def check_identity(self, name, level, *options):
        if (level, *options) == ("-O3",):
            program, recording = self.recorded(name)
        else:
            program = self.build_cuda(name, level, *options)
            recording = self.record(program, name="recording.tar", options=["--max-instances", "1"])
        own_ptx = Ptx("\n".join(text.rstrip(b"\0").decode() for text in cuda_binaries.ptx(program)))
        own_cubin, = (contents for kind, contents in cuda_binaries.entries(program) if kind == cuda_binaries.CUBIN)
        for kernel, ptx in self.compiled(recording, level, "none", "code.ptx"):
            with self.subTest(kernel):
                self.assertEqual(difference(own_ptx, Ptx(ptx.decode()), kernel), PTX_DIFFERS.get((name, kernel), ""))
        for kernel, cubin in self.compiled(recording, level, "ptxas", "code.cubin"):
            if own_ptx.is_alone(kernel):
                with self.subTest(f"ptxas {kernel}"):
                    self.assertEqual(code(cubin, kernel), code(own_cubin, kernel))

    @unittest.skipIf(sys.argv[1:], "only the programs that are named")
    def test_functions_are_where_they_were(self):
        """Pointers to functions in recorded memory lead to them whatever the level: the assembler numbers them, in code
        that calls little and in code that calls much."""
        for name in ["function_pointers", "virtual_functions"]:
            _, recording = self.recorded(name)
            kernels = map(bundles.parsed, (m for m in bundles.read(recording.read_bytes()) if m.name.endswith("/kernel.json")))
            places = {kernel["name"]: {a for a in kernel["function_addresses"] if a} for kernel in kernels
                      if any(kernel.get("function_addresses", []))}
            self.assertTrue(places, name)
            known = {}
            for level in ["-O0", "-O1", "-O3"]:
                for kernel, cubin in self.compiled(recording, level, "ptxas", "code.cubin"):
                    for function, place in cuda_binaries.Cubin(cubin).words("__mneme_address_").items():
                        with self.subTest(f"{name} {level} {kernel} {function}"):
                            self.assertIn(place, places[kernel])
                            self.assertEqual(known.setdefault((kernel, function), place), place)

    def compiled(self, recording, level, assembler, file):
        """(name, code) of each kernel."""
        bundle = bundles.read(self.run_well([tool("compile"), level, "--target", cuda_test.PROCESSOR,
                                             "--assembler", assembler, recording]).out)
        names = {kernel["id"]: kernel["name"] for kernel in map(bundles.parsed, (
            member for member in bundle if member.name.endswith("/kernel.json")))}
        codes = [(names[member.name.split("/")[1]], member.data) for member in bundle if member.name.endswith(file)]
        self.assertEqual(sorted(name for name, _ in codes), sorted(names.values()))
        return codes


if __name__ == "__main__":
    if not cuda_test.has_toolkit():
        print("PTX was not compared: there is no CUDA toolkit that mneme-inject finds")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0]], verbosity=2)
