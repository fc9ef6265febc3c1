#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-bisect: the pass and the key that it blames, and what it must not take for evidence."""

import json
import os
import pathlib
import re
import shutil
import sys
import unittest

from planted_mistakes import FOLDER, VECTORISED, needs_masks, plugin
from support import ROOT, TestCase, run, tool

sys.path.insert(0, str(ROOT / "python"))
from mneme.bisection import search  # noqa: E402

UNCHANGED = """
#include <hip/hip_runtime.h>
__global__ void idle(int* data) { if (data[threadIdx.x] < 0) data[0] = 1; }
int main() {
  int* data;
  if (hipMalloc(&data, 256) || hipMemset(data, 0, 256)) return 1;
  idle<<<1, 64>>>(data);
  return hipDeviceSynchronize();
}
"""


class Searches(unittest.TestCase):
    def test_first_bad(self):
        for first in range(1, 40):
            asked = []
            self.assertEqual(search.first_bad(0, 39, lambda n: asked.append(n) or n >= first), first)
            self.assertLessEqual(len(asked), 6)

    def test_where_few_are_slow_too(self):
        self.assertEqual(search.last_good(80, lambda n: n < 40 or n > 60), 60)
        self.assertIsNone(search.last_good(80, lambda n: True))

    def test_least(self):
        for blamed in (["c"], ["a", "f"], ["b", "d", "e"]):
            self.assertEqual(search.least_keys("abcdefg", lambda keys: set(blamed) <= set(keys)), blamed)


