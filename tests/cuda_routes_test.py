#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways by which applications reach CUDA's driver past the shared runtime: a runtime of their own (static), dlsym,
dlvsym, cuGetProcAddress. tests/fake_cuda plays the driver; each launch is seen once, and what is recorded replays."""

import pathlib
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
    toolkit = staticmethod(toolkit.make)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toolkit(cls.folder / "toolkit", LIBRARIES)
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

    def record(self, program, *arguments):
        """Every launch."""
        return self.capture(program, *arguments, options=["--max-instances", 20, "--occurrences", 20])

    def check_counts(self, result, bundle, counts, launches=None):
        """Recorded instances by kernel; and how many launches there were in all."""
        self.assertEqual({name: len(of) for name, of in self.instances(bundle).items()}, counts, result.error)
        launches = sum(counts.values()) if launches is None else launches
        self.assertRegex(result.error, rf"\b{launches} launch(es)?, {sum(counts.values())} recorded")
        self.check_replays(bundle)

    # ---- a runtime that the program holds ----

    MEMORY = {"combine": 3, "advance": 2}

    def test_static_runtime(self):
        result, bundle = self.record(self.linked("memory"))
        self.check_counts(result, bundle, self.MEMORY)
        for instance in sum(self.instances(bundle).values(), []):
            self.assertNotIn("missing", instance, result.error)

    def test_by_version(self):
        """dlvsym"""
        result, bundle = self.record(self.linked("memory", runtime="cudart_by_version"))
        self.check_counts(result, bundle, self.MEMORY)

    def test_code(self):
        """Functions, texts and constants that pointers lead to, and the heap from which kernels allocate."""
        for name, counts in [("functions", {"choose": 1, "call": 1}), ("texts", {"describe": 1, "measure": 1}),
                             ("heap", {"build": 2, "sum": 2, "thin": 1})]:
            with self.subTest(name):
                result, bundle = self.record(self.linked(name))
                self.check_counts(result, bundle, counts)
                missing = [i["missing"] for of in self.instances(bundle).values() for i in of if "missing" in i]
                self.assertFalse(missing, result.error)

    def test_per_thread_streams(self):
        """cuGetProcAddress gives the functions that take a null stream for the thread's."""
        result, bundle = self.record(self.linked("per_thread"))
        self.check_counts(result, bundle, {"add": 6})

    def test_attributes(self):
        result, bundle = self.record(self.linked("launches"))
        self.check_counts(result, bundle, {"reverse": 2, "add": 2})
        self.assertEqual([i.get("cooperative") for i in self.instances(bundle)["reverse"]], [True, True])
        self.assertEqual([i.get("cluster") for i in self.instances(bundle)["add"]], [[2, 1, 1], None])

    def test_graph(self):
        program = self.linked("graph_streams")
        result, bundle = self.record(program, 1000)
        self.check_counts(result, bundle, {"slowly": 12})

    def test_reset(self):
        result, bundle = self.record(self.linked("lives"), "reset")
        self.check_counts(result, bundle, {"add": 2})

    def test_fork(self):
        result, bundle = self.record(self.linked("lives"), "fork")
        self.check_counts(result, bundle, {"add": 2})

    def test_late_fork(self):
        """The child runs as it does alone. CUDA does not work there, and nothing is recorded of it."""
        result, bundle = self.record(self.linked("lives"), "fork late")
        self.check_counts(result, bundle, {"add": 2})
        self.assertRegex(result.error, "1 launch not recorded: .*the process that forked it had used the GPU")

    def test_what_is_not_recorded(self):
        result, bundle = self.capture(self.linked("memory"), options=["--kernel", "advance"])
        self.check_counts(result, bundle, {"advance": 1}, launches=5)

    # ---- or a plug-in ----

    def loader(self, *arguments, options=()):
        output = self.folder / f"loader_{self.id().split('.')[-1]}"
        self.run_well(["clang++-19", self.compiled("loader", *options), *arguments, "-ldl", "-o", output])
        return output

    def plugin(self, runtime="cudart_static"):
        return self.linked("memory", "-shared", options=["-Dmain=run"], runtime=runtime)

    def test_plugin(self):
        """RTLD_LOCAL"""
        result, bundle = self.record(self.loader(), self.plugin())
        self.check_counts(result, bundle, self.MEMORY)

    def test_plugin_that_binds_deeply(self):
        result, bundle = self.record(self.loader(), "deepbind", self.plugin())
        self.check_counts(result, bundle, self.MEMORY)

    def test_plugin_that_is_unloaded(self):
        """And loaded again: its kernels are others then, at the same places."""
        plugin = self.plugin()
        result, bundle = self.record(self.loader(), plugin, plugin)
        self.check_counts(result, bundle, {"combine": 5, "advance": 4}, launches=10)  # one is as it was the first time

    # ---- both runtimes ----

    def test_both_runtimes(self):
        """Each launch is seen once: of the shared one where it is called, of the other where it calls the driver."""
        self.environment = {"LD_LIBRARY_PATH": str(LIBRARIES)}
        loader = self.loader(self.compiled("memory", "-Dmain=run"), f"-L{LIBRARIES}", "-lcudart",
                             "-Wl,--allow-shlib-undefined", options=["-DOWN_TOO"])
        self.assertIn("[libcudart.so.13]", self.run_well(["readelf", "-d", loader]).out.decode())
        result, bundle = self.record(loader, self.plugin())
        self.check_counts(result, bundle, {"combine": 6, "advance": 4})

    # ---- no runtime ----

    def module(self):
        output = self.folder / "kernels.cubin"
        self.run_well([recorders.tool("inject"), *toolkit.COMPILE, "--cuda-device-only", PROGRAMS / "module_kernels.cu",
                       "-o", output], env={"CUDA_PATH": str(self.folder / "toolkit")})
        return output

    def test_python(self):
        """An interpreter, whose script finds the driver's functions by dlsym."""
        result, bundle = self.capture(pathlib.Path(sys.executable), PROGRAMS / "by_ctypes.py", self.module())
        self.check_counts(result, bundle, {"scale": 1})

    def test_reset_of_the_primary_context(self):
        """By the driver's function, with memory and modules that were not given back."""
        result, bundle = self.record(self.linked("resets", "-L", LIBRARIES / "driver", "-lcuda"), self.module())
        self.check_counts(result, bundle, {"scale": 3})

    def test_contexts(self):
        """Two of one device."""
        program = self.linked("contexts", "-L", LIBRARIES / "driver", "-lcuda")
        result, bundle = self.record(program, self.module())
        self.check_counts(result, bundle, {"scale": 6})


if __name__ == "__main__":
    unittest.main(verbosity=2)
