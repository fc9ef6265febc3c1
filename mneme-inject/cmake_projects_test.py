#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CMake projects that compile for GPUs as Kokkos, RAJA and AMReX do are built with mneme-clang++ as their compiler, and
recorded. docs/cmake.md has the options for those three."""

import pathlib
import subprocess
import unittest

from compiling import BUILD, EXTRACT, INJECT, Compiling

PROJECT = pathlib.Path(__file__).resolve().parent / "cmake_projects"
COMPILER = BUILD / "bin" / "mneme-clang++"
KERNEL = "void parallel_for<fill(float*, int)::'lambda'(int)>(int, fill(float*, int)::'lambda'(int))"


class Projects(Compiling):
    def check(self, how, target, *options):
        if target == "sm_90" and subprocess.run([INJECT, "--print-flags", "link", "cuda"], capture_output=True).returncode == 3:
            self.skipTest("no CUDA toolkit is here")
        self.run_well("cmake", "-S", PROJECT, "-B", "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                      f"-DHOW={how}", *options)
        self.run_well("cmake", "--build", "build")
        _, name, _, described = self.run_well(EXTRACT, "--list", "build/app").stdout.strip().split("\t")
        self.assertEqual((name, described.split("--")[1]), (KERNEL, target))
        self.run_well(BUILD / "bin" / "mneme-capture", "--device", "host", "-o", "app.tar", "build/app")

    def test_hip_as_an_option_of_cxx(self):
        self.check("cxx-hip", "gfx90a")

    def test_cuda_as_an_option_of_cxx(self):
        self.check("cxx-cuda", "sm_90")

    def test_cuda_by_findcuda(self):
        self.check("findcuda", "sm_90", "-Wno-dev")

    def test_cuda_as_a_language(self):
        self.check("language-cuda", "sm_90", f"-DCMAKE_CUDA_COMPILER={COMPILER}", "-DCMAKE_CUDA_ARCHITECTURES=90",
                   "-DCMAKE_CUDA_FLAGS=--cuda-gpu-arch=sm_90")


if __name__ == "__main__":
    unittest.main(verbosity=2)