class Bisect(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(FOLDER / "blend.hip"))
        cls.planted = f"--compile-flags=--load-pass-plugin {plugin()}"

    def bisect(self, *options, name="found", of=None):
        self.output = self.folder / name
        return run([tool("bisect"), "-o", self.output, *options, of or self.recording])

    def found(self, *options, **how):
        result = self.bisect(*options, **how)
        self.assertEqual(result.status, 0, result.text())
        self.printed = result.out.decode()
        return json.loads((self.output / "result.json").read_text())

    def test_a_planted_pass(self):
        result = self.found("--kernel", "blend", self.planted, "--bad", "O2", name="planted")
        self.assertRegex(result["name"], "PlantedPass$")
        self.assertEqual((result["where"], result["keys"]), ("mneme.run_block", []))
        self.assertEqual(len(result["functions"]), 1)
        runs = re.findall(r"^run \d+: opt_bisect (\d+) of (\d+): (good|bad)", self.printed, re.MULTILINE)
        self.assertLessEqual(len(runs), 2 + int(runs[0][1]).bit_length())
        # The IR on both sides of it differs in the operands of one subtraction a copy of the loop.
        changed = [line for line in (self.output / "pass.diff").read_text().splitlines()[2:] if line[0] in "+-"]
        self.assertTrue(all(" fsub " in line for line in changed), changed)
        self.assertEqual(changed[0].replace("-", "", 1).split("float")[0], changed[1].replace("+", "", 1).split("float")[0])
        # The command shows both.
        shown = run(["sh", self.output / "show.sh"])
        self.assertRegex(shown.out.decode(), rf"(?s)opt_bisect={result['number'] - 1} .*1 of 2 runs verified")

    @needs_masks
    def test_llvms_own(self):
        result = self.found("--kernel", "share", "--bad", VECTORISED, name="own")
        self.assertEqual(result["name"], "LoopVectorizePass")
        self.assertIn("+vector.body:", (self.output / "pass.diff").read_text())

    def test_keys_to_blame(self):
        good = json.dumps({"passes": "default<O1>", "codegen_opt": 1, "plugins": "", "unroll_threshold": 7})
        result = self.found("--kernel", "blend", self.planted, "--good", good, "--bad", "{}", name="keys")
        self.assertEqual(result["keys"], ["plugins"])
        self.assertRegex(result["name"], "PlantedPass$")
        self.assertEqual(result["bad"], {"passes": "default<O1>", "codegen_opt": 1, "unroll_threshold": 7})

    def test_a_good_configuration_that_is_not_as_recorded(self):
        # Fewer blocks leave other memory.
        good, bad = '{"grid":[10,1,1],"plugins":""}', '{"grid":[10,1,1]}'
        result = self.found("--kernel", "blend", self.planted, "--good", good, "--bad", bad, name="fused")
        self.assertIn("what is expected from here on is the good configuration's own result", self.printed)
        self.assertEqual(result["keys"], ["plugins"])
        self.assertRegex(result["name"], "PlantedPass$")
        self.assertIn("expected.tar", (self.output / "show.sh").read_text())
        again = self.printed
        self.assertEqual((self.found("--kernel", "blend", self.planted, "--good", good, "--bad", bad, name="fused"), self.printed),
                         (result, again))

    def test_it_goes_on_where_it_stopped(self):
        options = "--kernel", "blend", self.planted, "--bad", "O1"
        first = self.found(*options, name="again")
        whole = self.printed
        state = self.output / "state.json"
        (self.output / "messages.txt").unlink()
        self.assertEqual((self.found(*options, name="again"), self.printed), (first, whole))
        self.assertEqual((self.output / "messages.txt").read_text(), "", "nothing was run")
        self.assert_refused(self.bisect("--kernel", "blend", name="again"), 2, "runs of another search: give another folder")
        state.write_text("{")
        self.assert_refused(self.bisect(*options, name="again"), 2, "is no state of a search")

    @unittest.skipUnless(os.environ.get("MNEME_TIMES"), "times are measured on an idle machine: set MNEME_TIMES")
    def test_slower(self):
        # Values that are moved into memory behind all other passes.
        slow = "default<O3>,function(reg2mem)"
        result = self.found("--kernel", "blend", "--good", "O3", "--bad", slow, "--slower", "1.15", "--rounds", "6", name="slow")
        self.assertEqual((result["keys"], result["name"]), (["passes"], "RegToMemPass"))
        self.assertRegex(self.printed, r"run 2: the bad configuration: bad \(\d+\.\d+ times the time\): slower than the 1.15 times")
        # Without optimisation no number of passes is fast.
        result = self.found("--kernel", "blend", "--good", "O3", "--bad", '{"passes":"default<O0>","codegen_opt":3}', "--slower", "1.15",
                            "--rounds", "6", name="slowest")
        self.assertEqual((result["keys"], "number" in result), (["passes"], False))
        self.assertIn("with no number of passes it is as fast as the good configuration", self.printed)
        result = self.bisect("--kernel", "blend", "--good", "O3", "--bad", "O2", "--slower", "50", "--rounds", "6", name="as fast")
        self.assertIn("there is nothing to find", result.out.decode())

    def test_evidence(self):
        source = self.folder / "idle.hip"
        source.write_text(UNCHANGED)
        idle = self.record(self.build(source), name="recorded_idle.tar")
        self.assert_refused(self.bisect(of=idle, name="unchanged"), 2, "change no memory, so that any code is verified")
        self.assert_refused(self.bisect("--kernel", "blend", "--good", "no-such-pass", name="none"), 1,
                            "the good configuration is bad, too: .*unknown pass name")
        result = self.bisect("--kernel", "blend", name="well")
        self.assertEqual(result.status, 0, result.text())
        self.assertIn("the bad configuration is good: there is nothing to find", result.out.decode())
        # What cannot be compiled at all is bad, but no pass's fault.
        result = self.bisect("--kernel", "blend", "--good", "O1", "--bad", "no-such-pass", name="uncompiled")
        self.assertEqual(result.status, 0, result.text())
        self.assertRegex(result.out.decode(), "(?s)bad: it was not compiled: .*unknown pass name 'no-such-pass'.*no pass is to blame")

    def test_usage(self):
        for words, said in ((["--slower", "1.2"], "--slower needs --good"), (["--slower", "1", "--good", "O1"], "takes a ratio above 1"),
                            (["--bad", '{"pases":1}'], "--bad: no configuration has the key 'pases'"),
                            (["--rounds", "5"], "--rounds takes a number from 6 on"),
                            (["--run-flags=--rounds 3"], "which mneme-bisect itself gives to mneme-run")):
            result = self.bisect(*words, name="usage")
            self.assertEqual(result.status, 2, result.text())
            self.assertIn(said, result.error)
        self.assert_refused(self.bisect(name="usage"), 2, "several kernels; choose with --kernel")
        self.assertFalse((self.folder / "usage" / "result.json").exists())
        shutil.rmtree(self.folder / "usage", ignore_errors=True)
        self.assert_refused(self.bisect(of=pathlib.Path("/dev/null"), name="usage"), 2, "is no bundle")


if __name__ == "__main__":
    unittest.main(verbosity=2)
