#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-export: a task judges right candidates, and passes none that only looks right."""

import json
import os
import re
import shutil
import unittest

from support import ROOT, TestCase, run, tool


# Nearly all of its time is spent in a loop without effect.
WASTEFUL = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void wasteful(int* data) {
  for (volatile int k = 0; k < 5000; k = k + 1) {}
  data[threadIdx.x] += 1;
}
int main() {
  int* data = nullptr;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess || hipMemset(data, 0, 64 * sizeof(int)) != hipSuccess) return 1;
  wasteful<<<1, 64>>>(data);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


class Export(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))
        cls.task = cls.folder / "task"
        made = run([tool("export"), "--task", cls.task, "--kernel", "^add", cls.recording])
        if made.status:
            raise AssertionError(made.text())
        cls.ir = (cls.task / "kernel.ll").read_text()

    def judge(self, text, mode="check", task=None, name="candidate.ll"):
        candidate = self.folder / name
        candidate.write_text(text)
        result = run([tool("export"), f"--{mode}", task or self.task, candidate])
        verdict = json.loads(result.out)
        self.assertEqual(result.status, 0 if verdict["verdict"] == "pass" else 1, result.text())
        self.assertTrue(verdict["message"])
        return verdict["verdict"], verdict["reason"]

    def other_task(self, name, *options):
        folder = self.folder / name
        made = run([tool("export"), "--task", folder, "--kernel", "^add", *options, self.recording])
        self.assertEqual(made.status, 0, made.text())
        return folder

    def with_body(self, body):
        """The kernel's IR with another body."""
        made, count = re.subn(r"(?ms)^(define[^\n]*amdgpu_kernel[^\n]*\{)\n.*?^\}", lambda m: f"{m[1]}\n{body}\n}}", self.ir)
        self.assertEqual(count, 1)
        return made

    def test_what_is_in_it(self):
        self.assertEqual(sorted(path.name for path in self.task.iterdir()),
                         ["README.md", "bundle.tar", "check", "kernel.ll", "measure", "replay", "task.json"])
        task = json.loads((self.task / "task.json").read_text())
        self.assertEqual(len(task["launches"]), 2)
        for launch in task["launches"].values():
            self.assertGreater(launch["written_bytes"], 0)
            self.assertGreater(launch["baseline_ns"], 0)
        self.assertEqual([one["kind"] for one in task["arguments"]], ["pointer", "scalar", "scalar"])
        self.assertEqual(set(task["limits"]), {"kernel_seconds", "seconds"})
        listed = run([tool("extract-ir"), "--list", self.task / "bundle.tar"]).out.decode()
        self.assertEqual(len(listed.splitlines()), 1, "of the other kernel there is nothing")
        env = {"PATH": f"{os.path.dirname(tool('run'))}:{os.environ['PATH']}"}
        shown = run([self.task / "replay", "-O1"], env=env, cwd="/")
        self.assertIn(b"2 of 2 runs verified", shown.out, shown.text())
        (self.folder / "same.ll").write_text(self.ir)
        shown = run([self.task / "check", self.folder / "same.ll"], env=env)
        self.assertEqual((shown.status, json.loads(shown.out)["reason"]), (0, "verified"), shown.text())

    def test_right_ones(self):
        self.assertEqual(self.judge(self.ir), ("pass", "verified"))
        self.assertEqual(self.judge('{"passes": "default<O1>"}\n', name="candidate.json"), ("pass", "verified"))
        slow = '{"passes": "default<O0>", "codegen_opt": 0}\n'
        self.assertEqual(self.judge(slow, "measure", name="slow.json"), ("fail", "not-faster"))
        self.assertEqual(self.judge("{}", "measure", name="same.json"), ("fail", "not-faster"))

    def test_a_faster_one(self):
        source, task = self.folder / "wasteful.hip", self.folder / "faster"
        source.write_text(WASTEFUL)
        recording = self.record(self.build(source), name="wasteful.tar")
        made = run([tool("export"), "--task", task, recording])
        self.assertEqual(made.status, 0, made.text())
        ir = (task / "kernel.ll").read_text()
        faster, count = re.subn(r"\b5000\b", "5", ir)
        self.assertGreater(count, 0)
        (self.folder / "faster.ll").write_text(faster)
        result = run([tool("export"), "--measure", task, self.folder / "faster.ll"])
        verdict = json.loads(result.out)
        self.assertEqual((result.status, verdict["verdict"], verdict["reason"]), (0, "pass", "faster"), verdict)
        self.assertGreater(verdict["speedup"], 10)
        self.assertGreater(verdict["low"], 1)
        self.assertEqual(self.judge(ir, "measure", task=task), ("fail", "not-faster"))

    def test_source(self):
        """Where the recording has it; it is edited where it lies."""
        source, task = self.folder / "source.hip", self.folder / "of_source"
        source.write_text(WASTEFUL)
        program = self.folder / "source"
        self.run_well([tool("inject"), "--embed-source", "clang++-19", "-x", "hip", "--offload-arch=gfx90a", "-O2", source,
                       "-o", program])
        recording = self.record(program, name="source.tar")
        made = run([tool("export"), "--task", task, recording])
        self.assertEqual(made.status, 0, made.text())
        given = task / "source" / "source.hip"
        self.assertEqual(given.read_text(), WASTEFUL)
        for old, new, verdict in ("5000", "5", "verified"), ("+= 1", "+= 2", "wrong-result"), ("+= 2", "+= two", "not-compiled"):
            given.write_text(given.read_text().replace(old, new))
            result = run([tool("export"), "--check", task, given])
            self.assertEqual(json.loads(result.out)["reason"], verdict, result.text())

    def test_launches_that_change_nothing(self):
        source = self.folder / "idle.hip"
        source.write_text(WASTEFUL.replace("data[threadIdx.x] += 1;", "if (data[0]) data[threadIdx.x] = 1;"))
        recording = self.record(self.build(source), name="idle.tar")
        made = run([tool("export"), "--task", self.folder / "idle task", recording])
        self.assertEqual(made.status, 1, made.text())
        self.assertIn("no recorded launch of kernel 'wasteful(int*)' changes memory", made.error)
        # Nor does one pass that came into the task otherwise.
        task = self.folder / "forged"
        shutil.copytree(self.task, task)
        shutil.copy(recording, task / "bundle.tar")
        said = json.loads((task / "task.json").read_text())
        listed = run([tool("compile"), recording], [tool("run")], [tool("verify")]).out
        launches = {json.loads(listed)["instance"]: next(iter(said["launches"].values()))}
        (task / "task.json").write_text(json.dumps({**said, "expression": "wasteful", "launches": launches}))
        self.assertEqual(self.judge("{}", task=task, name="same.json"), ("fail", "launch-changes-nothing"))

    def test_wrong_ones(self):
        nothing = self.with_body("  ret void")
        self.assertEqual(self.judge(nothing), ("fail", "output-equals-input"))
        self.assertEqual(self.judge(nothing, "measure"), ("fail", "output-equals-input"))
        lenient = self.other_task("lenient", "--verify-flags=--dtype f32 --threshold inf")
        self.assertEqual(self.judge(nothing, task=lenient), ("fail", "output-equals-input"), "whatever the tolerance")
        wrong, count = re.subn("fadd ", "fsub ", self.ir)
        self.assertGreater(count, 0)
        self.assertEqual(self.judge(wrong), ("fail", "wrong-result"))
        self.assertEqual(self.judge("nonsense"), ("fail", "not-compiled"))
        self.assertEqual(self.judge(self.with_body("  store i32 1, ptr null\n  ret void"))[0], "fail")

    def test_one_that_does_not_end(self):
        short = self.other_task("short", "--timeout", "4")
        endless = self.with_body("  br label %again\nagain:\n  %x = load volatile i32, ptr addrspace(1) %0\n  br label %again")
        self.assertEqual(self.judge(endless, task=short), ("fail", "timeout"))

    def test_one_that_is_too_fast(self):
        """A device that writes a byte in a second cannot be so fast."""
        slow = self.other_task("slow", "--bandwidth", "1e-9")
        for mode in ("check", "measure"):
            self.assertEqual(self.judge(self.ir, mode, task=slow), ("suspicious", "suspicious"))

    def test_a_bundle_with_one_kernel(self):
        task = self.folder / "only"
        made = run([tool("export"), "--task", task, self.task / "bundle.tar"])
        self.assertEqual(made.status, 0, made.text())
        self.assertEqual(self.judge(self.ir, task=task), ("pass", "verified"))

    def test_what_is_no_task(self):
        for words, sentence in ((["--task", self.task, "--kernel", "^add", self.recording], "is there already"),
                                (["--task", self.folder / "new", self.recording], "the bundle has several kernels"),
                                (["--check", self.folder, self.recording], "task.json' cannot be read"),
                                (["--check", self.task, self.recording], "is no candidate: its name ends in none of"),
                                (["--check", self.task, "missing.ll"], "there is no such file"),
                                ([self.recording], "give one of --task, --check and --measure")):
            result = run([tool("export"), *words])
            self.assertEqual(result.status, 2, result.text())
            self.assertIn(sentence, result.error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
