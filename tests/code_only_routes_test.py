#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without IR, by each route on which applications reach the driver: recorded as by cuda_routes_test, and replayed
as they ran."""

import json
import sys
import unittest

from support import ROOT, run, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "mneme-inject")]

import code_only  # noqa: E402
import cuda_binaries  # noqa: E402
import cuda_routes_test as routes  # noqa: E402


class CodeOnlyRoutes(routes.Routes):
    objects = {}
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


del routes.Routes

if __name__ == "__main__":
    unittest.main(verbosity=2)
