#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks in which lanes of a wave have the same threadIdx.x, and kernels that ask for no more than that: on the host device
their order is kept, too, or they are refused."""

import unittest

from support import TestCase, run, tool

# All lanes that are alike read an element before any of them writes it.
SOURCE = """\
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void none(unsigned* out) {
  __shared__ unsigned element;
  element = 10;
  __syncthreads();
  element += 1;
  *out = element;
}

__global__ void columns(unsigned* out) {
  __shared__ unsigned row[8];
  unsigned x = threadIdx.x;
  row[x] = 10 * x;
  __syncthreads();
  row[x] += 1;
  out[x] = row[x];
}

__global__ void pillars(unsigned* out) {
  __shared__ unsigned tile[4][4];
  unsigned x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = 10 * (4 * y + x);
  __syncthreads();
  tile[y][x] += 1;
  out[4 * y + x] = tile[y][x];
}

int main() {
  unsigned* out = nullptr;
  if (hipMallocManaged(&out, 32 * sizeof(unsigned)) != hipSuccess) return 1;
  unsigned wrong = 0;
  auto check = [&](unsigned count, unsigned first) {
    if (hipDeviceSynchronize() != hipSuccess) ++wrong;
    for (unsigned i = 0; i < count; ++i) wrong += out[i] != 10 * (i + first) + 1;
  };
  none<<<1, dim3(8, 4)>>>(out);
  check(1, 1);
  columns<<<1, dim3(8, 4)>>>(out);
  check(8, 0);
  pillars<<<1, dim3(4, 4, 2)>>>(out);
  check(16, 0);
  std::printf("%u wrong\\n", wrong);
}
"""


class AlikeLanes(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.folder / "alike.hip"
        source.write_text(SOURCE)
        cls.programs = [cls.build(source, f"alike{level}", level) for level in ("-O0", "-O2")]

    def test_application(self):
        for program in self.programs:
            for form in ("auto", "loop", "fiber"):
                with self.subTest(program=program.name, form=form):
                    out = self.run_well([tool("capture"), "--device", "host", "--max-instances", "0", program],
                                        env={"MNEME_HOST_FORM": form}).out
                    self.assertEqual(out, b"0 wrong\n")

    def test_replay(self):
        for program in self.programs:
            recording = self.record(program)
            for options in (["-O0"], ["-O0", "--form", "fiber"], ["-O3", "--form", "fiber"]):
                with self.subTest(program=program.name, options=options):
                    self.run_well([tool("compile"), *options, recording], [tool("run")], [tool("verify")])
            with self.subTest(program=program.name):
                result = run([tool("compile"), "-O3", recording], [tool("run")])
                self.assertIn("tells work-items apart by threadIdx.x only, but work-items of a wave have that in common "
                              "in blocks of (8, 4, 1): compile it with --form fiber", result.error)
                self.assertIn("threadIdx.x and .y only", result.error)


if __name__ == "__main__":
    unittest.main()
