#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches on NVIDIA GPUs that say more than dimensions, and modules that the driver links or compiles: tests/fake_cuda
plays the driver, with a line in a file for each launch that has attributes. Kernels have IR or not."""

import json
import re
import sys
import unittest

import bundles
from support import ROOT, run, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "mneme-inject")]

import cuda_binaries  # noqa: E402
import toolkit  # noqa: E402
from code_only_recordings import LIBRARIES, Recordings  # noqa: E402

KERNELS = (toolkit.PROGRAMS / "module_kernels.cu").read_text()
# As tests/fake_cuda/driver_launches.cc writes them.
COOPERATIVE, PRIORITY, EARLY = "2:1,0,0", "8:-5,0,0", "6:1,0,0"
DRIVER = ["-L", LIBRARIES, "-lcuda"]


def clusters(*extents):
    return "4:" + ",".join(map(str, extents))


class Attributes(Recordings):
    def module(self, name, source, with_ir):
        """The cubin of these kernels."""
        if not with_ir:
            return self.code(name, source)[0]
        path, cubin = self.folder / f"{name}_with_ir.cu", self.folder / f"{name}_with_ir.cubin"
        path.write_text(source)
        compile_it = [*toolkit.COMPILE, "-I", toolkit.PROGRAMS, "--cuda-device-only", path, "-o", cubin]
        self.run_well([tool("inject"), *compile_it], env=self.with_ir)
        return cubin

    def launched(self, *stages):
        """What the stages give, and the lines of launches with attributes."""
        log = self.folder / "attributes.log"
        log.unlink(missing_ok=True)
        result = self.run_well(*stages, env={**self.environment, "MNEME_TEST_LAUNCHES": str(log)})
        return result, log.read_text().splitlines() if log.exists() else []

    def recorded_of(self, program, *arguments):
        """All launches; by kernel, in their order. And what mneme-capture says."""
        bundle = self.folder / "bundle.tar"
        alone, expected = self.launched([program, *arguments])
        every = ["--max-instances", 20, "--occurrences", 20]
        result, lines = self.launched([tool("capture"), "--device", "cuda", "-v", *every, "-o", bundle, program, *arguments])
        self.assertEqual(result.out, alone.out)
        kernels = {kernel["id"]: kernel["demangled"].split("(")[0] for kernel in self.kernels(bundle).values()}
        instances = [bundles.parsed(m) for m in bundles.read(bundle.read_bytes()) if m.name.startswith("instances/")]
        of_kernels = {}
        for instance in sorted(instances, key=lambda one: one["index"]):
            of_kernels.setdefault(kernels[instance["kernel"]], []).append(instance)
        return bundle, of_kernels, result.error, expected, lines

    def replayed(self, bundle, *options):
        """The lines of launches with attributes, each once; all is verified."""
        result, lines = self.launched([tool("compile"), bundle],
                                      [tool("run"), "--device", "cuda", *options], [tool("verify")])
        runs = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertTrue(runs)
        for line in runs:
            self.assertTrue(line["status"] == "verified" and line["changed_bytes"], result.text())
        return set(lines)

    @staticmethod
    def kinds(of_kernels):
        return {name: [(i.get("cooperative"), i.get("cluster")) for i in of] for name, of in of_kernels.items()}

    def test_of_the_driver(self):
        """The application's launches have all; replays those that change what the kernel sees."""
        program = self.program("attributes", *DRIVER)
        for with_ir in [False, True]:
            with self.subTest(with_ir=with_ir):
                module = self.module("module", KERNELS, with_ir)
                bundle, of_kernels, said, expected, lines = self.recorded_of(program, module)
                self.assertEqual(expected, [f"scale {PRIORITY} {EARLY}", f"scale {clusters(2, 1, 1)} 6:0,0,0",
                                            f"shift {COOPERATIVE}"])
                # A graph's nodes are launched one by one.
                self.assertEqual(lines, [*expected, f"scale {clusters(4, 1, 1)}"])
                self.assertEqual(self.kinds(of_kernels), {"scale": [(None, None), (None, [2, 1, 1]), (None, [4, 1, 1])],
                                                          "shift": [(True, None), (None, [2, 2, 1])]})
                for instance in sum(of_kernels.values(), []):
                    self.assertNotIn("missing", instance)
                    self.assertEqual(bundles.instance_id(instance), instance["id"])
                self.assertEqual([i.get("attributes") for i in of_kernels["scale"]],
                                 [["priority -5", "programmatic stream serialization"], None, None])
                self.assertEqual(re.findall(r"recorded (\w+)\(?.*, without (.*)", said),
                                 [("scale", "priority -5, programmatic stream serialization")])
                if not with_ir:
                    self.assertEqual(self.replayed(bundle), {f"scale {clusters(2, 1, 1)}", f"scale {clusters(4, 1, 1)}",
                                                             f"shift {COOPERATIVE}", f"shift {clusters(2, 2, 1)}"})

    def test_that_are_not_known(self):
        """Launches that may have been other than they are recorded are not complete."""
        program, module = self.program("attributes", *DRIVER), self.module("unknown", KERNELS, False)
        bundle, of_kernels, _, _, _ = self.recorded_of(program, module, "unknown")
        missing = [i["missing"] for of in of_kernels.values() for i in of if "missing" in i]
        self.assertEqual(missing, [["the launch prefers clusters of (4, 1, 1) blocks, and the driver does not say whether they "
                                    "were of that size"], ["the launch has the attribute 99, which is not known"]])
        result = run([tool("compile"), bundle], [tool("run"), "--device", "cuda"], [tool("verify")], env=self.environment)
        self.assertRegex(result.errors[1], "is not complete and not run: the launch has the attribute 99")

    def test_of_the_runtime(self):
        """cudaLaunchKernelExC"""
        _, of_kernels, said, _, _ = self.recorded_of(self.program("launches"))
        self.assertEqual(self.kinds(of_kernels), {"add": [(None, [2, 1, 1]), (None, None)], "reverse": [(True, None)] * 2})
        self.assertEqual(re.findall(r"recorded (\w+)\(.*, without (.*)", said),
                         [("add", "programmatic stream serialization, priority -1")])
        replayed = self.replayed(self.folder / "bundle.tar")
        self.assertEqual(sorted(re.sub(r"^_Z\d([a-z]+)\S*", r"\1", line) for line in replayed),
                         [f"add {clusters(2, 1, 1)}", f"reverse {COOPERATIVE}"])

    # ---- what the driver makes of code ----

    def test_linked_modules(self):
        """The code that was linked is recorded, whatever becomes of what it was made of; arguments come in a buffer."""
        cubin, ptx = self.code("linked", KERNELS)
        for options, image in [([], cubin), (["-DDATA"], cubin), ([], ptx), (["-DDATA"], ptx)]:
            with self.subTest(options=options, image=image.name):
                program = self.program("linked" + "".join(options), *options, *DRIVER, source="linked")
                bundle, of_kernels, _, _, _ = self.recorded_of(program, image)
                self.assertEqual({name: len(of) for name, of in of_kernels.items()}, {"scale": 1, "shift": 1})
                for kernel in self.kernels(bundle).values():
                    self.assertEqual((kernel["code"], "ptx" in kernel), ("kernel.cubin", False))
                    self.assertEqual(kernel["code_digest"], bundles.digest(cubin.read_bytes()))
                self.assertEqual(self.replayed(bundle), set())

    def test_linked_modules_with_ir(self):
        bundle, of_kernels, _, _, _ = self.recorded_of(self.program("linked_data", "-DDATA", *DRIVER, source="linked"),
                                                       self.module("linked", KERNELS, True))
        self.assertEqual({name: len(of) for name, of in of_kernels.items()}, {"scale": 1, "shift": 1})
        self.assertFalse([kernel for kernel in self.kernels(bundle).values() if "code" in kernel])
        self.run_well([tool("compile"), "-O2", "--target", "host", bundle], [tool("run")], [tool("verify")])

    def test_modules_compiled_with_options(self):
        """PTX is recorded. The replay lets the driver compile it, without the options."""
        _, ptx = self.code("options", KERNELS)
        bundle, of_kernels, _, _, _ = self.recorded_of(self.program("compiled", "-DJIT", *DRIVER, source="linked"), ptx)
        self.assertEqual({name: len(of) for name, of in of_kernels.items()}, {"scale": 1, "shift": 1})
        self.assertEqual({kernel["code"] for kernel in self.kernels(bundle).values()}, {"kernel.ptx"})
        self.assertEqual(self.replayed(bundle), set())

    def test_large_shared_memory(self):
        """Of a library's kernel, asked for by its own handle; the driver refuses launches without."""
        source = (toolkit.PROGRAMS / "shared_kernels.cu").read_text()
        module = self.module("shared", source, False)
        bundle, of_kernels, _, _, _ = self.recorded_of(self.program("large_shared", *DRIVER), module)
        (instance,) = of_kernels["turn"]
        self.assertEqual(instance["shared_bytes"], 60000)
        self.assertEqual(self.replayed(bundle), set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
