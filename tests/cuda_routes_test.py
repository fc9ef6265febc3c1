#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways by which applications reach CUDA's driver past the shared runtime: a runtime of their own (static), dlsym,
dlvsym, cuGetProcAddress. tests/gpu_stand plays the driver; each launch is seen once, and what is recorded replays."""

import sys
import unittest

import cuda_recorder_test as recorders
from support import BUILD, TestCase, run

toolkit, PROGRAMS, LIBRARIES = recorders.toolkit, recorders.PROGRAMS, recorders.LIBRARIES
STATIC = LIBRARIES / "static"
# Here is no libcudart.so.
ALONE = {"LD_LIBRARY_PATH": str(LIBRARIES / "driver")}


class Routes(TestCase):
    capture, parsed, instances = (recorders.Recorder.capture, recorders.Recorder.parsed, recorders.Recorder.instances)
    check_replays = recorders.Recorder.check_replays
    objects = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        toolkit.make(cls.folder / "toolkit", LIBRARIES)
        cls.environment = ALONE

    @classmethod
    def compiled(cls, name, *options):
        """An object file whose kernels have IR."""
        key = (name, *options)
        if key not in cls.objects:
            output = cls.folder / f"{name}_{len(cls.objects)}.o"
            built = run([recorders.tool("inject"), *toolkit.COMPILE, "-fPIC", *options, "-c", PROGRAMS / f"{name}.cu",
                         "-o", output], env={"CUDA_PATH": str(cls.folder / "toolkit")})
            assert built.status == 0, built.text()
            cls.objects[key] = output
        return cls.objects[key]

    def linked(self, name, *arguments, options=(), runtime="cudart_static"):
        """With a runtime of its own."""
        output = self.folder / self.id().split(".")[-1]
        self.run_well(["clang++-19", self.compiled(name, *options), *arguments, "-L", STATIC, f"-l{runtime}", "-ldl",
                       "-o", output])
        return output

    def check_counts(self, result, bundle, counts, launches=None):
        """Recorded instances by kernel; and how many launches there were in all."""
        self.assertEqual({name: len(of) for name, of in self.instances(bundle).items()}, counts, result.error)
        launches = sum(counts.values()) if launches is None else launches
        self.assertRegex(result.error, rf"\b{launches} launch(es)?, {sum(counts.values())} recorded")
        self.check_replays(bundle)

    # ---- a runtime that the program holds ----

    MEMORY = {"combine": 3, "advance": 2}

    def test_static_runtime(self):
        result, bundle = self.capture(self.linked("memory"), options=["--occurrences", 3])
        self.check_counts(result, bundle, self.MEMORY)
        for instance in sum(self.instances(bundle).values(), []):
            self.assertNotIn("missing", instance, result.error)

    def test_by_version(self):
        """dlvsym"""
        result, bundle = self.capture(self.linked("memory", runtime="cudart_by_version"), options=["--occurrences", 3])
        self.check_counts(result, bundle, self.MEMORY)


if __name__ == "__main__":
    unittest.main(verbosity=2)
