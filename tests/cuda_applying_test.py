#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants in place of kernels of CUDA programs (mneme-capture --apply), where there is no GPU: tests/fake_cuda plays
the libraries. Variants add one more than the application's own kernels, so that what it prints tells which ran."""

import re
import subprocess
import sys
import unittest

import bundles
import choosing
from choosing import COPIED, REFUSED, UPDATED, WAYS, Applied, Trust, key
from support import BUILD, ROOT, run, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "tests" / "gpu"), str(ROOT / "mneme-inject")]

import code_only  # noqa: E402
import cuda_binaries  # noqa: E402
import toolkit  # noqa: E402
from applied_check import DRIVER, LAUNCHED, SCALED  # noqa: E402

SOURCE = toolkit.PROGRAMS / "applied.cu"
LIBRARIES = BUILD / "tests" / "fake_cuda"


class Applying(Trust, Applied):
    device, target, keys = "cuda", "sm_90", WAYS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        toolkit.make(cls.folder / "toolkit", LIBRARIES)
        cls.environment = {"CUDA_PATH": str(cls.folder / "toolkit"), "LD_LIBRARY_PATH": str(LIBRARIES)}
        cls.app = cls.inject("app", f"-L{LIBRARIES}", "-lcuda")
        cls.code = cls.inject("more.cubin", "--cuda-device-only", "-DMORE=1").read_bytes()
        cls.same_code = cls.inject("same.cubin", "--cuda-device-only").read_bytes()
        cls.make_bundles()

    @classmethod
    def inject(cls, name, *arguments, source=SOURCE):
        cls.well([tool("inject"), *toolkit.COMPILE, source, *arguments, "-o", cls.folder / name])
        return cls.folder / name

    # ---- every way to launch a kernel ----

    def test_ways(self):
        """As on a GPU."""
        folder = self.folder / "ways"
        folder.mkdir()
        for name, path in (("applied", self.app), ("same.cubin", self.folder / "same.cubin"), ("more.tar", self.more),
                           ("same.tar", self.same)):
            (folder / name).symlink_to(path)
        result = run([ROOT / "tests" / "gpu" / "applied_check.py", "--tools", BUILD / "bin", folder], env=self.environment)
        self.assertEqual(result.status, 0, result.text())

    def test_kernels_are_selected(self):
        """The others are as if the bundle did not have them."""
        out, report = self.apply(self.more, "reset", options=["--kernel", "^add"])
        self.assertEqual(out, ["repeated 22", *self.own("variables")] * 2)
        self.assertEqual((report["launches"], report["applied"], report["misses"]), (4, 4, []))

    def test_guards(self):
        """Wherever the launch has its arguments."""
        cubin = self.folder / "same.cubin"
        for value, applied in (("0a000000", 24), ("0b000000", 0)):
            guard = {"guards": [{"offset": 8, "bytes": value}]}
            bundle = self.bundle("guarded", self.code, kernels=["add"], keys=[{**one, **guard} for one in WAYS])
            out, report = self.apply(bundle, "contexts", cubin)
            expected = DRIVER * 3 if applied else self.own("contexts", cubin)
            self.assertEqual((out, report["applied"]), (expected, applied))

    def test_check_of_code_that_comes_again(self):
        """A choice is checked as often as was said, and what differs stays out, however often its kernel is loaded."""
        cubin = self.folder / "same.cubin"
        out, report = self.apply(self.more, "contexts", cubin, options=["--check", "1"], status=1)
        self.assertEqual((out, report["applied"]), (self.own("contexts", cubin), 0))
        self.assertEqual(sorted(one["checked"] for one in report["choices"]), [0] * 6 + [1] * 3)
        out, report = self.apply(self.same, "contexts", cubin, options=["--check", "2"])
        self.assertEqual((report["applied"], report["differing"]), (24 - 6, 0), self.messages)

    def test_several_devices(self):
        out, report = self.apply(self.more, "devices", options=["--host-devices", "2", "--measure"])
        self.assertEqual(out, ["repeated 42", "repeated 42"])
        choice, = [one for one in report["choices"] if one["applied"]]
        self.assertEqual((choice["applied"], choice["own"], choice["rounds"]), (4, 4, 4))

    def test_static_runtime(self):
        """It reaches the driver past all libraries that are linked."""
        code = self.inject("static.o", "-DWITHOUT_GRAPHS", "-c")
        app = self.folder / "static"
        self.well(["clang++-19", code, "-L", LIBRARIES / "static", "-lcudart_static", "-ldl", "-o", app])
        for mode, out, applied in (
                ("runtime", [*LAUNCHED, "clusters 55"], 5), ("by-thread", LAUNCHED, 4),
                ("variables", SCALED, 3),
                ("reset", ["repeated 22", *SCALED] * 2, 10),
                ("fork", ["repeated 22", "repeated 33"], 5)):
            with self.subTest(mode):
                lines, report = self.apply(self.more, mode, app=app, env={"LD_LIBRARY_PATH": str(LIBRARIES / "driver")})
                self.assertEqual((lines, report["applied"]), (out, applied), self.messages)

    def merged(self, name, *parts):
        """A bundle with all that these have."""
        path = self.folder / f"{name}.tar"
        members = [member for part in parts for member in bundles.read(part.read_bytes())]
        path.write_bytes(bundles.write({member.name: member for member in members}.values()))
        return path

    def test_several_variants_of_a_kernel(self):
        """For several launches, one for each."""
        more, same = self.bundle("a", self.code, keys=WAYS[1:2]), self.bundle("b", self.same_code, keys=WAYS[:1], fuse=True)
        out, report = self.apply(self.merged("both", more, same), "runtime")
        self.assertEqual(out, ["kernel 10", "extended 20", "cooperative attribute 31", "cooperative 42", "clusters 52"])
        self.assertEqual(sorted(one["applied"] for one in report["choices"] if one["applied"]), [2, 2])

    def test_code_that_changed(self):
        """Of one kernel: the others go on, and it is named."""
        other = self.inject("other", f"-L{LIBRARIES}", "-lcuda", "-DMORE=7")
        recorded, stale = self.folder / "other.tar", self.folder / "stale.tar"
        self.well([tool("capture"), "--device", "cuda", "-o", recorded, other, "repeated", "1"])
        stale.write_bytes(choosing.tuned(recorded.read_bytes(), self.code, self.device, self.target, WAYS))
        bundle = self.merged("changed", stale, self.bundle("scale", self.code, kernels=["scale"]))
        out, report = self.apply(bundle, "reset")
        self.assertEqual(out, ["repeated 20", *SCALED] * 2)
        reason = "its code differs from the code that was tuned"
        self.assertEqual((self.reasons(report), report["applied"]), ({("add", reason): 4}, 6))
        self.assertEqual(re.findall("kernel '(.*)': no variant is applied: (.*); tune", self.messages),
                         [("add(int*, int)", reason)])

    def test_deployed(self):
        """Where there is nothing but the folder: Mneme's is not looked for, and no program is found by its name."""
        made, folder = self.folder / "made", self.folder / "deployed"
        self.well([tool("restore"), "--tuned", "--deploy", made, self.more])
        made.rename(folder)
        environment = {"LD_LIBRARY_PATH": str(LIBRARIES), "PATH": "/nowhere"}
        result = subprocess.run([folder / "run", self.app, "repeated", "3"], env=environment, cwd="/", capture_output=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"repeated 33\n", b""))
        needed = run(["ldd", folder / "libmneme-record.so"]).out.decode()
        self.assertNotRegex(needed, r"not found|libstdc|libLLVM|mneme.*=>")

    def test_keys(self):
        """Cooperative launches, and those in clusters, are launches of their own."""
        bundle = self.bundle("plain", self.code, keys=WAYS[:1])
        out, report = self.apply(bundle, "runtime")
        self.assertEqual(out, ["kernel 11", "extended 22", "cooperative attribute 32", "cooperative 42", "clusters 52"])
        self.assertEqual(report["applied"], 2)

    def test_launch_that_fails(self):
        """The application's own code runs in its place, then and from then on."""
        much = 1 << 28
        bundle = self.bundle("failing", self.code, shared_mem=much, keys=[
            key(2, 32, launch={"grid": [2, 1, 1], "block": [32, 1, 1], "shared_bytes": much})])
        out, report = self.apply(bundle, "repeated", "3")
        self.assertEqual((out, report["applied"]), (["repeated 30"], 0))
        self.assertRegex(self.messages, "kernel 'add.*': variant .* is not applied: its launch fails: ")
        self.assertEqual(self.reasons(report), {("add", "the variant's launch failed"): 1, ("add", REFUSED): 2})

    # ---- variables ----

    def test_variables_that_it_writes(self):
        out, report = self.apply(self.more, "written")
        self.assertEqual((out, report["applied"]), (["counted 3"], 0))
        choice, = [one for one in report["choices"] if "reason" in one]
        self.assertRegex(choice["reason"], "write the device variable 'calls', and a variant's variables are its own")
        self.assertRegex(self.messages, "variant .* is not applied: the kernel may write")

    # ---- graphs ----

    def test_graphs(self):
        out, report = self.apply(self.more, "captured")
        self.assertEqual(out, ["captured 11", "captured 22", "updated 122"])
        self.assertEqual((report["applied"], sum(one["in_graphs"] for one in report["choices"])), (2, 2))
        self.assertEqual(self.reasons(report), {("scale", COPIED): 2, ("scale", UPDATED): 1, ("add", UPDATED): 1})
        out, report = self.apply(self.more, "built")
        self.assertEqual(out, ["built 33", "built 66", "changed 188"])
        self.assertEqual(self.reasons(report), {("add", "the application has changed its node of a graph"): 1})
        self.assertEqual(report["applied"], 8)

    def test_graphs_that_are_checked(self):
        """They are launched kernel by kernel; a variant that differs is in none of them afterwards."""
        for graph, launches in (("captured", 6), ("built", 9)):
            out, report = self.apply(self.more, graph, options=["--check", "1"], status=1)
            self.assertEqual((out, report["applied"], report["launches"]), (self.own(graph), 0, launches))
            out, report = self.apply(self.same, graph, options=["--check", "1"])
            self.assertEqual((out, report["differing"], report["misses"]), (self.own(graph), 0, []), self.messages)

    def test_graphs_that_are_recorded(self):
        out, report = self.apply(self.same, "built", options=["-o", self.folder / "both.tar"])
        self.assertEqual((out, report["launches"]), (self.own("built"), 9))

    # ---- without mneme-capture, and what it is not for ----

    def test_by_hand(self):
        self.assertEqual(self.by_hand(self.more, "repeated", "3"), (["repeated 33"], ""))
        self.assertEqual(self.by_hand(self.more, "captured")[0], ["captured 11", "captured 22", "updated 122"])

    def test_bad_bundles(self):
        whole = self.more.read_bytes()
        bad = self.folder / "bad.tar"
        for data, message in ((whole[:len(whole) // 2], "damaged, or no bundle"), (b"", "is no bundle"),
                              (b"x" * 5000, "damaged"), (whole.replace(self.code, self.code[:-1] + b"!"), "damaged code"), (None, "cannot open")):
            bad.unlink(missing_ok=True)
            if data is not None:
                bad.write_bytes(data)
            out, error = self.by_hand(bad, "repeated", "3")
            self.assertEqual(out, ["repeated 30"])
            self.assertRegex(error, "warning: no variant is applied in this process: .*" + message)

    def test_arguments_that_do_not_fit(self):
        guards = {"guards": [{"offset": 64, "bytes": "00"}]}
        bundle = self.bundle("guards", self.code, kernels=["add"], keys=[{**WAYS[0], **guards}])
        message = "choices/.* is damaged: its guards are not of its kernel's arguments"
        result = run([tool("capture"), "--device", "cuda", "--apply", bundle, self.app, "repeated", "3"], env=self.environment)
        self.assert_refused(result, 2, message)
        out, error = self.by_hand(bundle, "repeated", "3")
        self.assertEqual(out, ["repeated 30"])
        self.assertRegex(error, "warning: no variant is applied in this process: .*" + message)

    def test_other_architecture(self):
        bundle = self.bundle("sm_80", self.code, target="sm_80")
        out, report = self.apply(bundle, "repeated", "3")
        self.assertEqual((out, report["applied"]), (["repeated 30"], 0))
        self.assertEqual(self.reasons(report), {("add", "no choice is for this device"): 3})


class WithoutIr(Applied):
    """Kernels whose choices are found by the hash of their cubin."""
    device, target, keys = "cuda", "sm_90", [key(2, 32)]
    PROGRAM = """
#include "cuda.h"
#ifdef VARIABLES
__constant__ int factor;
__device__ int calls;
#define COUNT calls += factor
#else
#define COUNT
#endif
__global__ void add(int* data, int value) { data[index()] += value + MORE; COUNT; }
int main() {
  void* data;
  int host[64];
  CHECK(cudaMalloc(&data, sizeof host) == 0 && cudaMemset(data, 0, sizeof host) == 0);
  for (int i = 0; i < 3; ++i) add<<<2, 32>>>(static_cast<int*>(data), 10);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  std::printf("%d\\n", host[63]);
}
"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        code_only.make(cls.folder / "toolkit", LIBRARIES)
        cls.environment = {"CUDA_PATH": str(cls.folder / "toolkit"), "LD_LIBRARY_PATH": str(LIBRARIES)}
        (cls.folder / "program.cu").write_text(cls.PROGRAM)

    @classmethod
    def inject(cls, name, *arguments):
        cls.well([tool("inject"), *toolkit.COMPILE, f"-I{toolkit.PROGRAMS}", *arguments, cls.folder / "program.cu",
                  "-o", cls.folder / name])
        return cls.folder / name

    def make(self, *options):
        """The application, and bundles of it."""
        cls = type(self)
        cls.app = self.inject("app", "-DMORE=0", *options)
        cls.code, cls.same_code = (
            cuda_binaries.cubins(self.inject("code.o", "-c", f"-DMORE={more}", *options))[0].image for more in (1, 0))
        self.make_bundles()

    def test_cubin(self):
        self.make()
        out, report = self.apply(self.more)
        self.assertEqual((out, report["applied"], report["misses"]), (["33"], 3, []), self.messages)
        out, report = self.apply(self.same)
        self.assertEqual((out, report["applied"]), (["30"], 3))
        for bundle, status in ((self.same, 0), (self.more, 1)):
            out, report = self.apply(bundle, options=["--check", "1"], status=status)
            self.assertEqual((out, report["differing"]), (["30"], status), self.messages)
        out, report = self.apply(self.more, app=self.inject("other", "-DMORE=7"))
        self.assertEqual((out, self.reasons(report)),
                         (["51"], {("add", "its code differs from the code that was tuned"): 3}))

    def test_variables(self):
        """Nobody knows which of them the kernel writes."""
        self.make("-DVARIABLES")
        out, report = self.apply(self.more)
        self.assertEqual((out, report["applied"]), (["30"], 0))
        self.assertRegex(self.messages, "the kernel may write the device variable 'calls'")


if __name__ == "__main__":
    unittest.main()
