#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared memory that a kernel reads and never wrote: filled with 0xCB bytes when asked, so that it shows."""

import unittest

from support import TestCase, run, tool

# Half of the elements, of fixed size and sized at launch, are written by no thread.
SOURCE = """\
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void forget(unsigned* out) {
  __shared__ unsigned fixed[64];
  extern __shared__ unsigned sized[];
  unsigned i = threadIdx.x;
  if (i % 2 == 0) fixed[i] = sized[i] = i;
  __syncthreads();
  out[blockIdx.x * 128 + i] = fixed[i ^ 1];
  out[blockIdx.x * 128 + 64 + i] = sized[i ^ 1];
  __syncthreads();
  fixed[i] = sized[i] = 0x11111111;  // what the next block must not see
}

int main() {
  unsigned* out = nullptr;
  if (hipMallocManaged(&out, 4 * 128 * sizeof(unsigned)) != hipSuccess) return 1;
  forget<<<4, 64, 64 * sizeof(unsigned)>>>(out);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  unsigned zeros = 0, poisoned = 0, wrong = 0;
  for (unsigned i = 0; i < 4 * 128; ++i) {
    bool written = i % 2 == 1;
    zeros += !written && out[i] == 0;
    poisoned += !written && out[i] == 0xCBCBCBCB;
    wrong += written && out[i] != (i % 64 ^ 1);
  }
  std::printf("%u zeros, %u poisoned, %u wrong\\n", zeros, poisoned, wrong);
}
"""


class SharedMemory(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.folder / "forget.hip"
        source.write_text(SOURCE)
        cls.program = cls.build(source, "forget", "-O2")

    def host(self, **env):
        return self.run_well([tool("capture"), "--device", "host", "--max-instances", "0", self.program],
                             env=env).out.decode()

    def test_application(self):
        self.assertIn("256 zeros, 0 poisoned, 0 wrong", self.host())
        self.assertIn("0 zeros, 256 poisoned, 0 wrong", self.host(MNEME_HOST_POISON="1"))

    def test_replay(self):
        bundle = self.record(self.program)
        self.run_well([tool("compile"), "-O3", bundle], [tool("run")], [tool("verify")])
        for options in [["-O0"], ["-O3"], ["-O3", "--form", "fiber"]]:
            with self.subTest(options):
                result = run([tool("compile"), *options, bundle], [tool("run"), "--poison"], [tool("verify"), "-v"])
                self.assertEqual(result.status, 1, result.text())
                self.assertIn("forget", result.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
