#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which launches of real applications mneme-capture records, and what it says of the others."""

import os
import pathlib
import unittest

from capturing import CaptureCase, bundles, run, tool


class Launches(CaptureCase):
    def test_limits(self):
        program = self.program("two_templates")
        everything = self.kernels(self.capture(program))
        counts = {}
        for options in [("--max-instances", "1"), ("--max-instances", "2"), ("--skip", "1")]:
            result = self.capture(program, options=options)
            counts[options] = {}
            for instance in self.instances(result):
                name = everything[instance["kernel"]]
                counts[options][name] = counts[options].get(name, 0) + 1
        self.assertEqual(set(counts["--max-instances", "1"].values()), {1})
        self.assertEqual(max(counts["--max-instances", "2"].values()), 2)
        self.assertLess(sum(counts["--skip", "1"].values()), len(self.instances(self.capture(program))))

    def test_launches_that_change_nothing_are_told_of(self):
        warned = "fill(int*, int): no recorded launch changes memory"
        program = self.program("repeating")
        self.assertNotIn(warned, self.capture(program, options=["--occurrences", "2"]).error)
        result = self.capture(program, options=["--skip", "1"])
        self.assertEqual(len(self.instances(result)), 1)
        self.assertIn(warned, result.error)

    def test_every_nth(self):
        program = self.program("conjugate_gradient")
        def indices(*options):
            result = self.capture(program, options=["--max-instances", "99", "--occurrences", "99", *options])
            by_kernel = {}
            for instance in self.instances(result):
                by_kernel.setdefault(instance["kernel"], []).append(instance["index"])
            return by_kernel, {s["reason"] for s in self.summary(result)["skipped"]}
        everything, no_reasons = indices()
        some, reasons = indices("--skip", "1", "--every", "3")
        self.assertEqual(no_reasons, set())
        self.assertEqual(reasons, {"among the first ones, which --skip leaves out", "between those that --every chooses"})
        self.assertEqual(some, {kernel: list(all)[1::3] for kernel, all in everything.items() if len(all) > 1})

    def test_only_config(self):
        program = self.program("configurations")
        def launches(*options):
            return [(i["grid"], i["block"], i["shared_bytes"])
                    for i in self.instances(self.capture(program, options=["--max-instances", "99", *options]))]
        self.assertEqual(len(launches()), 6)
        alike = launches("--only-config")
        self.assertEqual(alike, [([1, 1, 1], [64, 1, 1], 0), ([2, 1, 1], [64, 1, 1], 0), ([2, 1, 1], [32, 1, 1], 0),
                                 ([2, 1, 1], [32, 1, 1], 64)])

    def test_reach_of_arguments(self):
        def segments(name, *options):
            """How many each instance has; that suffices for a replay."""
            result = self.capture(self.program(name), options=options)
            self.run_well([tool("compile"), "-O3"], [tool("run")], [tool("verify")], input=result.out)
            instances = self.instances(result)
            self.assertEqual({i.get("reach") for i in instances}, {"arguments" if options else None})
            return [len(i["segments"]) for i in instances]
        reach = ["--reach", "arguments"]
        self.assertEqual(set(segments("conjugate_gradient")), {5})
        self.assertEqual(set(segments("conjugate_gradient", *reach)), {2, 3})
        self.assertEqual(segments("linked_list", *reach), [3, 2])     # the second kernel takes no sums
        self.assertEqual(segments("device_globals", *reach), [10, 2])  # the first one's table leads to all memory
        self.assertEqual(segments("texture_filters", *reach), [3, 3])  # a texture leads to its pixels

    def test_environment_mirrors_the_options(self):
        program = self.program("conjugate_gradient")
        names = sorted(set(self.kernels(self.capture(program)).values()))
        chosen = "^" + names[0].split("(")[0] + r"\("
        environment = {"MNEME_KERNEL": chosen, "MNEME_MAX_INSTANCES": "1", "MNEME_DEVICE": "cuda"}
        result = self.capture(program, env=environment)  # the command line's --device wins
        self.assertEqual((set(self.kernels(result).values()), len(self.instances(result))), ({names[0]}, 1))
        told = bundles.parsed(bundles.read(result.out)[0])["provenance"][0]["arguments"]
        self.assertEqual(told[:4], [f"--kernel={chosen}", "--max-instances=1", "--device", "host"])
        wrong = run([tool("capture"), "--device", "host", program], env={"MNEME_SKIP": "few"})
        self.assert_refused(wrong, 2, "MNEME_SKIP.*'few' is not a whole number")

    def test_summary(self):
        program = self.program("conjugate_gradient")
        options = ["--max-instances", "1", "--every", "2"]
        quiet = self.capture(program, options=options)
        self.assertNotIn("recorded", quiet.error)
        result = self.capture(program, options=[*options, "--summary"])
        summary, instances = self.summary(result), self.instances(result)
        totals = summary["totals"]
        self.assertEqual([k["kernel"] for k in totals["kernels"] if k["recorded"]],
                         [self.kernels(result)[i["kernel"]] for i in instances])
        seen = 0
        for kernel in totals["kernels"]:
            skipped = [s["launches"] for s in summary["skipped"] if s["kernel"] == kernel["kernel"]]
            alike = sum(o["count"] for o, i in zip(summary["occurrences"], instances)
                        if self.kernels(result)[i["kernel"]] == kernel["kernel"])
            self.assertEqual(kernel["launches"], alike + sum(skipped))
            self.assertIn(f"mneme-capture: {kernel['kernel']}: {kernel['launches']} launch", result.error)
            seen += kernel["launches"]
        self.assertIn(f"{len(totals['kernels'])} kernels, {seen} launches, {len(instances)} recorded", result.error)
        self.assertIn("not: between those that --every chooses", result.error)
        self.assertEqual(totals["seen_bytes"], 2 * sum(s["size"] for i in instances for s in i["segments"]))
        self.assertEqual(totals["stored_bytes"], sum(len(m.data) for m in bundles.read(result.out)
                                                     if m.name.startswith(("memory/", "states/"))))

    def test_occurrences_are_counted(self):
        program = self.program("conjugate_gradient")
        result = self.capture(program)
        summary = self.summary(result)
        ids = [i["id"] for i in self.instances(result)]
        self.assertEqual([o["instance"] for o in summary["occurrences"]], ids)
        self.assertGreater(max(o["count"] for o in summary["occurrences"]), 5)
        self.assertEqual(summary["application"], "exited with status 0")
        more = self.capture(program, options=["--occurrences", "2"])
        self.assertGreater(len(self.instances(more)), len(ids))

    def test_kernels_are_selected(self):
        program = self.program("conjugate_gradient")
        names = set(self.kernels(self.capture(program)).values())
        chosen = sorted(names)[0]
        expression = "^" + chosen.split("(")[0] + r"\("
        result = self.capture(program, options=["--kernel", expression])
        self.assertEqual(set(self.kernels(result).values()), {chosen})
        skipped = {s["kernel"]: s["reason"] for s in self.summary(result)["skipped"]}
        self.assertEqual(set(skipped), names - {chosen})
        self.assertEqual(set(skipped.values()), {"not selected by --kernel"})
        none = self.capture(program, options=["--kernel", "(.*)*no_such_kernel"], status=2)
        self.assert_refused(none, 2, r"no kernel matches --kernel .* there are: .*dot\(")

    def test_bad_usage(self):
        program = self.program("vector_add")
        for options, message in [(["--kernel", "("], "regular expression"), (["--occurrences", "0"], "at least 1"),
                                 (["--va-size", "1M"], "--va-size"), (["--va-size", "40T"], "--va-size"),
                                 (["--ranks", "99999999999"], "not a rank"), (["--ranks", "2-1"], "before it begins"),
                                 (["--ranks", ""], "--ranks is empty"), (["--every", "0"], "at least 1"),
                                 (["-o", "x-%r.tar"], "%r is the rank"), (["--max-instances", "-1"], "")]:
            with self.subTest(options):
                result = run([tool("capture"), *options, program])
                self.assert_refused(result, 2, message)
                self.assertEqual(result.out, b"")

    def test_devices(self):
        program = self.program("vector_add")
        refusals = {}
        if not os.path.exists("/dev/kfd"):
            refusals["hip"] = "no AMD GPU"
        if not os.path.exists("/dev/nvidiactl"):
            refusals["cuda"] = "no NVIDIA GPU"
        for device, reason in refusals.items():
            result = run([tool("capture"), "--device", device, program])
            self.assert_refused(result, 3, reason)
            self.assertEqual(result.out, b"")
        automatic = run([tool("capture"), program])
        self.assertEqual(automatic.status, 0, automatic.text())
        self.assertRegex(automatic.error, "GPU.*using the host device")

    def test_ranks(self):
        first, second = self.program("vector_add"), self.program("transpose")
        launcher = f"PMI_RANK=0 {first} && PMI_RANK=1 {second}"
        by_default = set(self.kernels(self.capture("sh", "-c", launcher)).values())
        chosen = set(self.kernels(self.capture("sh", "-c", launcher, options=["--ranks", "1"])).values())
        self.assertTrue(all("vector_add" in name for name in by_default), by_default)
        self.assertTrue(all("transpose" in name for name in chosen), chosen)
        # Started by the launcher itself, once a rank.
        other = self.capture(first, env={"PMI_RANK": "1"})
        self.assertEqual((other.out, other.error), (b"", "vector_add: ok\n"))  # others may write a bundle there
        kept = self.folder / "of-a-rank.tar"
        other = self.capture(first, env={"FLUX_TASK_RANK": "1"}, options=["-o", kept])
        self.assertEqual((other.out, kept.exists()), (b"vector_add: ok\n", False))
        listed = self.capture(first, env={"FLUX_TASK_RANK": "5"}, options=["--ranks", "0,4-6", "-o", f"{kept}-%r"])
        self.assertEqual((listed.out, pathlib.Path(f"{kept}-5").exists()), (b"vector_add: ok\n", True))
        both = self.capture("sh", "-c", launcher, options=["--ranks", "all"])
        self.assertEqual(len(self.kernels(both)), 2)
        own = self.capture(first, env={"PMI_RANK": "1"}, options=["--ranks", "1"])
        self.assertEqual(len(self.instances(own)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
