#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-reduce: bundles that show a fault by themselves, and what is no evidence of one; mneme-restore --edit below it."""

import dataclasses
import json
import re
import shutil
import sys
import unittest

import bundles
from planted_mistakes import FOLDER, VECTORISED, needs_masks, plugin
from support import ROOT, TestCase, run, tool

sys.path.insert(0, str(ROOT / "python"))
from mneme.memory import Segment  # noqa: E402
from mneme.reduction import case, interesting, launch  # noqa: E402

PATIENCE = "6"  # seconds of llvm-reduce


class Pieces(unittest.TestCase):
    def test_least_number(self):
        for least, most in ((1, 1), (1, 100), (3, 100), (64, 100), (70, 100)):
            power = 1 << (least - 1).bit_length()
            self.assertEqual(launch.least_number(most, lambda number: number >= least), min(power, most))

    def test_complement(self):
        segments = [Segment(100, 50, "heap", ""), Segment(200, 10, "heap", "")]
        self.assertEqual(launch.complement(segments, []), [(100, 50), (200, 10)])
        self.assertEqual(launch.complement(segments, [(100, 10), (120, 30)]), [(110, 10), (200, 10)])
        self.assertEqual(launch.complement(segments, [(100, 50), (204, 2)]), [(200, 4), (206, 4)])

    def test_undefined_values(self):
        self.assertEqual(interesting.undefined("store i32 undef, ptr poison ; undefined\n  unreachable"), 3)


