#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that nvcc built, with the shared CUDA runtime, on the host device: their IR is made of the PTX in them. They
are run, are recorded, and their kernels replayed and verified. Without nvcc it says so, and is skipped.

nvcc_test.py [Nvcc.test_programs]; MNEME_MATRIX=full: all programs that cuda_test.py has and nvcc compiles.
"""

import json
import os
import pathlib
import shutil
import sys
import unittest

import bundles
import cuda_test
from support import PROGRAMS, TestCase, run, tool

NVCC = shutil.which("nvcc") or str(pathlib.Path(os.environ.get("CUDA_PATH", "/usr/local/cuda")) / "bin" / "nvcc")
# What nvcc's PTX shows: calls by tables, text, arithmetic with carries, a grid's barrier, exchanges of lanes, variables
# with addresses, texture fetches, templates of a library.
CHOSEN = ["device_globals", "grid_sync", "int128_arithmetic", "printf_formats", "recursion", "texture_rotation",
          "tree_reduction", "virtual_functions", "wave_shuffles"]
# Those of tests/programs/nvcc: their sources, and options. clang does not compile them as they are.
OWN = {"cluster_switch": (["cluster_switch.cu"], []), "dynamic_arrays": (["dynamic_arrays.cu"], []),
       "linked_units": (["linked_units.cu", "linked_units_other.cu"], ["-rdc=true"])}
# Of cuda_test.py's, and why nvcc does not compile them.
NOT_FOR_NVCC = {"assert_holds": "the compiler's __builtin_trap", "atomic_types": "HIP's atomic functions",
                "bfloat16_native": "the compiler's __bf16", "clock_rates": "HIP's clock",
                "complex_numbers": "std::complex in kernels"}


def programs():
    if os.environ.get("MNEME_MATRIX") != "full":
        return [*CHOSEN, *OWN]
    every = [*cuda_test.CHOSEN, *cuda_test.OTHERS, *cuda_test.TEXTURES, *cuda_test.LIBRARIES, *cuda_test.CUDAS_OWN]
    return sorted(set(every) - set(NOT_FOR_NVCC)) + [*OWN]


@unittest.skipUnless(pathlib.Path(NVCC).exists(), "no nvcc was found")
class Nvcc(TestCase):
    @classmethod
    def build(cls, name):
        program = cls.folder / name
        if name in OWN:
            names, options = OWN[name]
            sources = [PROGRAMS / "nvcc" / source for source in names]
        else:
            sources, options = cuda_test.sources_of(name)
        result = run([NVCC, "-x", "cu", "-std=c++20", "-O3", f"-arch={cuda_test.PROCESSOR}", "-cudart", "shared", "-I",
                      cuda_test.HEADERS, "-I", PROGRAMS, *sources, *options, "-o", program])
        if result.status:
            raise AssertionError(result.text())
        return program

    def recorded(self, name):
        program, recording = self.build(name), self.folder / f"{name}.tar"
        result = self.run_well([tool("capture"), "--device", "host", "-o", recording, program])
        self.assertRegex(result.error + result.out.decode(), rf"(?m)^{name}: ok$", result.text())
        return program, recording

    def test_programs(self):
        for name in programs():
            with self.subTest(name):
                program, recording = self.recorded(name)
                kernels = [bundles.parsed(m) for m in bundles.read(recording.read_bytes()) if m.name.endswith("/kernel.json")]
                self.assertEqual({kernel["lifted"] for kernel in kernels}, {"ptx"})
                lines = []
                for level in ("-O0", "-O3"):
                    result = self.run_well([tool("compile"), level, recording], [tool("run")], [tool("verify")])
                    lines += [json.loads(line) for line in result.out.decode().splitlines()]
                self.assertTrue(any(line["changed_bytes"] for line in lines), "no memory changed")
                compiled = self.run_well([tool("compile"), "--target", cuda_test.PROCESSOR, recording])
                members = bundles.read(compiled.out)
                self.assertTrue(any(m.name.endswith(("/code.ptx", "/code.cubin")) for m in members))
                program.unlink()

    def test_a_changed_kernel_is_caught(self):
        program, recording = self.recorded("vector_add")
        ir = self.folder / "vector_add.ll"
        self.run_well([tool("extract-ir"), "-S", program, "-o", ir])
        text = ir.read_text()
        self.assertEqual(text.count("fadd contract float"), 1)
        ir.write_text(text.replace("fadd contract float", "fsub contract float"))
        result = run([tool("compile"), "--ir", ir, recording], [tool("run")], [tool("verify")])
        self.assertEqual(result.status, 1, result.text())
        ir.write_text(text)
        self.run_well([tool("compile"), "--ir", ir, recording], [tool("run")], [tool("verify")])

    def test_units_that_are_linked(self):
        program, recording = self.recorded("linked_units")
        kernels = self.run_well([tool("extract-ir"), "-o", f"{self.folder / 'units'}/", program])
        self.assertEqual(kernels.out, b"")
        texts = [path.read_bytes() for path in (self.folder / "units").rglob("*.bc")]
        self.assertEqual(len(texts), 2)
        # Each unit by itself lacks functions of the other.
        one = self.folder / "one.o"
        self.run_well([NVCC, "-x", "cu", "-std=c++20", "-O3", f"-arch={cuda_test.PROCESSOR}", "-rdc=true", "-dc", "-I",
                       cuda_test.HEADERS, "-I", PROGRAMS, PROGRAMS / "nvcc" / "linked_units.cu", "-o", one])
        ir = self.folder / "shapes.ll"
        self.run_well([tool("extract-ir"), "-S", "--kernel", "shapes", one, "-o", ir])
        result = run([tool("compile"), "--ir", ir, "--kernel", "shapes", recording])
        self.assert_refused(result, 2, "which the host device does not have")

    def test_ptx_in_place_of_ir(self):
        source = PROGRAMS / "vector_add.hip"
        ptx = self.folder / "vector_add.ptx"
        self.run_well([NVCC, "-x", "cu", "-ptx", "-std=c++20", f"-arch={cuda_test.PROCESSOR}", "-I", cuda_test.HEADERS,
                       "-I", PROGRAMS, source, "-o", ptx])
        program, recording = self.recorded("vector_add")
        self.run_well([tool("compile"), "-O3", "--ir", ptx, recording], [tool("run")], [tool("verify")])
        ptx.write_text(ptx.read_text().replace("add.f32", "sub.f32"))
        result = run([tool("compile"), "-O3", "--ir", ptx, recording], [tool("run")], [tool("verify")])
        self.assertEqual(result.status, 1, result.text())
        ptx.write_text(ptx.read_text().replace("sub.f32", "gone.f32"))
        result = run([tool("compile"), "-O3", "--ir", ptx, recording])
        self.assertEqual(result.status, 2)


if __name__ == "__main__":
    if not pathlib.Path(NVCC).exists():
        print("skipped: no nvcc was found")
        sys.exit(0)
    unittest.main()
