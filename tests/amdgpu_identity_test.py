#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a replay on an AMD GPU would run is what the application runs there: at the application's own level, the code
object that mneme-compile makes of a recorded kernel has the application's own code for it, instruction for instruction.

Compared is what each recorded kernel of tests/programs leads to in the application's code object and in the variant's:
its descriptor, functions and variables, by llvm-objdump, and apart from where they lie. By default that is all programs
at -O3, and one at the other levels; $MNEME_MATRIX=full takes all at all levels.

Every other program is also compiled for another of AMD's GPUs, in turn; with $MNEME_MATRIX=full, each for all. What
cannot become code for one is listed, with the reason that mneme-compile has to give.

    amdgpu_identity_test.py [PROGRAM…]     these programs, at all levels and for all GPUs
"""

import concurrent.futures
import json
import os
import pathlib
import sys
import unittest

import bundles
from code_objects import CodeObject, in_program
from recordings import program_of, recording_of
from support import BUILD, PROGRAMS, TestCase, tool

OWN = "gfx90a"
OTHERS = ["gfx900", "gfx906:sramecc+:xnack-", "gfx908:xnack+", "gfx940", "gfx942", "gfx1030", "gfx1100", "gfx9-generic",
          "gfx10-3-generic", "gfx11-generic"]
LEVELS = ["-O0", "-O1", "-O2", "-Os", "-Oz"]
AT_ALL_LEVELS = ["recursion"]

# Kernels of which the code differs, and why: what LLVM decides for a whole unit it decides there for all kernels of the
# application, and in a recording for the one.
LAID_OUT_TOGETHER = "what functions that are called through pointers have of shared memory is laid out for all kernels"
MOST_REGISTERS = "a call through a pointer may take as many registers as any function of the unit does"
ONE_CALLER = "a function's arguments are constant where no other kernel calls it with others"
ONE_CALL = "a function that is called in one place is inlined there, and one that other kernels call, too, is not"
LOADED_BEFORE = "a store to a variable waits for what a kernel before it in the unit has loaded from there"
DIFFERS = {
    "barrier_in_virtual": {"_Z9summarisePKiPi": LAID_OUT_TOGETHER, "_Z11apply_stepsPKP4StepPi": LAID_OUT_TOGETHER},
    "device_heap": {"_Z4thinPP4Nodei": ONE_CALLER},
    "device_new": {"_Z7measurePKP5ShapePii": MOST_REGISTERS, "_Z7destroyPP5Shapei": MOST_REGISTERS},
    "variable_ring": {"_Z10turn_roundv": LOADED_BEFORE},
}

AT_OTHER_LEVELS = {
    ("barrier_in_recursion", "-O0"): {"_Z6rotatePii": MOST_REGISTERS},
    ("cooperative_groups", "-Oz"): {"_Z8exchangePKiPi": ONE_CALL, "_Z9sum_tilesILj16EEvPKiPiS2_": ONE_CALL},
    ("function_pointers", "-O0"): {"_Z4callPKPFiiEPKiPii": MOST_REGISTERS, "_Z5applyPFiiEPKiPii": MOST_REGISTERS,
                                   "_Z7compose5ApplyPKiPii": MOST_REGISTERS},
    ("grid_sync", "-Oz"): {"_Z5totalPKiiPx": ONE_CALL},
    ("indirect_calls", "-O0"): {"_Z8evaluatePKP5ShapePKfPfi": MOST_REGISTERS},
    ("recursion", "-O0"): {"_Z7recurseP6Resulti": MOST_REGISTERS},
    ("virtual_functions", "-O0"): {"_Z5stepsPi": MOST_REGISTERS, "_Z5climbPK4TreePii": MOST_REGISTERS},
    ("wave_reductions", "-Oz"): {"_Z5totalPKiPii": ONE_CALL},
    ("wave_shuffles", "-Oz"): {f"_Z11shuffle_allI{of}EvPKT_PS0_ibPi": ONE_CALL for of in "dfijlmxy"},
    **{("virtual_functions", level): {"_Z5stepsPi": MOST_REGISTERS} for level in ["-O1", "-Os", "-Oz"]},
}

# What mneme-compile says of programs with kernels that cannot become code for some GPUs.
NO_IMAGES = "that GPU has no instructions for images"
OF_IMAGES = f"{NO_IMAGES}|the descriptors of images that it uses have another form in each generation"
OF_BUFFERS = "the descriptors of buffers that it uses have another form in each generation"
OF_HALVES = r"moves data across a wave of 64 by llvm.amdgcn.ds.b?permute, which reaches half of one there"
OF_ROWS = rf"the DPP control 0x142, which only gfx9 has|{OF_HALVES}"
REFUSED = {
    "assembly_control": OF_BUFFERS,
    "bit_functions": r"no instruction for llvm.amdgcn.sdot[24]",
    "cooperative_groups": OF_HALVES,
    "device_heap": OF_HALVES,
    "device_new": OF_HALVES,
    "inline_assembly": r"instruction not supported on this GPU",
    "lane_functions": OF_HALVES,
    "launch_intrinsics": r"llvm.amdgcn.s.getreg takes a number there that means something else",
    "matrix_cores": r"no instruction for llvm.amdgcn.mfma",
    "packed_math": r"no instruction for FDOT2",
    "rocprim_block": OF_ROWS,
    "rocprim_reduce_select": OF_ROWS,
    "rocprim_scan_sort": OF_ROWS,
    "shuffle_forms": r"the DPP control 0x130, which only gfx9 has",
    "surfaces": OF_IMAGES,
    "texture_filters": OF_IMAGES,
    "texture_formats": f"{OF_IMAGES}|{OF_BUFFERS}",
    "texture_levels": OF_IMAGES,
    "texture_references": f"{OF_IMAGES}|{OF_BUFFERS}",
    "texture_volumes": OF_IMAGES,
    "wait_for_blocks": OF_HALVES,
    "wave_operations": OF_HALVES,
    "wave_reductions": OF_HALVES,
    "wave_shuffles": OF_HALVES,
}

COMPILED_AT_RUN_TIME = {"runtime_compilation"}  # their code is in no file


def everything():
    return sys.argv[1:] or os.environ.get("MNEME_MATRIX") == "full"


def programs():
    return sys.argv[1:] or sorted(source.stem for source in PROGRAMS.glob("*.hip"))


def others(name):
    turn = sum(name.encode()) % (2 * len(OTHERS))
    return OTHERS if everything() else OTHERS[turn:turn + 1]


def recorded_kernels(bundle):
    """{(name, IR)} of the kernels in it."""
    members = {member.name: member.data for member in bundles.read(bundle)}
    return {(json.loads(data)["name"], members[str(pathlib.PurePath(name).with_name("kernel.bc"))])
            for name, data in members.items() if name.endswith("/kernel.json")}


class Identity(TestCase):
    def compiled(self, name, recording, lines):
        """{(kernel's name, line): (demangled name, variant with its code)}; lines are configurations."""
        file = self.folder / f"{name}.jsonl"
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
        """{kernel: how it differs, or nothing}."""
        own, found = in_program(program), {}
        # What the unit has to itself, or hidden, the variant exports: a replay has to find it.
        names = set().union(*(each.exported() for each in own))
        for (kernel, number), (_, variant) in variants.items():
            theirs = [listing for listing in (each.listing(kernel, names) for each in own) if listing] if number == 0 else []
            self.assertTrue(theirs or number or name in COMPILED_AT_RUN_TIME, f"the program has no {kernel}")
            if theirs:
                mine = CodeObject(variant["bytes"]).listing(kernel, names)
                pairs = zip([*theirs[0], "(end)"], [*mine, "(end)"])
                found[kernel] = "" if mine in theirs else " <> ".join(next(pair for pair in pairs if pair[0] != pair[1]))
        return found

    def compare(self, name):
        source = PROGRAMS / f"{name}.hip"
        lines = [{"target": target, "passes": "default<O3>"} for target in [OWN, *others(name)]]
        variants = self.compiled(name, recording_of(source, self), lines)
        return name, lines, variants, self.differing(name, program_of(source, self), variants)

    def test_own_level(self):
        for name in programs():
            recording_of(PROGRAMS / f"{name}.hip", self)  # makes them one by one where they are not there
        total = same = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, lines, variants, listed in pool.map(self.compare, programs()):
                differing = {kernel: how for kernel, how in listed.items() if how}
                total, same = total + len(listed), same + len(listed) - len(differing)
                with self.subTest(name):
                    self.assertEqual(set(differing), set(DIFFERS.get(name, [])), differing)
                self.check_others(name, variants, lines)
        print(f"{same} of {total} kernels have the application's own code")

    def test_recorded_as_embedded(self):
        """What is recorded of a kernel is the IR in the application's code object, byte for byte, so that other tests may
        take it there and run nothing."""
        compared = 0
        for name in programs():
            source, embedded = PROGRAMS / f"{name}.hip", set()
            recorded = recorded_kernels(recording_of(source, self).read_bytes())
            for code in in_program(program_of(source, self)):
                embedded |= recorded_kernels(self.run_well([BUILD / "tests" / "kernel_bundle"], input=code.data).out)
            compared += len(recorded & embedded)
            if name not in COMPILED_AT_RUN_TIME:
                with self.subTest(name):
                    self.assertEqual({kernel for kernel, _ in recorded - embedded}, set())
        self.assertGreater(compared, 0)

    def check_others(self, name, variants, lines):
        """Code for other processors has their instructions only, or is refused for a reason that is known."""
        for (_, number), (demangled, variant) in variants.items():
            with self.subTest(f"{demangled} {lines[number]['target']}"):
                if "failed" not in variant:
                    self.assertEqual(CodeObject(variant["bytes"]).unknown(), [])
                    continue
                self.assertIn(name, REFUSED, variant["failed"])
                self.assertRegex(variant["failed"], REFUSED[name])
                self.assertIn(demangled, variant["failed"])

    def test_other_levels(self):
        for name in programs():
            for level in LEVELS if everything() or name in AT_ALL_LEVELS else []:
                with self.subTest(f"{name} {level}"):
                    program = self.build(PROGRAMS / f"{name}.hip", f"{name}{level}", level)
                    recording = self.record(program)
                    codegen = int(level[2]) if level[2].isdigit() else 2
                    line = {"target": OWN, "passes": f"default<{level[1:]}>", "codegen_opt": codegen}
                    listed = self.differing(name, program, self.compiled(name, recording, [line]))
                    differing = {kernel: how for kernel, how in listed.items() if how}
                    self.assertLessEqual(set(differing), {*DIFFERS.get(name, []), *AT_OTHER_LEVELS.get((name, level), [])},
                                         differing)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