@unittest.skipUnless(shutil.which("llvm-reduce-19"), "llvm-reduce-19 is not installed")
class Reduce(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(FOLDER / "blend.hip"))

    def reduce(self, name, *options, of=None):
        self.output = self.folder / name
        return run([tool("reduce"), "-o", self.output, "-j", "2", "--time", PATIENCE, *options, of or self.recording])

    def reduced(self, name, *options):
        """Its output; what it leaves is small, and by itself shows the fault and what is right."""
        result = self.reduce(name, *options)
        self.assertEqual(result.status, 0, result.text())
        self.bundle = self.output / "reduced.tar"
        self.assertLess(self.bundle.stat().st_size, 100_000)
        members = bundles.read(self.bundle.read_bytes())
        [instance] = [bundles.parsed(member) for member in members if member.name.startswith("instances/")]
        self.assertEqual(instance["grid"], [1, 1, 1])
        self.assertEqual([member.name for member in members if member.name.startswith(("variants/", "runs/"))], [])
        self.run_well([tool("restore"), "--check", self.bundle])
        return result.out.decode()

    def judged(self, *options):
        report = run([tool("compile"), *options, self.bundle], [tool("run")], [tool("verify")]).out.decode()
        return [json.loads(line)["status"] for line in report.splitlines()]

    @needs_masks
    def test_llvms_own(self):
        options = "--kernel", "share", "--bad", VECTORISED
        said = self.reduced("own", *options)
        lines = re.search(r"^IR: (\d+) of (\d+) lines$", said, re.MULTILINE)
        self.assertLess(int(lines[1]), int(lines[2]) // 4)
        self.assertEqual([self.judged("--passes", VECTORISED), self.judged("-O2")], [["not verified"], ["verified"]])
        ir = (self.output / "reduced.ll").read_text()
        self.assertIn("udiv", ir)
        # Nor has each thread the same place to store to, where the last one would win.
        [store] = re.findall(r"store i32 .*, ptr addrspace\(1\) (%[\w.]+)", ir)
        self.assertRegex(ir, rf"(?m)^  {re.escape(store)} = getelementptr")
        report = (self.output / "report.md").read_text()
        self.assertIn(ir.strip(), report)
        self.assertIn("1 of 2 runs verified", report)
        self.assertNotIn(str(self.folder), report)
        # The folder can be moved, with the command that shows it.
        moved = self.output.rename(self.folder / "moved")
        self.assertIn("1 of 2 runs verified", run(["sh", moved / "show.sh"]).out.decode())
        # It goes on, and not with another fault.
        moved.rename(self.output)
        self.assertIn("the IR goes on from", self.reduced("own", "--time", "1", *options))
        self.assert_refused(self.reduce("own", "--kernel", "share", "--bad", VECTORISED, "--timeout", "9"), 2, "another fault's reduction")

    def test_a_planted_pass(self):
        planted = f"--compile-flags=--load-pass-plugin {plugin()}"
        self.reduced("planted", "--kernel", "blend", planted, "--bad", "O2")
        self.assertIn("fsub", (self.output / "reduced.ll").read_text())
        self.run_well([tool("bisect"), planted, "--bad", "O2", "-o", self.folder / "pass", self.bundle])
        self.assertRegex(json.loads((self.folder / "pass" / "result.json").read_text())["name"], "PlantedPass$")

    def test_threads_that_race(self):
        """Where all threads of a block store to one place, their order decides."""
        ir = self.folder / "racing.ll"
        recorded = self.run_well([tool("extract-ir"), "-S", "--kernel", "share", self.recording]).out.decode()
        name = re.search(r"define .*amdgpu_kernel .*@(\w+)\(", recorded)[1]
        instance = next(bundles.parsed(member)["id"] for member in bundles.read(self.recording.read_bytes())
                        if member.name.startswith("instances/") and bundles.parsed(member)["index"] == 1)
        fault = case.Case(str(self.recording), "share", instance, {}, {"grid": [2, 1, 1]}, on_host=True)
        for place, when_watched in (("%block", ""), ("%each", case.DIFFERS)):
            ir.write_text(f"""target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @{name}(ptr addrspace(1) %0, ptr addrspace(1) %1, ptr addrspace(1) %out, i32 %3, i32 %4, i32 %5) {{
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = mul i32 %block, 128
  %each = add i32 %first, %thread
  %to = getelementptr i32, ptr addrspace(1) %out, i32 {place}
  store i32 %thread, ptr addrspace(1) %to
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
""")
            for watched, expected in ((False, case.DIFFERS), (True, when_watched)):
                with self.subTest(place=place, watched=watched):
                    one = dataclasses.replace(fault, is_watched=watched)
                    self.assertEqual(case.symptom_of(one, self.recording, ir, instance), expected)

    def test_slower(self):
        self.reduced("slower", "--kernel", "blend", "--good", "O3", "--bad", "O0", "--slower", "1.3", "--rounds", "6")
        report = (self.output / "report.md").read_text()
        self.assertIn("the bad configuration is slower", report)
        self.assertRegex(report, r"default<O0> .* slower  verified\n2 of 2 runs verified")

    def test_what_is_not_compiled(self):
        self.reduced("uncompiled", "--kernel", "share", "--good", "O1", "--bad", "no-such-pass")
        # Anything is not compiled so; but the good configuration has to change memory.
        self.assertIn("store ", (self.output / "reduced.ll").read_text())
        self.assertEqual(self.judged("-O1"), ["verified"])

    def test_no_evidence(self):
        result = self.reduce("none", "--kernel", "share", "--bad", "O2")
        self.assert_refused(result, 1, "no launch shows it: the bad configuration does as the good one")
        self.assertRegex(result.out.decode(), "^launch [0-9a-f]{12}: nothing to be seen\n$")
        # Where it is the good configuration that is wrong.
        planted = f"--compile-flags=--load-pass-plugin {plugin()}"
        result = self.reduce("wrong", "--kernel", "blend", planted, "--good", "O1", "--bad", '{"plugins":""}')
        self.assert_refused(result, 1, "leaves other memory than code without optimisation")
        self.assert_refused(self.reduce("usage"), 2, "several kernels; choose with --kernel")
        for words, said in ((["-j", "0"], "--jobs takes a number above 0"), (["--slower", "2"], "--slower needs --good")):
            self.assertIn(said, self.reduce("usage", *words).error)


class Edits(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"), options=["--max-instances", "1"])

    def edit(self, of=None, **keys):
        path = self.folder / "edit.json"
        path.write_text(json.dumps(keys))
        return run([tool("restore"), "--kernel", "^add", "--edit", path, of or self.recording])

    def edited(self, **how):
        result = self.edit(**how)
        self.assertEqual(result.status, 0, result.text())
        return result.out

    def instance(self, archive):
        return next(bundles.parsed(member) for member in bundles.read(archive) if member.name.startswith("instances/"))

    def ran(self, bundle, *options):
        path = self.folder / "runs.tar"
        self.run_well([tool("compile"), "--kernel", "^add", *options], [tool("run"), "--kernel", "^add", "--keep", "-o", path], input=bundle)
        return path

    def test_a_result_that_is_accepted(self):
        runs = self.ran(self.recording, "--grid", "10")
        variant = next(member.name.split("/")[2] for member in bundles.read(runs.read_bytes()) if member.name.startswith("variants/"))
        self.assertEqual(run([tool("verify"), runs]).status, 1)
        accepted = self.edited(of=runs, accept=variant)
        self.run_well([tool("compile"), "--grid", "10"], [tool("run")], [tool("verify")], input=accepted)
        self.assertEqual(run([tool("compile")], [tool("run")], [tool("verify")], input=accepted).status, 1)
        self.assert_refused(self.edit(of=runs, accept="0" * 32), 2, "has no run of variant 0000")
        self.assert_refused(self.edit(of=runs, accept=variant, grid=[1, 1, 1]), 2, "excludes all other keys")

    def test_memory(self):
        before = self.instance(self.recording.read_bytes())
        [first, *_] = bundles.segments(before)
        address, size = int(first["address"], 16), first["size"]
        zeros = [{"address": hex(address + 10), "size": 70000}]
        edited = self.edited(zero=zeros, segments=[{"address": hex(address), "size": size - 1000}], grid=[2, 1, 1], block=[64, 1, 1])
        instance = self.instance(edited)
        self.assertEqual((instance["grid"], instance["block"]), ([2, 1, 1], [64, 1, 1]))
        self.assertEqual(next(bundles.segments(instance))["size"], size - 1000)
        memory = {}
        for archive, state in ((self.recording.read_bytes(), before["prologue"]), (edited, instance["prologue"])):
            restored = bundles.read(self.run_well([tool("restore"), "--kernel", "^add"], input=archive).out)
            memory[state] = next(member.data for member in restored if member.name == f"memory/{state}/{first['address']}.raw")
        whole, cut = memory[before["prologue"]], memory[instance["prologue"]]
        self.assertEqual(cut, whole[:10] + bytes(70000) + whole[70010:size - 1000])
        self.assertEqual(list(bundles.segments(self.instance(self.edited(segments=[{"address": hex(address), "size": 0}])))),
                         list(bundles.segments(before))[1:])

    def test_what_cannot_be(self):
        address = self.instance(self.recording.read_bytes())["segments"][0]["address"]
        for keys, said in (({"zeros": []}, "'zeros' is no key of an edit"),
                           ({"segments": [{"address": address, "size": 1 << 40}]}, "cannot be made 1099511627776"),
                           ({"zero": [{"address": "0xffffffffffffffff", "size": 1}]}, "leads beyond all addresses"),
                           ({"grid": [1, 0, 1]}, "grid"), ({"ir": str(self.folder / "absent.bc")}, "absent.bc")):
            self.assert_refused(self.edit(**keys), 2, said)
        for words, said in ((["--raw"], "leave out --raw"), ([self.recording], "--edit takes one bundle")):
            self.assert_refused(run([tool("restore"), "--edit", self.folder / "edit.json", self.recording, *words]), 2, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
