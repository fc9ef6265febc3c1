#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-compile --variants: what comes of many configurations at a time, and what the tools behind it make of that."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import bundles  # noqa: E402
from support import ROOT, TestCase, run, tool  # noqa: E402

LEVELS = [{"passes": f"default<O{level}>", "codegen_opt": codegen} for level in "0123sz" for codegen in range(4)]


class Variants(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))

    def file(self, lines):
        path = self.folder / "variants.jsonl"
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    def compile(self, lines, *options, **how):
        return run([tool("compile"), "--variants", self.file(lines), *options, self.recording], **how)

    def bundle(self, lines, *options):
        result = self.compile(lines, "--kernel", "^add", *options)
        self.assertEqual(result.status, 0, result.text())
        return result.out

    def variants(self, bundle):
        return [bundles.parsed(member) for member in bundles.read(bundle) if member.name.endswith("/variant.json")]

    def codes(self, bundle):
        """The code members, by variant."""
        return {member.name.split("/")[2]: member.data for member in bundles.read(bundle)
                if member.name.startswith("variants/") and "/code." in member.name}

    def report(self, bundle, status=0):
        result = run([tool("run")], [tool("verify")], input=bundle)
        self.assertEqual(result.statuses, [0, status], result.text())
        return {(line["variant"], line["instance"]): line for line in map(json.loads, result.out.decode().splitlines())}

    def test_each_is_what_it_is_alone(self):
        bundle = self.bundle(LEVELS)
        variants, codes = self.variants(bundle), self.codes(bundle)
        self.assertEqual(len(variants), len(LEVELS))
        for wanted, variant in zip(LEVELS, variants):
            alone = self.run_well([tool("compile"), "--kernel", "^add", "--passes", wanted["passes"], "--codegen-opt",
                                   wanted["codegen_opt"], self.recording]).out
            [single] = self.variants(alone)
            code = codes[variant.get("same_as", variant["id"])]
            self.assertEqual(self.codes(alone), {variant["id"]: code})
            for key, value in single.items():
                self.assertEqual(variant[key] if key != "digest" else value, value, key)

    def test_in_order_however_many_at_a_time(self):
        first = self.bundle(LEVELS, "-j", "1")
        order = [(v["configuration"]["passes"], v["configuration"]["codegen_opt"]) for v in self.variants(first)]
        self.assertEqual(order, [(v["passes"], v["codegen_opt"]) for v in LEVELS])
        seen = bundles.read(first)[0]
        for jobs in ["3", "16"]:
            again = self.bundle(LEVELS, "-j", jobs)
            self.assertNotEqual(bundles.read(again)[0].data, seen.data)  # the options that it was made with
            self.assertEqual([(m.name, m.data) for m in bundles.read(again)[1:]],
                             [(m.name, m.data) for m in bundles.read(first)[1:]])

    def test_the_same_configuration_twice_is_one_variant(self):
        bundle = self.bundle([{}, {"passes": "default<O3>"}, {"codegen_opt": 3, "fuse": False}, {"fuse": True}])
        self.assertEqual([v["configuration"]["fuse"] for v in self.variants(bundle)], [False, True])

    def test_the_same_code_is_stored_and_run_once(self):
        bundle = self.bundle([{}, {"passes": "default<O3>,verify"}, {"passes": "default<O0>"}, {"passes": "verify,default<O3>"}])
        first, second, other, third = self.variants(bundle)
        self.assertEqual((second["same_as"], third["same_as"]), (first["id"], first["id"]))
        for variant in [first, other]:
            self.assertNotIn("same_as", variant)
        self.assertEqual(list(self.codes(bundle)), [first["id"], other["id"]])
        self.assertEqual(bundles.parsed(bundles.read(bundle)[0])["version"], 2)

        report = self.report(bundle)
        instances = {instance for _, instance in report}
        self.assertEqual((len(instances), len(report)), (2, 8))
        for instance in instances:
            ran, same = report[first["id"], instance], report[second["id"], instance]
            self.assertEqual(same["same_as"], first["id"])
            self.assertNotIn("same_as", ran)
            for key in ["min_ns", "median_ns", "changed_bytes", "status"]:
                self.assertEqual(same[key], ran[key])
        table = self.run_well([tool("run")], [tool("verify"), "--format", "table"], input=bundle).out.decode()
        self.assertIn(f"{second['id'][:12]} = {first['id'][:12]}", table)
        said = run([tool("run"), "-v"], input=bundle).error
        self.assertRegex(said, f"variant {second['id'][:12]}: [0-9]+ ns on host, as variant {first['id'][:12]}")

    def test_the_same_code_with_other_results_counts_for_all(self):
        """What is wrong with one is wrong with all."""
        result = self.run_well([tool("extract-ir"), "-S", "--kernel", "^add", self.recording])
        edited = self.folder / "edited.ll"
        edited.write_text(re.sub("fadd contract float", "fsub contract float", result.out.decode()))
        bundle = self.bundle([{}, {"passes": "default<O3>,verify"}, {"ir": ""}], "--ir", edited)
        wrong, same, right = self.variants(bundle)
        self.assertEqual(same["same_as"], wrong["id"])
        for (variant, _), line in self.report(bundle, status=1).items():
            self.assertEqual(line["verified"], variant == right["id"], line)

    def test_what_cannot_be_compiled_is_a_failed_variant(self):
        lines = [{}, {"passes": "no-such-pass"}, {"passes": "trigger-crash-module"}, {"passes": "default<O1>"},
                 {"passes": "function(trigger-verifier-error),verify"}]
        result = self.compile(lines, "--kernel", "^add")
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual(len(re.findall("^mneme-compile: warning: line [235]: kernel '.*', variant .* failed: ", result.error, re.M)), 3,
                         result.text())
        variants = self.variants(result.out)
        self.assertEqual(["failed" in variant for variant in variants], [False, True, True, False, True])
        self.assertRegex(variants[1]["failed"], "unknown pass name 'no-such-pass'")
        self.assertRegex(variants[2]["failed"], "compiling the kernel 'add.*' with 'trigger-crash-module' was killed by SIG")
        self.assertRegex(variants[4]["failed"], "^LLVM gave up: Broken (function|module) found, compilation aborted!$")
        self.assertNotIn("code", variants[1])
        self.assertEqual(list(self.codes(result.out)), [variants[0]["id"], variants[3]["id"]])

        for (variant, _), line in self.report(result.out, status=1).items():
            [compiled] = [v for v in variants if v["id"] == variant]
            if "failed" not in compiled:
                self.assertTrue(line["verified"], line)
                continue
            self.assertEqual(line["status"], "failed")
            self.assertEqual(line["reasons"], ["it was not compiled: " + compiled["failed"]])

    def test_one_that_takes_too_long_fails(self):
        variants = self.variants(self.bundle([{}, {"fuse": True}], "--compile-timeout", "0.001"))
        for variant in variants:
            self.assertRegex(variant["failed"], "compiling the kernel 'add.*' with 'default<O3>' took longer than 0.001 s")

    def test_variants_that_come_behind_the_instance(self):
        bundle = self.bundle([{}, {"passes": "default<O3>,verify"}, {"passes": "no-such-pass"}])
        members = bundles.read(bundle)
        added = [member for member in members if member.name.startswith("variants/")]
        others = [member for member in members if member not in added]
        kernel = added[0].name.split("/")[1]
        [*_, last] = [i for i, member in enumerate(others) if member.name.startswith(f"instances/{kernel}/")]
        report = self.report(bundles.write(others[:last + 1] + added + others[last + 1:]), status=1)
        self.assertEqual(sorted(line["status"] for line in report.values()), ["failed", "verified", "verified"])
        self.assertEqual(len([line for line in report.values() if "same_as" in line]), 1)

    def test_all_failed_is_no_failed_stage(self):
        bundle = self.bundle([{"passes": "no-such-pass"}])
        self.assertEqual({line["status"] for line in self.report(bundle, status=1).values()}, {"failed"})

    def test_a_single_configuration_that_fails_is_an_error(self):
        self.assert_refused(run([tool("compile"), "--passes", "no-such-pass", self.recording]), 2, "unknown pass name")
        self.assert_refused(run([tool("compile"), "--passes", "trigger-crash-module", self.recording]), 2, "was killed by SIG")

    def test_every_kernel_gets_them(self):
        result = self.compile([{}, {"passes": "default<O1>"}])
        self.assertEqual(result.status, 0, result.text())
        variants = self.variants(result.out)
        self.assertEqual(len({variant["kernel"] for variant in variants}), 2)
        self.assertEqual(len(variants), 4)
        self.assertEqual(len(self.report(result.out)), 8)

    def test_options_are_for_what_a_line_leaves_open(self):
        bundle = self.bundle([{}, {"passes": "default<O2>"}, {"form": "loop", "fuse": False}], "-O1", "--fuse", "--form", "fiber")
        self.assertEqual([(c["passes"], c["codegen_opt"], c["form"], c["fuse"])
                          for c in (variant["configuration"] for variant in self.variants(bundle))],
                         [("default<O1>", 1, "fiber", True), ("default<O2>", 1, "fiber", True), ("default<O1>", 1, "loop", False)])

    def test_lines_that_are_wrong_are_refused_before_anything_is_compiled(self):
        for line, reason in [({"pases": "default<O1>"}, "no configuration has the key 'pases'"),
                             ({"codegen_opt": 4}, "'codegen_opt' is 4, more than 3"),
                             ({"fuse": "yes"}, "'fuse' is not true or false"),
                             ('{"passes":', "is not valid json"), ("3", "is not a json object"),
                             ({"target": "gfx1"}, "'gfx1' is no target"),
                             ({"target": "sm_90", "form": "loop"}, "'form' is for the host device")]:
            result = self.compile([{}, line])
            self.assert_refused(result, 2, f"line 2 of '.*/variants.jsonl'(:| is).*{reason}|line 2 of '.*' {reason}")
            self.assertEqual(result.out, b"")
        self.assert_refused(self.compile(["", " "]), 2, "holds no configuration")
        self.assert_refused(run([tool("compile"), "--variants", self.folder / "absent", self.recording]), 2, "absent")

    def test_a_line_for_a_launch_that_is_not_there(self):
        for number, lines in [(2, [{}, {"instance": "1" * 32, "specialize_args": "all"}]),
                              (1, [{"instance": "1" * 32, "specialize_args": "all"}])]:
            self.assert_refused(self.compile(lines), 2, f"line {number} of --variants is for instance 1+, which the bundle does not")

    def test_nothing_that_is_read_is_overwritten(self):
        file = self.file([{}])
        text = file.read_text()
        result = run([tool("compile"), "--variants", file, "-o", file, self.recording])
        self.assert_refused(result, 2, "is also the input")
        result = run([tool("compile"), "--variants", file, "--follow", file, self.recording])
        self.assert_refused(result, 2, "is also the input")
        self.assertEqual(file.read_text(), text)

    def test_options_that_are_wrong(self):
        for options, reason in [(["-j", "0"], "--jobs takes a number from 1"), (["--as-recorded"], "--as-recorded and --variants exclude"),
                                (["--compile-timeout", "0"], "must be more than 0"), (["--passes", "x"], "unknown pass name")]:
            self.assert_refused(self.compile([{}], *options), 2, reason)

    def test_from_standard_input(self):
        result = run([tool("compile"), "--variants", "-", self.recording], input=b'{"fuse":true}\n{}')
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual([v["configuration"]["fuse"] for v in self.variants(result.out)], [True, False] * 2)
        for file in [[], ["-"]]:
            self.assert_refused(run([tool("compile"), "--variants", "-", *file], input=self.recording), 2,
                                "cannot both come from standard input")
        self.assert_refused(run([tool("compile"), "--variants", "-", self.recording], input=b"{}\n{]"), 2, "line 2 of standard input")

    def test_once_more_and_restored_and_merged(self):
        """Variants that a stage before has added already, and their code, go where they are needed."""
        lines = [{}, {"passes": "default<O3>,verify"}, {"passes": "no-such-pass"}]
        first = self.bundle(lines)
        again = run([tool("compile"), "--kernel", "^add", "--variants", self.file(lines[1:]), "-v"], input=first)
        self.assertEqual(again.status, 0, again.text())
        self.assertEqual(len(self.variants(again.out)), 3)
        self.assertEqual(len(self.report(again.out, status=1)), 6)
        # The holder is compiled anew by one that is not in bulk; what has its code comes behind.
        alone = self.run_well([tool("compile"), "--kernel", "^add"], input=first).out
        self.assertEqual(len(self.report(alone, status=1)), 6)

        (self.folder / "first.tar").write_bytes(first)
        (self.folder / "second.tar").write_bytes(self.bundle(lines[1:] + lines[:1]))
        merged = self.run_well([tool("restore"), self.folder / "first.tar", self.folder / "second.tar"]).out
        plain = self.run_well([tool("restore"), "--raw", self.folder / "first.tar", self.folder / "second.tar"]).out
        for bundle, version in [(merged, 5), (plain, 2)]:
            self.assertEqual(bundles.parsed(bundles.read(bundle)[0])["version"], version)
            self.assertEqual(len(self.report(bundle, status=1)), 6)
        # One that has its code from one that is left out, as the first bundle has that, too.
        (self.folder / "second.tar").write_bytes(self.bundle([{"passes": "default<O3>,verify"}, {"passes": "verify,default<O3>"}]))
        both = [self.folder / "first.tar", self.folder / "second.tar"]
        self.assert_refused(run([tool("restore"), *both]), 2, "only the later one has some of its variants")
        launch = next(bundles.parsed(m)["id"] for m in bundles.read(first) if m.name.startswith("instances/"))
        merged = self.run_well([tool("restore"), "--instance", launch, *both]).out
        holder, same, _, late = self.variants(merged)
        self.assertEqual((same["same_as"], "same_as" in late), (holder["id"], False))
        self.assertEqual(list(self.codes(merged)), [holder["id"], late["id"]])
        self.assertEqual(len(set(self.codes(merged).values())), 1)

    def test_a_stream_that_is_cut(self):
        bundle = self.bundle([{}, {"passes": "default<O3>,verify"}, {"passes": "no-such-pass"}])
        for member in bundles.read(bundle):
            if member.name.startswith("variants/"):
                for cut in [member.begin, member.contents - 1, member.contents + len(member.data) // 2, member.end]:
                    result = run([tool("compile"), "--kernel", "^add"], input=bundle[:cut])
                    self.assertEqual(result.status, 2, result.text())
                    bundles.read(result.out)

    def test_what_mneme_run_compiles_by_itself_is_not_compiled_so(self):
        for options in [["--check-memory"], ["--baseline", "2"]]:
            result = run([tool("run"), *options], input=self.bundle([{}]), env={"MNEME_VARIANTS": str(self.file([{}]))})
            self.assertEqual(result.status, 0, result.text())

    def test_a_reader_that_has_gone(self):
        result = self.run_unread([tool("compile"), "--variants", self.file(LEVELS), self.recording])
        self.assertEqual(result.status, 2, result.text())

    def test_the_documentation_knows_every_key(self):
        keys = re.search("there are (.*)$", self.compile([{"x": 1}]).error, re.M)[1].split(", ")
        page = (ROOT / "docs" / "configurations.md").read_text()
        self.assertEqual(re.findall(r"^\| `(\w+)` \|", page, re.M), keys)
        manual = (ROOT / "mneme-compile" / "mneme-compile.1").read_text()
        section = manual[manual.index(".Sh VARIANTS IN BULK"):manual.index(".Sh LINE BY LINE")]
        listed = {word for line in re.findall(r"^\.It Ic (.*)$", section, re.M) for word in line.split(" , ")}
        self.assertEqual(listed, set(keys) - {"baseline"})
        row = re.search(r"^\| `configuration` \|.*$", (ROOT / "lib/bundle/FORMAT.md").read_text(), re.M)[0]
        self.assertEqual([key for key in keys if f"`{key}`" not in row], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
