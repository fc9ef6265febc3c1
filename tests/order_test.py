#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a replay of a recorded launch gives does not depend on the launches that were replayed before it."""

import json
import unittest

import bundles
from recordings import recording_of
from support import PROGRAMS, TestCase, tool

# Kernels that allocate, on the heap and with new; variables of all kinds; managed memory; local memory and stacks.
NAMES = ["device_heap", "device_new", "device_globals", "variables_of_all_kinds", "managed_memory", "managed_variables",
         "local_array", "recursion", "dynamic_shared", "vector_add"]


class Order(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recordings = [recording_of(PROGRAMS / f"{name}.hip", cls) for name in NAMES]

    def compiled(self, recordings):
        merged = self.run_well([tool("restore"), *recordings]).out
        return self.run_well([tool("compile"), "-O3"], input=merged).out

    def runs(self, compiled, *options):
        """All that mneme-run says of each run but its times and the digest of all, by the name of its member."""
        ran = self.run_well([tool("run"), *options], input=compiled).out
        self.run_well([tool("verify"), *options], input=ran)
        found = {member.name: json.loads(member.data) for member in bundles.read(ran) if member.name.startswith("runs/")}
        for run in found.values():
            del run["nanoseconds"], run["digest"]
        return found

    def assert_same(self, runs, others):
        self.assertEqual(sorted(runs), sorted(others))
        for name, run in runs.items():
            self.assertEqual(run, others[name], name)

    def test_in_any_order_and_alone_it_is_the_same(self):
        compiled = self.compiled(self.recordings)
        inorder = self.runs(compiled)
        self.assertGreater(len(inorder), len(NAMES))
        self.assert_same(self.runs(self.compiled(self.recordings[::-1])), inorder)
        for name in inorder:
            self.assert_same(self.runs(compiled, "--instance", name.split("/")[2]), {name: inorder[name]})


if __name__ == "__main__":
    unittest.main()
