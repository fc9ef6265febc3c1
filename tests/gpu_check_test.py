#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dry runs of scripts/gpu-check, of the script and not of a GPU: its half for AMD's GPUs with what plays AMD's runtime;
what it says of CUDA programs, with the host device in place of a GPU and where a toolkit is to build them with; and of
programs without IR."""

import os
import re
import sys
import unittest

import cuda_test
from support import BUILD, ROOT, TestCase, run

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "mneme-inject")]

import toolkit  # noqa: E402
from code_only_recordings import LIBRARIES, Recordings  # noqa: E402

FAKE = BUILD / "tests" / "fake_hip" / "6"
PROGRAMS = ["device_globals", "tree_reduction", "vector_add"]


class Dry(TestCase):
    """A bundle as scripts/gpu-bundle packs it, but for the programs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bundle = cls.folder / "gpu-bundle"
        (cls.bundle / "libraries").mkdir(parents=True)
        for name in ["bin", "lib"]:
            (cls.bundle / name).symlink_to(BUILD / name)
        for name in ["device_contract_test", "element_kernel_test"]:
            (cls.bundle / name).symlink_to(BUILD / "tests" / name)
        for name in ["gpu-check", "gpu-check-programs", "gpu-check-hip"]:
            (cls.bundle / name).write_bytes((ROOT / "scripts" / name).read_bytes())

    @classmethod
    def pack(cls, script, *arguments):
        made = run(["python3", "-B", ROOT / "tests" / "gpu" / script, *arguments])
        if made.status or made.error:
            raise AssertionError(made.text())

    def check(self, sections, status=0, **env):
        """The report of a dry run."""
        report = self.folder / "report.md"
        result = run(["bash", self.bundle / "gpu-check", report, sections], env=env, timeout=300)
        text = report.read_text()
        self.assertEqual(result.status, status, result.text() + text)
        return text


class Hip(Dry):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pack("hip_bundle.py", cls.bundle / "hip", *PROGRAMS)

    def check(self, sections, status=0, library=FAKE, **env):
        return super().check(sections, status, MNEME_GPU_CHECK_HIP=str(library), **env)

    def test_all_is_well(self):
        text = self.check("HIP|AMD", GTEST_FILTER="Contract.*:*EveryType*/f32")
        self.assertIn("A dry run", text)
        self.assertEqual(len(re.findall(r"\[  PASSED  \] \d+ tests", text)), 2)
        self.assertNotIn("this device has none", text)
        for name in PROGRAMS:
            self.assertRegex(text, rf"(?m)^    {name}: hip: byte for byte$")
            self.assertRegex(text, rf"(?m)^    {name}: [1-9]\d* recorded; hip: byte for byte; host: byte for byte$")
        for case in ["cut", "flipped_bits", "no_bundle"]:
            self.assertRegex(text, rf"(?m)^    {case}: mneme-run: (error|warning): .+")
        self.assertEqual(len(re.findall(r'cache (?:warm|cold)(?:, without rocprofiler-sdk)?: "clock":"events" "min_ns":\d+', text)), 4)

    def test_what_is_not_well_is_said(self):
        """ROCm 5's memory is at other addresses."""
        text = self.check("HIP: kernels recorded on the host", status=1, MNEME_TEST_ROCM="5.2")
        self.assertRegex(text, "vector_add: hip: NOT verified: failed: .* memory at 0x40.* cannot be there")
        self.assertIn("**failed: exit status 1**", text)

    def test_no_runtime(self):
        nothing = self.folder / "nothing"
        os.makedirs(nothing, exist_ok=True)
        self.assertIn("runtime library: none found", self.check("AMD", status=1, library=nothing))


class Variants(TestCase):
    def test_programs_are_replayed_in_all_configurations(self):
        """But for what is left out of three of them."""
        modes = self.folder / "modes"
        modes.mkdir()
        lines = [f'{{"passes":"default<O{level}>","assembler":"none"}}' for level in "0123sz"]
        (modes / "gpu.jsonl").write_text("".join(line + "\n" for line in lines))
        for name, left_out in [("vector_add", ""), ("wave_operations", "0"), ("uniform_loops", "2s")]:
            script = f'source "$0"; here={self.folder}; cd "$here"; variants_for {name} gpu.jsonl; cat gpu.jsonl'
            result = run(["bash", "-c", script, ROOT / "scripts" / "gpu-check-programs"])
            expected = [line for level, line in zip("0123sz", lines) if level not in left_out]
            self.assertEqual(result.out.decode().splitlines(), expected, name)


