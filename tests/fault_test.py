#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that go wrong: what is said of them, with --check-memory and without, and that the process lives."""

import json
import unittest

import bundles
from support import PROGRAMS, TestCase, run, tool

SOURCE = PROGRAMS / "faults" / "memory_faults.hip"
ADDRESS = "0x[0-9a-f]+"


def place(kernel, block, thread):
    return rf"kernel '{kernel}\(.*\)', block \({block}, 0, 0\), thread \({thread}, 0, 0\): "


# What --check-memory says.
CHECKED = {
    "overflow": place("fill", 4, 0) + f"writes 4 bytes at {ADDRESS}, 0 bytes after a 4096-byte allocation of "
                                      "device memory$",
    "underflow": place("sum", 0, 0) + f"reads 4 bytes at {ADDRESS}, 16 bytes before a 4096-byte allocation of "
                                      "device memory$",
    "use_after_free": place("sum", 0, 0) + f"reads 4 bytes at {ADDRESS}, in a 4096-byte allocation of device memory, "
                                           "which was freed$",
    "misaligned": place("misaligned", 0, 0) + f"writes 8 bytes at {ADDRESS}, which is not a multiple of 8$",
    "null": place("fill", 0, 0) + "writes 4 bytes at 0x0, a null pointer$",
    "wild": place("fill", 0, 0) + f"writes 4 bytes at {ADDRESS}, where the device has no memory$",
    "shared": place("shared_overflow", 0, 63) + f"reads 4 bytes at {ADDRESS}, 0 bytes after the block's 256 bytes of "
                                                "shared memory$",
    "variable": place("variable_overflow", 0, 10) + f"reads 4 bytes at {ADDRESS}, 0 bytes after the variable 'table'$",
    "division": place("divide", 0, 5) + "divides by zero$",
    "piece_overflow": place("use", 0, 5) + f"reads 8 bytes at {ADDRESS}, 0 bytes after a 40-byte allocation made by "
                                           "malloc in a kernel$",
    "piece_underflow": place("use", 0, 0) + f"reads 8 bytes at {ADDRESS}, 8 bytes before a 40-byte allocation made by "
                                            "malloc in a kernel$",
    "piece_far": place("use", 0, 0) + f"reads 8 bytes at {ADDRESS}, 799960 bytes after a 40-byte allocation made by "
                                      "malloc in a kernel$",
    "piece_after_free": place("use", 0, 0) + f"reads 8 bytes at {ADDRESS}, in a 40-byte allocation made by malloc in a "
                                             "kernel, which was freed$",
    "piece_after_delete": place("release_and_use", 0, 0) + f"reads 8 bytes at {ADDRESS}, in a 24-byte allocation made "
                                                           "by malloc in a kernel, which was freed$",
    "piece_nowhere": place("use_at", 0, 0) + f"reads 8 bytes at {ADDRESS}, in the device's heap, where no kernel has "
                                             "allocated anything$",
    "recursion": place("endless_recursion", r"\d", 3) + "has used up its stack",
}
# What is found out without it, since it does not go well on this machine either.
FATAL = ["null", "wild", "recursion"]
OTHERS = ["misaligned", "division", "recursion"]  # than the use of memory that is not there


