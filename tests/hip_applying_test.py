#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants in place of kernels of HIP programs on AMD GPUs (mneme-capture --apply), where there is none: tests/fake_hip
plays releases of AMD's library. Variants add one more than the application's own kernels."""

import unittest

import bundles
from choosing import COPIED, REFUSED, UPDATED, WAYS, Applied, Trust
from support import BUILD, PROGRAMS, ROOT, run, tool

SOURCE = ROOT / "tests" / "fake_hip" / "programs" / "applied.hip"
FAKE = BUILD / "tests" / "fake_hip"


class Applying(Trust, Applied):
    device, target, keys = "hip", "gfx90a", WAYS[:2]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment = cls.release("6")
        cls.app = cls.inject("app")
        device = ["--cuda-device-only", "--no-gpu-bundle-output"]
        cls.code = cls.inject("more.hsaco", *device, "-DMORE=1").read_bytes()
        cls.same_code = cls.inject("same.hsaco", *device).read_bytes()
        cls.make_bundles()

    @staticmethod
    def release(release):
        return {"LD_LIBRARY_PATH": str(FAKE / "5"), "MNEME_TEST_ROCM": release}

    @classmethod
    def inject(cls, name, *arguments):
        cls.well([tool("inject"), "clang++-19", "-x", "hip", "-O2", "--offload-arch=gfx90a", f"-I{PROGRAMS}", SOURCE,
                  *arguments, "-o", cls.folder / name])
        return cls.folder / name

    # ---- every way to launch a kernel ----

    def test_releases(self):
        for release in ("5.2", "reserves", "moves", "6", "apart"):
            with self.subTest(release):
                out, report = self.apply(self.more, "runtime", env=self.release(release))
                self.assertEqual((out, report["applied"]), (["kernel 11", "cooperative 22"], 2), self.messages)

    def test_modules(self):
        code = self.folder / "same.hsaco"
        out, report = self.apply(self.more, "module", code)
        self.assertEqual(out, ["list 11", "packed 22", "cooperative 33", "list 44", "packed 55", "cooperative 66"])
        self.assertEqual((report["applied"], report["misses"]), (6, []))

    def test_modules_that_go(self):
        """Their variants go with them."""
        code, unloaded = self.folder / "same.hsaco", []
        for bundle in ([], ["--apply", self.same]):
            env, calls = self.failing("hipNothing")
            result = run([tool("capture"), "--device", "hip", *(bundle or ["--max-instances", "0"]), self.app, "module", code],
                         env={**self.environment, **env})
            self.assertEqual(result.status, 0, result.text())
            unloaded.append(calls.read_text().split().count("hipModuleUnload"))
        self.assertEqual(unloaded[1] - unloaded[0], 4, "two choices of a kernel that was loaded twice")

    def test_same(self):
        for arguments in (["runtime"], ["module", self.folder / "same.hsaco"], ["variables"], ["captured"], ["built"]):
            out, report = self.apply(self.same, *arguments)
            self.assertEqual(out, self.own(*arguments))
            self.assertGreater(report["applied"], 0)

    # ---- variables ----

    def test_variables(self):
        out, report = self.apply(self.more, "variables")
        self.assertEqual((out, report["applied"]), (["scaled 1001", "scaled 4003", "scaled 15010"], 3))
        out, report = self.apply(self.more, "written")
        self.assertEqual((out, report["applied"]), (["counted 3"], 0))
        self.assertRegex(self.messages, "the kernel may write the device variable 'calls'")
        self.assertEqual(self.reasons(report), {("count", REFUSED): 3})

    # ---- graphs ----

    def test_graphs(self):
        out, report = self.apply(self.more, "captured")
        self.assertEqual(out, ["captured 11", "captured 22", "updated 122"])
        self.assertEqual(self.reasons(report), {("scale", COPIED): 2, ("scale", UPDATED): 1, ("add", UPDATED): 1})
        out, report = self.apply(self.more, "built")
        self.assertEqual(out, ["built 33", "built 66", "changed 188", "child changed 399"])
        self.assertEqual(self.reasons(report), {("add", "the application has changed its node of a graph"): 3})

    def test_graphs_that_are_checked(self):
        for graph in ("captured", "built"):
            out, report = self.apply(self.more, graph, options=["--check", "1"], status=1)
            self.assertEqual((out, report["applied"]), (self.own(graph), 0))

    # ---- calls that fail ----

    FAILING = {"runtime": ["hipModuleLoadData", "hipModuleGetFunction", "hipModuleLaunchKernel",
                           "hipModuleLaunchCooperativeKernel"],
               "variables": ["hipModuleGetGlobal"]}

    def failing(self, function):
        """The environment in which the function fails, and the file with the calls that were made."""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        return {"LD_PRELOAD": str(BUILD / "tests" / "failing_hip" / "libamdhip64.so.6"),
                "MNEME_TEST_RUNTIME": str(FAKE / "5" / "libamdhip64.so.5"), "MNEME_TEST_FAIL": f"{function} 1 0",
                "MNEME_TEST_CALLS": str(calls)}, calls

    def test_calls_that_fail(self):
        """The application's own code runs in the variant's place."""
        for way, functions in self.FAILING.items():
            for function in functions:
                with self.subTest(function):
                    env, calls = self.failing(function)
                    out, report = self.apply(self.same, way, env=env)
                    self.assertEqual(out, self.own(way))
                    self.assertIn(function, calls.read_text().split(), "it was not called")

    # ---- processes, and by hand ----

    def test_fork(self):
        out, report = self.apply(self.more, "fork")
        self.assertEqual((out, report["applied"]), (["repeated 22", "repeated 33"], 5))

    def test_by_hand(self):
        self.assertEqual(self.by_hand(self.more, "repeated", "3"), (["repeated 33"], ""))
        out, error = self.by_hand(self.folder / "none.tar", "repeated", "3")
        self.assertEqual(out, ["repeated 30"])
        self.assertRegex(error, "warning: no variant is applied in this process: cannot open")

    def test_other_architecture(self):
        """What the runtime refuses to load is not applied."""
        broken = self.bundle("broken", b"\x7fELF" + bytes(200), target="gfx942")
        out, report = self.apply(broken, "repeated", "3")
        self.assertEqual(out, ["repeated 30"])
        self.assertRegex(self.messages, "variant .* is not applied: it cannot be loaded: ")
        # Nothing is said where the bundle has another one.
        members = bundles.read(broken.read_bytes()) + bundles.read(self.more.read_bytes())
        members = {member.name: member for member in members}
        broken.write_bytes(bundles.write(members.values()))
        out, report = self.apply(broken, "repeated", "3")
        self.assertEqual((out, report["applied"], self.messages), (["repeated 33"], 3, ""))


if __name__ == "__main__":
    unittest.main()
