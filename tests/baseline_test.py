#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Baselines: results that vary by themselves are told from wrong ones. The program's results are never the same twice."""

import json
import re
import struct
import unittest

import bundles
from support import PROGRAMS, ROOT, TestCase, run, tool
from tampering import Recording

EXECUTIONS = 8  # one of 256 values, of 16, is the same in all of them in one of a million runs


class Baselines(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.varying = cls.record(cls.build(ROOT / "tests" / "varying.hip"), name="varying.tar")
        cls.ir = run([tool("extract-ir"), "-S", cls.varying]).out.decode()

    def compiled(self, *changes):
        """The recording with a variant: of the recorded code, or with each (pattern, replacement) made in its IR."""
        options = ["-O3"]
        if changes:
            ir = self.ir
            for pattern, replacement in changes:
                ir, count = re.subn(pattern, replacement, ir, count=1)
                self.assertEqual(count, 1, pattern)
            (self.folder / "edited.ll").write_text(ir)
            options = ["--ir", self.folder / "edited.ll"]
        return self.run_well([tool("compile"), *options, self.varying]).out

    def replayed(self, compiled, *options):
        return self.run_well([tool("run"), *options], input=compiled).out

    def verify(self, runs, *options):
        """The exit status, and the report's lines."""
        result = run([tool("verify"), *options], input=runs)
        lines = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertEqual(result.status, 0 if all(line["verified"] for line in lines) else 1, result.text())
        return result, lines

    def with_baseline(self, *changes):
        return self.replayed(self.compiled(*changes), "--baseline", EXECUTIONS)

    SCALED = r"store float (%[\w.]+), ptr", r"%scaled = fmul float \1, 1.5\n  store float %scaled, ptr"
    A_LITTLE = r"store float (%[\w.]+), ptr", r"%scaled = fmul float \1, 0x3FF0002000000000\n  store float %scaled, ptr"
    INEXACT = (r"(store float[^\n]*\n(?:[^\n]*\n)*?  )store i32 (%[\w.]+), ptr",
               r"\1%more = add i32 \2, 1\n  store i32 %more, ptr")

    def test_what_varies_by_itself_is_told_apart(self):
        runs = self.with_baseline()
        strict, lines = self.verify(runs)
        self.assertEqual((strict.status, len(lines)), (1, 2))
        for line in lines:
            self.assertEqual((line["status"], line["verified"]), ("varies", False))
            self.assertEqual(line["baseline"], {"executions": EXECUTIONS, "reason": "", "varying_segments": 1,
                                                "unlike_bytes": 0})
            self.assertEqual([(s["varies"], s["steady"], s["verified"]) for s in line["segments"]], [(True, 0, False)])
            self.assertRegex(line["reasons"][0], f"as much as it varies by itself: {EXECUTIONS} executions")
        self.assertRegex(strict.error, "mneme-verify: varies: kernel 'vary")

        lenient, lines = self.verify(runs, "--lenient")
        self.assertEqual(lenient.status, 0)
        self.assertEqual([(line["status"], line["verified"]) for line in lines], [("varies", True)] * 2)
        self.assertRegex(lenient.error, "mneme-verify: varies: ")
        self.assertNotIn("warning", lenient.error)

    def test_table_and_junit_say_which(self):
        runs, junit = self.with_baseline(), self.folder / "junit.xml"
        for options, status, tag in ([], 1, '<failure message="varies: '), (["--lenient"], 0, "<system-out>varies: "):
            result = run([tool("verify"), "--format", "table", "--junit", junit, *options], input=runs)
            self.assertEqual(result.status, status, result.text())
            self.assertRegex(result.out.decode(), r" varies\n.*\n(.*\n)*0 of 2 runs verified, 2 differing as much")
            self.assertEqual(junit.read_text().count(tag), 2)

    def test_a_tolerance_comes_first(self):
        runs = self.with_baseline()
        self.assertEqual([line["status"] for line in self.verify(runs, "--infer")[1]], ["verified"] * 2)
        _, lines = self.verify(runs, "--infer", "--threshold", "1e-9")
        self.assertEqual([line["status"] for line in lines], ["varies"] * 2)
        self.assertRegex(lines[0]["reasons"][0], r"more than 1e-09; .* differ by up to \d+ elements, scaled error")
        once = self.replayed(self.compiled(), "--baseline", EXECUTIONS, "--warmup", 0, "--iterations", 1)
        _, lines = self.verify(once, "--segment", lines[0]["segments"][0]["address"], "--dtype", "i32", "--threshold",
                               "0", "--lenient")
        self.assertEqual([line["status"] for line in lines], ["varies"] * 2, "whatever the policy's type")
        self.assertEqual([line["verified"] for line in lines], [True] * 2)

    def test_more_than_it_varies_fails(self):
        for change in self.SCALED, self.A_LITTLE:
            result, lines = self.verify(self.with_baseline(change), "--lenient")
            self.assertEqual(result.status, 1)
            self.assertEqual([line["status"] for line in lines], ["not verified"] * 2)
            for line in lines:
                self.assertRegex(line["reasons"][0], "this is more than it varies by itself|do not vary by themselves")

    def test_what_does_not_vary_fails(self):
        result, lines = self.verify(self.with_baseline(self.INEXACT), "--lenient")
        self.assertEqual(result.status, 1, lines)
        for line in lines:
            self.assertEqual(line["status"], "not verified")
            self.assertEqual(sorted(segment["varies"] for segment in line["segments"]), [False, True])
            self.assertRegex(line["reasons"][0], "the recorded code it does not vary$")
            self.assertRegex(line["reasons"][1], "as much as it varies by itself")

    def test_a_run_that_claims_to_vary_is_not_believed(self):
        """What does not vary is said to, in every execution; the blocks stored with the run show otherwise."""
        members = bundles.read(self.with_baseline(self.INEXACT))
        for i, member in enumerate(members):
            if not member.name.startswith("runs/"):
                continue
            run_ = bundles.parsed(member)
            for outcome in [run_, *run_["others"]]:
                for difference in outcome["differences"]:
                    difference["steady"] = 0
            members[i] = bundles.Member(member.name, bundles.compact(run_))
        result, lines = self.verify(bundles.write(members), "--lenient")
        self.assertEqual(result.status, 1)
        for line in lines:
            self.assertRegex(line["reasons"][0], "not believable: the blocks stored with it show other differences")

    def test_without_baseline_nothing_is_told(self):
        runs = self.replayed(self.compiled())
        self.assertEqual(runs.count(b'"baseline":'), 0)
        result, lines = self.verify(runs)
        self.assertEqual([line["status"] for line in lines], ["not verified"] * 2)
        self.assertNotIn("baseline", lines[0])
        self.assertNotIn("varies", result.out.decode())
        lenient, lines = self.verify(runs, "--lenient")
        self.assertEqual([line["status"] for line in lines], ["not verified"] * 2)
        self.assertEqual(len(re.findall("warning: --lenient lets nothing pass", lenient.error)), 1, lenient.error)

    def test_the_recorded_code_is_no_run(self):
        """Nor does it take the place of a variant that is compiled alike; with other variants of mneme-run's own."""
        runs = self.replayed(self.compiled(), "--baseline", 2, "--check-memory", "--iterations", 1)
        members = [bundles.parsed(m) for m in bundles.read(runs) if m.name.endswith("/variant.json")]
        self.assertEqual(sorted((v["configuration"]["passes"], "baseline" in v["configuration"],
                                 "check_memory" in v["configuration"]) for v in members),
                         [("default<O1>", False, True), ("default<O3>", False, False), ("default<O3>", True, False)])
        ran = {bundles.parsed(m)["variant"] for m in bundles.read(runs) if m.name.startswith("runs/")}
        self.assertEqual(ran, {v["id"] for v in members if "baseline" not in v["configuration"]})
        self.assertEqual(len(self.verify(runs)[1]), 4)
        alone = run([tool("run"), "--baseline", 3, self.varying])
        self.assert_refused(alone, 2, "nothing was run because nothing was compiled")

    def test_what_the_recorded_code_is_compiled_for(self):
        other = run([tool("run"), "--baseline", 2, "--target", "sm_90"], input=self.compiled())
        self.assert_refused(other, 2, "mneme-compile --as-recorded exited with status 2")
        self.assertIn("there is no code for cuda:sm_90", other.error)

    def test_what_does_not_vary_has_an_empty_baseline(self):
        """Atomics of floating point, too: the host device runs such kernels in order."""
        recording = self.record(self.build(PROGRAMS / "float_atomics.hip"), name="float_atomics.tar")
        result = self.run_well([tool("compile"), "-O2", recording], [tool("run"), "--baseline", 4],
                               [tool("verify"), "--lenient"])
        for line in map(json.loads, result.out.decode().splitlines()):
            self.assertEqual(line["status"], "verified")
            self.assertEqual((line["baseline"]["executions"], line["baseline"]["varying_segments"]), (4, 0))

    def test_a_changed_recording_does_not_pass_as_varying(self):
        recording = Recording(self.record(self.build(PROGRAMS / "vector_add.hip"), name="vector_add.tar").read_bytes())
        bundle, _, _ = recording.with_changed_epilogue(recording.instances[-1])
        runs = self.run_well([tool("compile"), "-O3"], [tool("run"), "--baseline", 3], input=bundle).out
        _, lines = self.verify(runs, "--lenient")
        self.assertEqual(lines[-1]["status"], "not verified")
        self.assertRegex(lines[-1]["reasons"][-1], "the recorded code itself does not reproduce the recording: 1 bytes differ from it")

    def test_recorded_code_that_fails_leaves_the_runs_alone(self):
        """Its output lies nowhere; a variant that writes nothing runs all the same."""
        recording = Recording(self.varying.read_bytes())
        bundle = recording.with_changed_argument(recording.instances[-1], 8, struct.pack("<Q", 8))
        ir, count = re.subn(r"\n  store float .*", "", self.ir)
        self.assertEqual(count, 1)
        (self.folder / "silent.ll").write_text(ir)
        compiled = self.run_well([tool("compile"), "--ir", self.folder / "silent.ll"], input=bundle).out
        result = run([tool("run"), "--baseline", 3], input=compiled)
        self.assertEqual(result.status, 0, result.text())
        self.assertRegex(result.error, "there is no baseline, because the recorded code failed: kernel 'vary")
        _, lines = self.verify(result.out, "--lenient")
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[-1]["baseline"]["executions"], 0)
        self.assertRegex(lines[-1]["baseline"]["reason"], "kernel 'vary")
        self.assertEqual(lines[-1]["status"], "not verified")
        self.assertRegex(lines[-1]["reasons"][-1], "not known, because the recorded code could not be replayed: kernel")

    def test_a_baseline_outlives_the_process_that_made_it(self):
        """A variant that fails takes its process with it; the next run is judged by the same baseline."""
        (self.folder / "trap.ll").write_text(re.sub(r"store float (%[\w.]+), ptr", r"call void @llvm.trap()\n  \g<0>",
                                                    self.ir, count=1) + "\ndeclare void @llvm.trap()\n")
        bundle = self.run_well([tool("compile"), "-O1", self.varying], [tool("compile"), "--ir", self.folder / "trap.ll"],
                               [tool("run"), "--baseline", EXECUTIONS]).out
        runs = [bundles.parsed(m) for m in bundles.read(bundle) if m.name.startswith("runs/")]
        self.assertEqual(sorted(r["status"] for r in runs), ["completed"] * 2 + ["failed"] * 2)
        _, lines = self.verify(bundle, "--lenient")
        self.assertEqual(sorted(line["status"] for line in lines), ["failed"] * 2 + ["varies"] * 2)

    def test_runs_are_passed_on_with_their_baselines(self):
        first, second = [json.loads(line)["instance"] for line in
                         run([tool("verify")], input=self.with_baseline()).out.decode().splitlines()]
        runs = self.replayed(self.compiled(), "--baseline", EXECUTIONS, "--keep")
        again = self.run_well([tool("run"), "--instance", second], input=runs).out
        _, lines = self.verify(again, "--lenient")
        self.assertEqual([(line["instance"], line["status"]) for line in lines],
                         [(first, "varies"), (second, "not verified")])

    def test_a_limit_is_said(self):
        result = self.run_well([tool("compile"), "-O3", self.varying],
                               [tool("run"), "--baseline", EXECUTIONS, "--max-diff", "64K"])
        self.assertRegex(result.error, "not all varying bytes are marked: raise --max-diff")
        _, lines = self.verify(result.out, "--lenient")
        self.assertEqual([line["status"] for line in lines], ["not verified"] * 2)
        self.assertRegex(lines[0]["reasons"][0], "as far as was looked at .*--max-diff")

    def test_settings_hold_for_it(self):
        result = run([tool("run"), "--baseline", 3, "--poison", "--move-globals", "--device", "host"],
                     input=self.compiled())
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual({line["baseline"]["executions"] for line in self.verify(result.out)[1]}, {3})

    def test_wrong_options_are_refused(self):
        compiled = self.compiled()
        for number in "1", "1000001", "x":
            self.assert_refused(run([tool("run"), "--baseline", number], input=compiled), 2, "baseline")
        self.assert_refused(run([tool("compile"), "--as-recorded", "-O2"], input=compiled), 2, "--as-recorded and -O exclude")
        quiet = self.run_well([tool("run"), "--baseline", "0"], input=compiled)
        self.assertEqual(quiet.out.count(b'"baseline":'), 0)
        meant_for_compile = run([tool("run"), "--baseline", "2"], input=compiled,
                                env={"MNEME_PASSES": "default<O2>", "MNEME_FOLLOW": "/nowhere"})
        self.assertEqual(meant_for_compile.status, 0, meant_for_compile.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
