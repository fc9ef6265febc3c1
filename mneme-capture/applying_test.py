#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-capture --apply: variants in the running application. A variant whose result differs where the recorded launch
does not show it tells whether it ran."""

import json
import re
import unittest

import mpi_test
from capturing import HERE, INCLUDE, PROGRAMS, CaptureCase, run, tool

import choosing

KERNEL = r"work\(float const\*, float\*, int, int\)"


class Applying(CaptureCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.app = cls.program("tuned_launches")
        cls.recorded = cls.folder / "recorded.tar"
        cls.well([tool("capture"), "--device", "host", "-o", cls.recorded, cls.app, "plain", "64", "1"])
        # Right for 64 rounds: with more it forgets one.
        cls.ir = cls.folder / "work.ll"
        cls.well([tool("extract-ir"), "-o", cls.folder / "work.bc", cls.recorded])
        cls.well(["llvm-dis-19", cls.folder / "work.bc", "-o", cls.ir])
        cls.tuned = cls.tune("tuned", "-O3")
        cls.wrong = cls.tune("wrong", "-O3", "--ir", cls.at_most_64_rounds())

    @classmethod
    def well(cls, *stages):
        result = run(*stages)
        if any(result.statuses):
            raise AssertionError(result.text())
        return result

    @classmethod
    def at_most_64_rounds(cls):
        """A file with the kernel's IR, whose number of rounds is that at the most."""
        text = cls.ir.read_text()
        body = re.search(r"define [^\n]*amdgpu_kernel[^\n]*\{\n(.*?)\n\}", text, re.DOTALL)
        entry = body.group(1)
        changed = re.sub(r"%3\b", "%rounds", entry)
        changed = re.sub(r"\A(\d+:\n)?", r"\1  %rounds = call i32 @llvm.smin.i32(i32 %3, i32 64)\n", changed, count=1)
        path = cls.folder / "wrong.ll"
        path.write_text(text.replace(entry, changed) + "\ndeclare i32 @llvm.smin.i32(i32, i32)\n")
        return path

    @classmethod
    def tune(cls, name, *options, recorded=None, judged=()):
        """A bundle that chooses the variant with these options; the baseline is another one."""
        path = cls.folder / f"{name}.tar"
        cls.well([tool("compile"), *options, recorded or cls.recorded], [tool("compile"), "-O0"],
                 [tool("run"), "--rounds", "7", "-o", cls.folder / "runs.tar"])
        cls.well([tool("restore"), "--tuned", *judged, "-o", path, cls.folder / "runs.tar"])
        return path

    def own(self, *arguments):
        return self.capture(self.app, *arguments, options=["--max-instances", "0"]).out

    def apply(self, bundle, *arguments, options=(), status=0):
        """What the application writes, and the report."""
        report = self.folder / "report.json"
        result = self.capture(self.app, *arguments, options=["--apply", bundle, "--report", report, *options], status=status)
        self.messages = result.errors[-1]
        return result.out, json.loads(report.read_text())

    def test_variant_is_launched(self):
        out, report = self.apply(self.tuned, "plain", "64", "5")
        self.assertEqual(out, self.own("plain", "64", "5"))
        self.assertEqual((report["launches"], report["applied"], report["misses"]), (5, 5, []))
        out, report = self.apply(self.wrong, "plain", "64", "5")
        self.assertEqual(out, self.own("plain", "64", "5"))
        out, report = self.apply(self.wrong, "plain", "67", "5")
        self.assertEqual(report["applied"], 5)
        self.assertNotEqual(out, self.own("plain", "67", "5"))

    def test_other_dimensions_miss(self):
        out, report = self.apply(self.wrong, "plain", "67", "3", "256")
        self.assertEqual(out, self.own("plain", "67", "3", "256"))
        self.assertEqual((report["launches"], report["applied"], report["misses"][0]["launches"]), (3, 0, 3))
        self.assertRegex(report["misses"][0]["reason"], "no choice has its grid, block")
        self.assertRegex(self.messages, "no launch was applied")

    def test_guards(self):
        bundle = self.tune("guarded", "-O3", "--specialize-args", "2,3")
        out, report = self.apply(bundle, "plain", "64", "3")
        self.assertEqual((out, report["applied"]), (self.own("plain", "64", "3"), 3))
        out, report = self.apply(bundle, "plain", "65", "3")
        self.assertEqual((out, report["applied"]), (self.own("plain", "65", "3"), 0))
        self.assertRegex(report["misses"][0]["reason"], "specialised for have other values")
        out, report = self.apply(bundle, "plain", "64", "3", options=["--check", "2"])
        self.assertEqual((report["choices"][0]["checked"], report["choices"][0]["differing"]), (2, 0))

    def test_cooperative_launches(self):
        recorded = self.folder / "cooperative.tar"
        self.well([tool("capture"), "--device", "host", "-o", recorded, self.app, "cooperative", "64", "1"])
        bundle = self.tune("together", "-O3", recorded=recorded)
        out, report = self.apply(bundle, "cooperative", "64", "3")
        self.assertEqual((out, report["applied"]), (self.own("cooperative", "64", "3"), 3))
        _, report = self.apply(bundle, "plain", "64", "3")
        self.assertEqual((report["applied"], report["misses"][0]["launches"]), (0, 3))

    def test_streams(self):
        _, report = self.apply(self.tuned, "beside", "64", "20")
        self.assertEqual((report["applied"], report["misses"]), (20, []))

    def test_check_knows_tolerances(self):
        """Inferred ones, and the application's annotations."""
        bundle = self.tune("fused", "-O3", "--fuse", judged=["--infer"])
        for options, differs in ([], 1), (["--infer"], 0):
            _, report = self.apply(bundle, "plain", "64", "3", options=["--check", "1", *options], status=differs)
            self.assertEqual((report["differing"], report["applied"]), (differs, 2 * (1 - differs)), self.messages)
        _, report = self.apply(bundle, "annotated", "64", "3", options=["--check", "1"])
        self.assertEqual((report["differing"], report["applied"]), (0, 2), self.messages)

    def test_code_that_cannot_be_loaded(self):
        """Another version's, or none at all."""
        bundle = self.folder / "broken.tar"
        bundle.write_bytes(choosing.tuned(self.recorded.read_bytes(), b"nothing", "host", "x86-64", [choosing.key(32, 128)],
                                          suffix="so"))
        out, report = self.apply(bundle, "plain", "64", "3")
        self.assertEqual((out, report["applied"]), (self.own("plain", "64", "3"), 0))
        self.assertRegex(self.messages, f"kernel '{KERNEL}': variant .* is not applied: ")
        self.assertEqual([(miss["reason"], miss["launches"]) for miss in report["misses"]], [(choosing.REFUSED, 3)])

    def test_other_launch(self):
        bundle = self.tune("other_launch", "-O3", "--block", "64", "--grid", "64")
        out, report = self.apply(bundle, "plain", "64", "3")
        self.assertEqual((out, report["applied"]), (self.own("plain", "64", "3"), 3))

    def test_graphs(self):
        out, report = self.apply(self.wrong, "graph", "67", "4")
        self.assertEqual(report["applied"], 4)
        self.assertNotEqual(out, self.own("graph", "67", "4"))
        out, report = self.apply(self.tuned, "graph", "64", "4")
        self.assertEqual((out, report["applied"]), (self.own("graph", "64", "4"), 4))

    def test_forks_and_devices(self):
        out, report = self.apply(self.tuned, "fork", "64", "3")
        self.assertEqual((sorted(out.splitlines()), report["applied"]), (sorted(self.own("fork", "64", "3").splitlines()), 6))
        out, report = self.apply(self.tuned, "devices", "64", "3", options=["--host-devices", "2"])
        self.assertEqual((len(out.splitlines()), report["applied"]), (2, 6))
        self.assertEqual(*out.splitlines())

    def test_ranks(self):
        launcher = self.folder / "mpirun"
        launcher.write_text(mpi_test.STAND_IN)
        launcher.chmod(0o755)
        report = self.folder / "report.json"
        for options, applied, checked in ([], 6, 0), (["--check", "1"], 4, 2):
            self.capture(launcher, "-n", "2", self.app, "plain", "64", "3",
                         options=["--apply", self.tuned, "--report", report, *options])
            found = json.loads(report.read_text())
            self.assertEqual((found["applied"], found["choices"][0]["checked"]), (applied, checked))
        result = run([launcher, "-n", "2", tool("capture"), "--device", "host", "--apply", self.tuned, "--summary", self.app,
                      "plain", "64", "3"])
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual(len(re.findall("3 launches of kernels with choices, 3 applied", result.error)), 2, result.text())

    def test_check_takes_out_what_differs(self):
        out, report = self.apply(self.tuned, "plain", "64", "5", options=["--check", "2"])
        self.assertEqual((report["applied"], report["choices"][0]["checked"]), (3, 2))
        out, report = self.apply(self.wrong, "plain", "67", "5", options=["--check", "2"], status=1)
        self.assertEqual(out, self.own("plain", "67", "5"))
        self.assertEqual((report["applied"], report["differing"], report["choices"][0]["checked"]), (0, 1, 1))
        self.assertRegex(report["choices"][0]["reason"], "result differs")
        self.assertRegex(self.messages, f"kernel '{KERNEL}': variant .* is not applied: its result differs")

    def test_variant_that_faults(self):
        path = self.folder / "faults.ll"
        path.write_text(self.faulting(self.ir.read_text()))
        bundle = self.tune("faults", "-O3", "--ir", path)
        out, report = self.apply(bundle, "plain", "67", "5", options=["--check", "1"], status=1)
        self.assertEqual(out, self.own("plain", "67", "5"))
        self.assertRegex(report["choices"][0]["reason"], "it fails: .*0x10")
        out, report = self.apply(bundle, "plain", "67", "5", status=1)
        self.assertEqual(out, self.own("plain", "67", "5"))
        self.assert_faulted(report, launches=5, applied=0)
        out, report = self.apply(bundle, "rising", "62", "5", status=1)
        self.assertEqual(out, self.own("rising", "62", "5"))
        self.assert_faulted(report, launches=5, applied=3)
        out, report = self.apply(bundle, "rising", "67", "1", options=["--measure"])
        self.assertEqual((report["choices"][0]["own"], report["faulted"]), (1, 0))

    def assert_faulted(self, report, launches, applied):
        """In one launch, which is named once; those after it were made by the application's own code."""
        choice = report["choices"][0]
        own = sum(miss["launches"] for miss in report["misses"])
        self.assertEqual((report["launches"], report["applied"], choice["faulted"], report["faulted"], own),
                         (launches, applied, 1, 1, launches - applied - 1))
        named = re.findall(f"kernel '{KERNEL}': variant .* is not applied: it fails, and the application's own code ran in "
                           "its place: .*0x10", self.messages)
        self.assertEqual(len(named), 1, self.messages)

    def test_fault_of_a_kernel_that_may_write_anything(self):
        app, recorded, ir = self.program("nested_pointers"), self.folder / "nested.tar", self.folder / "nested.ll"
        self.well([tool("capture"), "--device", "host", "-o", recorded, app, "62", "1"])
        self.well([tool("extract-ir"), "-S", "-o", ir, recorded])
        ir.write_text(self.faulting(ir.read_text()))
        bundle, report = self.tune("nested", "-O3", "--ir", ir, recorded=recorded), self.folder / "report.json"
        own = self.capture(app, "62", "5", options=["--max-instances", "0"]).out
        result = self.capture(app, "62", "5", options=["--apply", bundle, "--report", report], status=1)
        report = json.loads(report.read_text())
        self.assertEqual((result.out, report["applied"], report["faulted"]), (own, 3, 1), result.text())

    def test_fault_that_cannot_be_undone(self):
        """What another stream wrote meanwhile would be lost."""
        path = self.folder / "faults.ll"
        path.write_text(self.faulting(self.ir.read_text()))
        bundle = self.tune("faults", "-O3", "--ir", path)
        out, report = self.apply(bundle, "beside", "65", "1", status=4)
        self.assertEqual((report["faulted"], report["applied"]), (1, 0))
        self.assertRegex(self.messages, "it fails: .*0x10.*; the launch fails, because the memory that it may write cannot "
                                        "be put back: other work was under way at the same time")
        out, report = self.apply(bundle, "beside", "60", "4")
        self.assertEqual((out, report["faulted"]), (self.own("beside", "60", "4"), 0))

    def test_every_fault_is_undone(self):
        """Also where other streams have work, and the fault comes late in a run whose copies cost much."""
        path = self.folder / "faults.ll"
        path.write_text(self.faulting(self.ir.read_text()))
        bundle = self.tune("faults", "-O3", "--ir", path)
        for arguments, applied in (["beside", "65", "1"], 0), (["rising", "-400", "500"], 465):
            out, report = self.apply(bundle, *arguments, options=["--undo", "always"], status=1)
            self.assertEqual(out, self.own(*arguments))
            self.assertEqual((report["faulted"], report["applied"]), (1, applied))

    @staticmethod
    def faulting(text):
        """The kernel with a store to address 16 where there are more than 64 rounds."""
        store = list(re.finditer(r"  store float (%\w+), ptr (%\w+),[^\n]*\n", text))[-1]
        wild = (f"  %far = icmp sgt i32 %3, 64\n"
                f"  %place = select i1 %far, ptr inttoptr (i64 16 to ptr), ptr {store.group(2)}\n")
        return text.replace(store.group(0), store.group(0) + wild + store.group(0).replace(store.group(2) + ",", "%place,"), 1)

    def test_times_are_compared(self):
        _, report = self.apply(self.tuned, "plain", "64", "40", options=["--measure"])
        one = report["choices"][0]
        self.assertEqual((one["applied"], one["rounds"], one["clock"]), (20, 20, "events"))
        self.assertLessEqual(one["low"], one["ratio"])
        self.assertGreater(one["own_ns"], 0)
        wall = report["wall"]
        self.assertEqual((wall["seconds"], wall["left_out"], wall["checked"]), (report["seconds"], 0, False))
        for name in ("own", "variants", "ratio"):
            self.assertLessEqual(wall[name]["low"], wall[name]["estimate"])
            self.assertLessEqual(wall[name]["estimate"], wall[name]["high"])
        saved = one["variant_ns"] / 1e9 * (one["ratio"] - 1) * 20
        self.assertAlmostEqual(wall["own"]["estimate"], wall["seconds"] + saved)
        self.assertAlmostEqual(wall["variants"]["estimate"], wall["seconds"] - saved)
        self.assertAlmostEqual(wall["ratio"]["estimate"], wall["own"]["estimate"] / wall["variants"]["estimate"])
        _, report = self.apply(self.tuned, "plain", "64", "13", options=["--measure", "--check", "1", "--summary"])
        self.assertTrue(report["wall"]["checked"])
        self.assertRegex(self.messages, r"the run took .* s; estimated by the kernels' times: .* s \(.* to .*\) with its own "
                                        r"code alone, .* with the variants alone: .* times as fast .*; checking took some")
        _, report = self.apply(self.tuned, "plain", "64", "6", options=["--measure"])
        self.assertNotIn("wall", report)

    def test_kernels_are_selected(self):
        _, report = self.apply(self.tuned, "plain", "64", "3", options=["--kernel", "^work"])
        self.assertEqual(report["applied"], 3)
        result = run([tool("capture"), "--device", "host", "--apply", self.tuned, "--kernel", "play", self.app])
        self.assert_refused(result, 2, "--kernel 'play'|no kernel")

    def test_recording_goes_together(self):
        bundle = self.folder / "both.tar"
        for recorded, same in (("own", True), ("variant", False)):
            self.apply(self.wrong, "plain", "67", "3", options=["-o", bundle, "--record-applied", recorded])
            result = run([tool("compile"), "-O1", bundle], [tool("run")], [tool("verify"), "-o", self.folder / "v"])
            self.assertEqual(result.status == 0, same, result.text())

    def test_bad_input(self):
        other = self.build(self.changed_source(), "changed", "-O2", f"-I{INCLUDE}")
        report = self.folder / "report.json"
        result = self.capture(other, "plain", "64", "3", options=["--apply", self.tuned, "--report", report])
        misses = json.loads(report.read_text())["misses"]
        reason = "its code differs from the code that was tuned"
        self.assertEqual([(miss["reason"], miss["launches"]) for miss in misses], [(reason, 3)])
        self.assertRegex(result.errors[-1], f"no launch was applied: .* the first reason: {reason}")
        text = self.tuned.read_bytes()
        cut = self.folder / "cut.tar"
        cut.write_bytes(text[:len(text) // 2])
        nothing = self.folder / "nothing.tar"
        nothing.write_bytes(b"nothing")
        for bundle, pattern in ((self.recorded, "chooses no variants: make a bundle that does with mneme-restore --tuned"),
                                (cut, "cut short|ends"), (nothing, "no bundle|not a"), (self.folder / "none", "No such file")):
            result = run([tool("capture"), "--device", "host", "--apply", bundle, self.app])
            self.assert_refused(result, 2, pattern)
        for options in (["--measure"], ["--check", "1"], ["--report", "x"], ["--record-applied", "variant"]):
            result = run([tool("capture"), "--device", "host", *options, self.app])
            self.assert_refused(result, 2, "needs --apply")

    def changed_source(self):
        path = self.folder / "changed.hip"
        path.write_text((HERE / "test_programs" / "tuned_launches.hip").read_text()
                        .replace("value > 0.5f", "value > 0.6f")
                        .replace('"../../tests/programs/check.h"', f'"{PROGRAMS / "check.h"}"'))
        return path


if __name__ == "__main__":
    unittest.main()
