#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""perf and valgrind name kernels. They see applications: a replay runs code that is in memory only, confined so that it
creates no files."""

import re
import shutil
import subprocess
import unittest

from support import BUILD, TestCase, run, tool

SOURCE = """\
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void iterate_map(float* data, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = data[i];
  for (int s = 0; s < steps; ++s) x = 3.7f * x * (1.0f - x);
  data[i] = x;
}

int main(int argc, char** argv) {
  int steps = 1000 * (argc > 1 ? 100 : 1);
  float* data = nullptr;
  if (hipMallocManaged(&data, 1024 * sizeof(float)) != hipSuccess) return 1;
  for (int i = 0; i < 1024; ++i) data[i] = 0.2f + i / 2048.0f;
  iterate_map<<<16, 64>>>(data, steps);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  return data[5] > 0 && data[5] < 1 ? 0 : 1;
}
"""
ENVIRONMENT = {"LD_LIBRARY_PATH": str(BUILD / "lib" / "mneme" / "hostgpu")}


class Profilers(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.folder / "map.hip"
        source.write_text(SOURCE)
        cls.program = cls.build(source, "map", "-O2")
        cls.environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(cls.folder / "cache")}
        run([cls.program], env=cls.environment)  # so that the kernel is in the cache

    def tool_or_skip(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed: scripts/setup installs it")

    @staticmethod
    def costs(profile):
        """The instructions that callgrind counted in the kernel itself, by its name."""
        # A name is given where its number comes first, there or in a call; costs follow "fn=(number)".
        named = re.search(r"(?m)^c?fn=\((\d+)\) iterate_map\b", profile)
        if not named:
            return 0
        parts = re.findall(rf"(?m)^fn=\({named[1]}\).*\n((?:[-+*\d].*\n)*)", profile)
        return sum(int(line.split()[1]) for part in parts for line in part.splitlines())

    def test_callgrind(self):
        self.tool_or_skip("valgrind")
        out = self.folder / "callgrind.out"
        result = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", self.program],
                     env=self.environment)
        self.assertEqual(result.status, 0, result.text())
        self.assertTrue(self.costs(out.read_text()) > 100000, "callgrind does not see iterate_map")

    def test_memcheck(self):
        """The kernel runs there, and nothing of the host device is reported."""
        self.tool_or_skip("valgrind")
        result = run(["valgrind", "--error-exitcode=99", "--undef-value-errors=no", self.program],
                     env=self.environment)
        self.assertEqual(result.status, 0, result.text())

    def test_perf(self):
        self.tool_or_skip("perf")
        data = self.folder / "perf.data"
        recorded = run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "999", "-o", data, self.program, "long"],
                       env=self.environment)
        if recorded.status and re.search("Operation not permitted|No permission|not supported|paranoid",
                                         recorded.error):
            self.look_at_what_perf_reads()
            self.skipTest(f"the kernel of this machine refuses perf ({recorded.error.strip().splitlines()[0]}); what "
                          "it reads, the symbols of the code on disk, was looked at instead")
        self.assertEqual(recorded.status, 0, recorded.text())
        report = self.run_well(["perf", "report", "-i", data, "--stdio", "-q", "--no-children", "--sort", "symbol"])
        self.assertRegex(report.out.decode(), r"(?m)^\s*[\d.]+%\s+\[\.\] iterate_map")

    def look_at_what_perf_reads(self):
        """Valgrind is a processor of its own, and may have other code than this machine's."""
        codes = list((self.folder / "cache" / "mneme").glob("*.so"))
        self.assertGreater(len(codes), 0)
        for code in codes:
            symbols = subprocess.run(["llvm-nm-19", "-C", code], capture_output=True, text=True, check=True).stdout
            self.assertRegex(symbols, r"(?m) t iterate_map\(float\*, int\)$")

    def test_code_is_mapped_from_a_file_with_symbols(self):
        self.look_at_what_perf_reads()


if __name__ == "__main__":
    unittest.main(verbosity=2)