class CodeOnly(Recordings):
    """Applications whose kernels have no IR, with what plays NVIDIA's driver; a script takes the place of Triton's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.check_folder = cls.folder / "code_only"
        for runtime in ["static", "shared"]:
            (cls.check_folder / runtime).mkdir(parents=True)
        for name in ["memory", "launches"]:
            (cls.check_folder / "shared" / name).symlink_to(cls.program(name))
            built = cls.folder / f"{name}.o"
            cls.inject("-fPIC", "-c", toolkit.PROGRAMS / f"{name}.cu", "-o", built)
            linked = run(["clang++-19", built, "-L", LIBRARIES / "static", "-lcudart_static", "-ldl", "-o",
                          cls.check_folder / "static" / name])
            assert linked.status == 0, linked.text()
        # `scaled` of a script, and code that is to be right and wrong in its place.
        kernel = """extern "C" __global__ void scaled(int* data, int by, unsigned count) {
          if (index() < count) data[index()] *= by;
        }"""
        for name, text in [("right", kernel), ("wrong", kernel.replace("*=", "+="))]:
            cls.code(name, f'#include "cuda.h"\n{text}\n')
        cls.modules = cls.folder / "modules"
        cls.modules.mkdir()
        (cls.modules / "triton.py").touch()
        script = (toolkit.PROGRAMS / "by_ctypes.py").read_text().replace("sys.argv[1]", f"'{cls.folder}/right.cubin'")
        copies = "".join(f"shutil.copy('{cls.folder}/{name}.{kind}', '.')\n"
                         for name in ["right", "wrong"] for kind in ["cubin", "ptx"])
        (cls.check_folder / "by_triton.py").write_text(script.replace("scale", "scaled") + "import shutil\n" + copies)
        for name, text in [("vector_add", "echo vector_add"), ("launches", "echo 3.5")]:
            for runtime in ["static", "shared"]:
                path = cls.check_folder / f"{name}_{runtime}"
                path.write_text(f"#!/bin/sh\n{text}\nexec {cls.program('memory')} > /dev/null\n")
                path.chmod(0o755)

    def check(self, what, *options, status=0):
        environment = {**self.environment, "LD_LIBRARY_PATH": f"{LIBRARIES}:{LIBRARIES / 'driver'}",
                       "PYTHONPATH": str(self.modules), "PATH": f"{self.folder}/toolkit/bin:{os.environ['PATH']}"}
        script = ROOT / "tests" / "gpu" / "code_only_check.py"
        result = run([sys.executable, "-B", script, "--tools", BUILD / "bin", self.check_folder, what, *options],
                     env=environment, timeout=300)
        self.assertEqual(result.status, status, result.text())
        return result.out.decode()

    def test_all_is_well(self):
        text = self.check("results")
        for runtime in ["static", "shared"]:
            self.assertIn(f"| 2 programs of nvcc's, {runtime} runtime | 4 | 9 | 5 | 0 | 5 of 5 | 5 of 5 | 5 of 5 |", text)
        self.assertIn("| triton | 1 | 1 | 1 | 0 | 1 of 1 | no PTX | no PTX |", text)
        for name, status in [("--grid 8", "verified"), ("--grid 3", "not verified"), ("--code right.cubin", "verified"),
                             ("--code wrong.cubin", "not verified"), ("--code wrong.ptx", "not verified")]:
            self.assertIn(f"| `{name}` | {status} |", text)
        self.assertIn("5 of 5 applications as they should be", text)

    def test_costs(self):
        text = self.check("costs")
        rows = re.findall(r"(?m)^\| vector add of 1000 MB, (\w+) runtime \| .* s \| [\d.]+ \|$", text)
        self.assertEqual(rows, ["static", "shared"], text)
        self.assertEqual(text.count("a launch takes 3.500 us, one that is not recorded any more 3.500 us"), 2, text)

    def test_what_is_not_well_is_said(self):
        """A program that says something else each time, and one that records nothing."""
        for name, text in [("differs", f"echo $$; exec {self.program('memory')}"), ("nothing", "echo nothing")]:
            path = self.check_folder / "shared" / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
            self.addCleanup(path.unlink)
        text = self.check("results", "--only", "shared: (differs|nothing|memory)", status=1)
        self.assertRegex(text, r"NOT right: nvcc shared: differs: it says '\d+")
        self.assertIn("NOT right: nvcc shared: nothing: nothing was recorded", text)
        self.assertIn("1 of 3 applications as they should be", text)


@unittest.skipUnless(cuda_test.has_toolkit(), "there is no CUDA toolkit to build programs with")
class Cuda(Dry):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pack("cuda_bundle.py", cls.bundle, "vector_add", "relocatable", "surfaces")

    def check(self, status=0, **env):
        return super().check("CUDA applications", status, MNEME_GPU_CHECK_CUDA="host", **env)

    def test_all_is_well(self):
        text = self.check()
        for name in ["relocatable", "surfaces", "vector_add"]:
            for level in ["-O0", "-O3"]:
                counts = re.search(rf"(?m)^    {name} {level}: GPU: (\d+) of \1 byte for byte; CPU: (\d+) of \2 byte for byte$", text)
                self.assertTrue(counts, text)
                self.assertGreaterEqual(int(counts[1]), 12)

    def test_modes(self):
        """Each program is replayed in one, in turn; or in all."""
        runs = {matrix: int(re.search(r"vector_add -O0: GPU: (\d+) of", self.check(MNEME_MATRIX=matrix))[1])
                for matrix in ["", "full"]}
        lines = (self.bundle / "modes" / "runs").read_text().splitlines()
        self.assertEqual(runs["full"], runs[""] * sum(line.startswith("-O0 ") for line in lines))

    def test_what_is_not_well_is_said(self):
        """A program that fails, one that says something else when it is recorded, and variants that are none."""
        folder = self.bundle / "applications" / "-O3"
        scripts = {"fails": "echo what is wrong; exit 1", "differs": f"echo $$; exec {folder}/vector_add"}
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
            self.addCleanup((folder / name).unlink)
        variants = self.bundle / "modes" / "host.jsonl"
        self.addCleanup(variants.write_text, variants.read_text())
        variants.write_text('{"passes":"no such pass"}\n')
        text = self.check(status=1)
        self.assertIn("fails -O3: does NOT run by itself: what is wrong", text)
        self.assertIn("differs -O3: does NOT say the same when recorded", text)
        self.assertRegex(text, r"vector_add -O3: .*; CPU: 0 of \d+ byte for byte, \d+ NOT verified: .*no such pass")


if __name__ == "__main__":
    unittest.main(verbosity=2)
