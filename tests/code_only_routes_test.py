#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without IR, by each route on which applications reach the driver, of modules, libraries and graphs: recorded
as by cuda_routes_test and cuda_recorder_test, and replayed as they ran."""

import json
import sys
import unittest

from support import ROOT, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "mneme-inject")]

import code_only  # noqa: E402
import cuda_binaries  # noqa: E402
import cuda_recorder_test as recorders  # noqa: E402
import cuda_routes_test as routes  # noqa: E402


class AsRecorded:
    toolkit = staticmethod(code_only.make)

    def check_replays(self, bundle):
        ran = self.run_well([tool("compile"), bundle], [tool("run"), "--device", "cuda"], [tool("verify")],
                            env={"LD_LIBRARY_PATH": str(routes.LIBRARIES)})
        lines = [json.loads(line) for line in ran.out.decode().splitlines()]
        self.assertEqual(len(lines), len(self.parsed(bundle, "instances/")))
        self.assertEqual({(line["passes"], bool(line["changed_bytes"])) for line in lines}, {("as recorded", True)})

    def module(self):
        built, module = self.folder / "kernels.o", self.folder / "kernels.cubin"
        self.run_well([tool("inject"), *routes.toolkit.COMPILE, "-c", routes.PROGRAMS / "module_kernels.cu", "-o", built],
                      env={"CUDA_PATH": str(self.folder / "toolkit")})
        (cubin,) = cuda_binaries.cubins(built)
        module.write_bytes(cubin.image)
        return module


class CodeOnlyRoutes(AsRecorded, routes.Routes):
    objects = {}


class CodeOnlyRecorder(AsRecorded, recorders.Recorder):
    """Those of its tests that ask nothing of IR."""
    built = {}
    KEPT = ["stacks", "virtual_memory", "graphs", "graphs_with_other_nodes", "graphs_of_the_driver", "driver_only",
            "functions_of_the_driver_that_are_looked_up", "functions_of_the_driver_that_dlsym_finds",
            "kernels_from_a_table_of_the_drivers", "kernels_that_are_counted", "libraries", "libraries_of_the_runtime",
            "modules_with_the_runtimes_memory"]
    module_kernels = AsRecorded.module


for name in dir(recorders.Recorder):
    if name.startswith("test_") and name.removeprefix("test_") not in CodeOnlyRecorder.KEPT:
        setattr(CodeOnlyRecorder, name, None)
del routes.Routes, recorders.Recorder

if __name__ == "__main__":
    unittest.main(verbosity=2)