class Faults(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = {level: cls.build(SOURCE, f"faults{level}", level) for level in ["-O0", "-O2"]}

    def launch(self, fault, *options, level="-O2"):
        return run([tool("capture"), "--device", "host", "--max-instances", "0", *options, self.programs[level], fault])

    def assert_faulted(self, result, fault):
        out = result.out.decode()
        code = "hipErrorLaunchFailure" if fault in OTHERS else "hipErrorIllegalAddress"
        self.assertRegex(out, rf"(?m)^{fault}: {code}$", result.text())
        self.assertIn(f"memory: {code}\n", out, "a device of which a kernel failed has no more memory")
        self.assertRegex(result.error, "(?m)" + CHECKED[fault], result.text())
        self.assertEqual(result.status, 0, result.text())

    def test_checked(self):
        for level in self.programs:
            for fault in CHECKED:
                with self.subTest(fault, level=level):
                    self.assert_faulted(self.launch(fault, "--check-memory", level=level), fault)

    def test_nothing_is_found_in_what_is_right(self):
        result = self.launch("none", "--check-memory")
        self.assertIn("none: hipSuccess\ndata: 5 5 5 5 5 5 5 5\n", result.out.decode(), result.text())
        result = self.launch("piece", "--check-memory")
        self.assertIn("piece: hipSuccess\ndata: 0 1 2 3 4 5 5 5\n", result.out.decode(), result.text())
        result = self.launch("many_pieces", "--check-memory")
        self.assertIn("many_pieces: hipSuccess\ndata: 100000 ", result.out.decode(), result.text())
        for name in ["device_heap", "device_new", "linked_list", "tiled_matmul", "local_array", "managed_memory",
                     "managed_variables", "mapped_memory", "device_globals", "pitched_image"]:
            with self.subTest(name):
                program = self.build(PROGRAMS / f"{name}.hip", name, "-O1")
                result = self.run_well([tool("capture"), "--device", "host", "--check-memory", "--max-instances", "0",
                                        program])
                self.assertNotIn("kernel '", result.error)

    def test_fatal_ones_are_explained_unasked(self):
        for fault in FATAL:
            with self.subTest(fault):
                self.assert_faulted(self.launch(fault), fault)

    def test_division_by_zero_is_no_fault_on_a_gpu(self):
        result = self.launch("division")
        self.assertIn("division: hipSuccess\ndata: 1 1 1 2 5 -1 -5 -2\n", result.out.decode(), result.text())

    def test_found_while_recording(self):
        """The memory is then the recorder's."""
        for fault in ["overflow", "use_after_free", "variable"]:
            with self.subTest(fault):
                result = run([tool("capture"), "--device", "host", "--check-memory", "-o", self.folder / "found.tar",
                              self.programs["-O2"], fault])
                self.assert_faulted(result, fault)

    def test_found_in_a_recording(self):
        bundle = self.record(self.programs["-O2"], "overflow", options=["--kernel", "fill"])
        result = run([tool("run"), "--check-memory", "--warmup", "0", "--iterations", "1", bundle])
        self.assertEqual(result.status, 0, result.text())
        variants = {bundles.parsed(m)["id"]: bundles.parsed(m)["configuration"] for m in bundles.read(result.out)
                    if m.name.endswith("/variant.json")}
        self.assertEqual([v["check_memory"] for v in variants.values()], [True])
        runs = [bundles.parsed(m) for m in bundles.read(result.out) if m.name.startswith("runs/")]
        failed = [line for line in runs if line["status"] == "failed"]
        self.assertEqual(len(runs) - len(failed), 2, result.text())
        self.assertEqual(len(failed), 1, result.text())
        self.assertRegex(failed[0]["reason"], CHECKED["overflow"])
        verified = run([tool("verify")], input=result.out)
        self.assertEqual(verified.status, 1, verified.text())
        verdicts = sorted(json.loads(line)["status"] for line in verified.out.decode().splitlines())
        self.assertEqual(verdicts.count("verified"), 2, verified.out.decode())

    def test_found_in_recorded_heaps(self):
        """What kernels allocated before the launch is known from the recording."""
        for fault in ["piece", "piece_overflow", "piece_underflow", "piece_after_free", "piece_nowhere"]:
            with self.subTest(fault):
                bundle = self.record(self.programs["-O2"], fault, options=["--kernel", "^use"], name=f"{fault}.tar")
                result = run([tool("run"), "--check-memory", "--warmup", "0", "--iterations", "1", bundle])
                self.assertEqual(result.status, 0, result.text())
                runs = [bundles.parsed(m) for m in bundles.read(result.out) if m.name.startswith("runs/")]
                if fault == "piece":
                    self.assertEqual([line["status"] for line in runs], ["completed"], result.text())
                else:
                    self.assertRegex(runs[0]["reason"], CHECKED[fault])

    def test_the_same_by_hand(self):
        bundle = self.record(self.programs["-O2"], "none", options=["--kernel", "fill"], name="good.tar")
        result = self.run_well([tool("compile"), "-O2", "--check-memory", bundle], [tool("run")], [tool("verify")])
        verdicts = [json.loads(line)["status"] for line in result.out.decode().splitlines()]
        self.assertEqual(set(verdicts), {"verified"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
