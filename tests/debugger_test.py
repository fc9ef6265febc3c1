#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels under gdb, and their names in the code that profilers see."""

import re
import shutil
import subprocess
import unittest

from support import BUILD, PROGRAMS, TestCase, run, tool

SOURCE = """\
#include <hip/hip_runtime.h>
#include <cstdio>

__device__ int twice(int value) {
  int doubled = 2 * value;
  return doubled;
}

__global__ void transform(int* data, int factor) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  int scaled = twice(data[index]) * factor;
  data[index] = scaled;  // stop here
}

int main() {
  int* data = nullptr;
  if (hipMallocManaged(&data, 64 * sizeof(int)) != hipSuccess) return 1;
  for (int i = 0; i < 64; ++i) data[i] = i + 100;
  transform<<<2, 32>>>(data, 3);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  std::printf("%d\\n", data[33]);
  return data[33] == 798 ? 0 : 1;
}
"""
STOP = next(i for i, line in enumerate(SOURCE.splitlines(), 1) if "stop here" in line)
ENVIRONMENT = {"LD_LIBRARY_PATH": str(BUILD / "lib" / "mneme" / "hostgpu")}


class Debugger(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.folder / "transform.hip"
        source.write_text(SOURCE)
        cls.programs = {name: cls.build(source, name.replace(" ", ""), *name.split())
                        for name in ["-g -O0", "-g -O2", "-O2"]}

    def debug(self, program, place, *commands):
        """Stops at a place in the kernel, which gdb knows of once the kernel's code is loaded."""
        if not shutil.which("gdb"):
            self.skipTest("gdb is not installed")
        words = ["gdb", "-q", "-nx", "-batch"]
        for command in ["set debuginfod enabled off", "set breakpoint pending on", "tbreak transform", "run",
                        f"tbreak transform.hip:{place}", "continue", *commands]:
            words += ["-ex", command]
        result = run([*words, str(self.programs[program])], env=ENVIRONMENT)
        self.assertEqual(result.status, 0, result.text())
        return result.out.decode() + result.error

    def test_unoptimised(self):
        out = self.debug("-g -O0", f"{STOP} if index == 33", "bt 1", "list", "info locals", "info args")
        self.assertRegex(out, rf"#0  transform \(data=0x[0-9a-f]+, factor=3\) at .*transform\.hip:{STOP}")
        self.assertRegex(out, rf"(?m)^{STOP}\s+data\[index\] = scaled;  // stop here$")
        self.assertRegex(out, r"(?m)^index = 33$")
        self.assertRegex(out, r"(?m)^scaled = 798$")
        self.assertRegex(out, r"(?m)^factor = 3$")

    def test_a_function_of_the_device(self):
        out = self.debug("-g -O0", "6", "bt 2", "info locals")
        self.assertRegex(out, r"(?m)^#0 .*twice \(value=100\) at .*transform\.hip:6")
        self.assertRegex(out, rf"(?m)^#1 .*transform \(.*factor=3\) at .*transform\.hip:{STOP - 1}")
        self.assertRegex(out, r"(?m)^doubled = 200$")

    def test_optimised(self):
        out = self.debug("-g -O2", f"{STOP}", "bt 1", "list")
        self.assertRegex(out, rf"#0  .*transform \(.*\) at .*transform\.hip:{STOP}")
        self.assertRegex(out, rf"(?m)^{STOP}\s+data\[index\] = scaled;  // stop here$")

    def embedded(self, program):
        listed = run([tool("extract-ir"), "--kernel", "transform", "-S", self.programs[program]])
        self.assertEqual(listed.status, 0, listed.text())
        return listed.out.decode()

    def test_unoptimised_though_the_application_is_not(self):
        """Its IR tells variables by each assignment, as they are in one function, which barriers cut up."""
        program = self.build(PROGRAMS / "tiled_matmul.hip", "optimised", "-g", "-O2")
        self.run_well([tool("compile"), "-O0", self.record(program)], [tool("run")], [tool("verify")])

    def test_without_g_there_is_none(self):
        self.assertNotIn("DISubprogram", self.embedded("-O2"))
        self.assertIn("DISubprogram", self.embedded("-g -O2"))

    def test_a_kernel_is_the_same_kernel_with_g(self):
        hashes = []
        for program in ["-O2", "-g -O2"]:
            listed = self.run_well([tool("extract-ir"), "--list", self.programs[program]]).out.decode()
            hashes.append(re.search(r"[0-9a-f]{12,32}", listed)[0])
        self.assertEqual(*hashes)

    def test_symbols_name_kernels(self):
        """perf and valgrind take names from the symbol table."""
        cache = self.folder / "cache"
        for program in self.programs:
            with self.subTest(program):
                shutil.rmtree(cache, ignore_errors=True)
                self.run_well([self.programs[program]], env={**ENVIRONMENT, "XDG_CACHE_HOME": str(cache)})
                [code] = (cache / "mneme").glob("*.so")
                symbols = subprocess.run(["llvm-nm-19", "-C", code], capture_output=True, text=True, check=True).stdout
                self.assertRegex(symbols, r"(?m) t transform\(int\*, int\)$")
                sections = subprocess.run(["llvm-readelf-19", "-S", code], capture_output=True, text=True,
                                          check=True).stdout
                self.assertIn(".eh_frame", sections)
                self.assertEqual(".debug_info" in sections, "-g" in program)


if __name__ == "__main__":
    unittest.main(verbosity=2)
