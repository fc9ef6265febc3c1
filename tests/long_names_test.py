#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels' names of thousands of characters: messages and tables have their beginnings and ends, json the whole."""

import json
import unittest

from support import TestCase, run, tool

SOURCE = """\
#include <hip/hip_runtime.h>
template <class A, class B> struct Pair {};
template <int N> struct Tree { using type = Pair<typename Tree<N - 1>::type, typename Tree<N - 1>::type>; };
template <> struct Tree<0> { using type = float; };
template <class T> __global__ void broken(int *p) { *p = 1; if (p[1] == 0) __builtin_trap(); }
int main() {
  int *p;
  if (hipMalloc(reinterpret_cast<void **>(&p), 8) != hipSuccess || hipMemset(p, 1, 8) != hipSuccess) return 1;
  broken<Tree<7>::type><<<1, 1>>>(p);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


class LongNames(TestCase):
    def test_messages_and_reports(self):
        source = self.folder / "long.hip"
        source.write_text(SOURCE)
        bundle, changed = self.folder / "long.tar", self.folder / "changed.ll"
        self.run_well([tool("capture"), "-o", bundle, self.build(source)])
        text = self.run_well([tool("extract-ir"), "-S", bundle]).out.decode()
        changed.write_text(text.replace("icmp eq i32", "icmp ne i32"))  # now it traps
        for option, whole in (["-v"], True), ([], False):
            result = run([tool("compile"), "--ir", changed, bundle], [tool("run"), *option], [tool("verify"), *option])
            self.assertEqual(result.statuses, [0, 0, 1], result.text())
            report = json.loads(result.out.splitlines()[0])
            self.assertGreater(len(report["name"]), 1000)
            for message in result.errors[1 if whole else 2:]:  # mneme-run leaves it to mneme-verify
                self.assertIn("void broken<Pair<", message)
                self.assertEqual(report["name"] in message, whole, message)
                self.assertLess(len(message) if not whole else 0, 1000)

    def test_a_variant_that_fails(self):
        """Its reason is not cut short of what went wrong."""
        source, bundle, compiled = (self.folder / name for name in ["longer.hip", "longer.tar", "failed.tar"])
        source.write_text(SOURCE.replace("Tree<7>", "Tree<9>").replace("p[1] == 0", "p[1] < 0"))
        self.run_well([tool("capture"), "-o", bundle, self.build(source)])
        wanted = self.folder / "wanted.jsonl"
        wanted.write_text('{}\n{"target": "cuda:sm_90"}\n')
        self.run_well([tool("compile"), "--variants", wanted, "-o", compiled, bundle])
        result = run([tool("run"), compiled], [tool("verify")])
        reasons = [reason for line in map(json.loads, result.out.splitlines()) for reason in line["reasons"]]
        self.assertEqual(len(reasons), 1, result.text())
        self.assertRegex(reasons[0], "void broken<Pair<.*….*there is no code for cuda:sm_90$")

    def test_an_application(self):
        source = self.folder / "traps.hip"
        source.write_text(SOURCE.replace("p[1] == 0", "p[1] != 0"))
        result = run([tool("capture"), "--max-instances", "0", "--device", "host", self.build(source)])
        self.assertEqual(result.statuses, [4], result.text())
        self.assertRegex(result.error, "mneme: kernel 'void broken<Pair<.{20,60}…")
        self.assertLess(len(result.error), 1000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
