#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a tool in a pipe fails, its error is the only one: the tools behind it end with status 2, and are silent."""

import re
import subprocess
import unittest

from support import ROOT, TestCase, run, tool

COMPILE, RUN, VERIFY = [tool("compile"), "-O1"], [tool("run")], [tool("verify")]
TAIL = COMPILE, RUN, VERIFY
UNREAD = "warning: the bundle can be written no further"  # mneme-capture, whose application goes on


def captured(*words):
    return [tool("capture"), "--device", "host", *words]


class FailedPipes(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build(ROOT / "tests" / "small.hip")
        cls.recording = cls.record(cls.program)

    def alone(self, *stages, failing=0, message, input=None):
        """The stage `failing` says the message and nothing else is said, but for the application's; all behind it have status 2."""
        result = run(*stages, input=input)
        said = [[line for line in errors.splitlines() if re.search("^mneme-.*: ", line) and UNREAD not in line]
                for errors in result.errors]
        self.assertEqual([len(lines) for lines in said], [int(i == failing) for i in range(len(stages))], result.text())
        self.assertIn(message, said[failing][0])
        self.assertEqual(result.statuses[failing:], [2] * (len(stages) - failing), result.text())
        self.assertEqual(result.out, b"")

    def test_nothing_was_written(self):
        self.alone(captured("/nonexistent/app"), *TAIL, message="cannot run '/nonexistent/app'")
        self.alone(captured("--bogus", self.program), *TAIL, message="--bogus")
        self.alone([tool("compile"), "/nonexistent/app.tar"], RUN, VERIFY, message="cannot open '/nonexistent/app.tar'")
        self.alone([tool("compile"), "--passes", "nonsense"], RUN, VERIFY, message="'nonsense'", input=self.recording)
        self.alone([tool("restore"), "/nonexistent/app.tar"], *TAIL, message="cannot open '/nonexistent/app.tar'")

    def test_nothing_of_an_archive_goes_where_messages_go(self):
        for name in ("capture", "compile", "run", "restore"):
            both = subprocess.run([tool(name), "--bogus"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
            self.assertRegex(both, rb"^mneme-\w+: error: [^\0]*--bogus[^\0]*\n$")

    def test_nothing_was_recorded(self):
        self.alone(captured("small"), *TAIL, message="cannot run 'small': it is not in PATH; give its path, such as './small'")
        self.alone(captured(ROOT / "tests" / "small.hip"), *TAIL, message="it is not executable; give the compiled program")
        several = self.folder / "several.hip"
        several.write_text("#include <hip/hip_runtime.h>\n__global__ void one() {}\n__global__ void two() {}\n"
                           "int main() { one<<<1, 1>>>(); two<<<1, 1>>>(); return 0; }\n")
        self.alone(captured(self.build(several, inject=False)), *TAIL,
                   message="one(), 1 launch: it carries no IR; build the application with mneme-inject; --summary has 1 more")
        self.alone(captured("--kernel", "^three", self.build(several)), *TAIL,
                   message="no kernel matches --kernel '^three'; there are: one(); two()")
        self.alone(captured("true"), *TAIL, message="'true' launched no kernels: mneme-capture heard of no process that uses")

    def test_something_was_written(self):
        self.alone([*COMPILE, "--kernel", "nothing"], RUN, VERIFY, message="no kernel matches", input=self.recording)
        self.alone(RUN, VERIFY, message="put mneme-compile before mneme-run", input=self.recording)
        failing = [*COMPILE, "--kernel", "nothing"]
        for last in ([tool("restore")], [tool("extract-ir"), "--list"]):
            result = run(failing, last, input=self.recording)
            self.assertEqual((result.statuses, result.error), ([2, 2], ""), result.text())

    def test_the_input_is_bad(self):
        for bad, message in ((b"", "standard input is empty"), (b"x" * 4096, "not a tar archive"),
                             (self.recording.read_bytes()[:6000], "was cut short")):
            self.alone(*TAIL, message=message, input=bad)

    def test_a_later_tool_fails(self):
        self.alone(captured(self.program), [*COMPILE, "--bogus"], RUN, VERIFY, failing=1, message="--bogus")
        self.alone(COMPILE, [*RUN, "--bogus"], VERIFY, failing=1, message="--bogus", input=self.recording)
        self.alone(COMPILE, RUN, [*VERIFY, "--bogus"], failing=2, message="--bogus", input=self.recording)

    def test_a_failed_variant_is_reported_once(self):
        """By the tool that made it, and in the verdict."""
        variants = self.folder / "variants.jsonl"
        variants.write_text('{"passes": "no-such-pass"}\n')
        result = run([tool("compile"), "--variants", variants], RUN, VERIFY, input=self.recording)
        self.assertRegex(result.errors[0], "line 1: kernel '.*', variant .* failed: .*no-such-pass")
        self.assertEqual(result.errors[1], "", result.text())
        self.assertIn(b"it was not compiled: ", result.out)

    def test_a_kernel_that_cannot_be_compiled_is_reported_once(self):
        """By mneme-compile, and in the verdict; nor is the bundle called cut short."""
        result = run([*COMPILE, "--target", "sm_90"], RUN, [*VERIFY, "--format", "table"], input=self.recording)
        self.assertEqual((result.statuses, result.errors[1:]), ([2, 0, 1], ["", ""]), result.text())
        self.assertRegex(result.errors[0], "^mneme-compile: error: kernel '.*' was compiled for amdgcn.*\n$")
        self.assertIn(b"it was not compiled: ", result.out)

    def test_a_failed_run_is_reported_once(self):
        """By mneme-verify; by mneme-run where a file is written."""
        foreign = [*COMPILE, "--target", "gfx90a"]
        result = run(foreign, [*RUN, "--device", "host"], [*VERIFY, "--format", "table"], input=self.recording)
        self.assertEqual((result.statuses, result.error), ([0, 0, 1], ""), result.text())
        self.assertIn(b"it was compiled for ", result.out)
        result = run(foreign, [*RUN, "--device", "host", "-o", self.folder / "runs.tar"], input=self.recording)
        self.assertRegex(result.error, "mneme-run: warning: .*: the run failed: it was compiled for ")

    def test_a_kernel_without_variants_is_named_once(self):
        program = self.build(ROOT / "tests" / "programs" / "conjugate_gradient.hip")
        recording = self.record(program, name="several.tar", options=["--kernel", "^dot|^apply"])
        result = self.run_well([*COMPILE, "--kernel", "^dot"], RUN, VERIFY, input=recording)
        self.assertEqual(result.errors[:2], ["", ""], result.text())
        self.assertRegex(result.error, "^mneme-verify: warning: kernel 'apply.*met no variant.*\n$")
        # Nor where nothing was run.
        self.alone(VERIFY, message="put mneme-compile and mneme-run before mneme-verify", input=recording)

    def test_what_came_before_is_judged(self):
        whole = run(COMPILE, [*RUN, "--keep"], input=self.recording).out
        result = run([tool("restore")], VERIFY, input=whole[:-2048])
        self.assertEqual(result.statuses, [2, 2], result.text())
        self.assertIn("was cut short", result.errors[0])
        self.assertIn("only the runs that are there were judged", result.error)
        self.assertEqual(result.error.count("\n"), 1)
        self.assertIn(b'"verified":true', result.out)

    def test_a_file_is_no_pipe(self):
        """Who reads it later may not have seen the error."""
        failed = self.folder / "failed.tar"
        failed.write_bytes(run(RUN, ["cat"], input=self.recording).out)
        for stage in RUN, VERIFY:
            result = run(stage, input=failed)
            self.assertEqual(result.status, 2, result.text())
            self.assertIn("error: ", result.error)
        result = run([*captured("-o", self.folder / "own.tar", "false")], RUN)
        self.assertEqual(result.statuses, [4, 2])
        self.assertIn("standard input is empty", result.error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
