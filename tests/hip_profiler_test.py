#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long kernels take on an AMD GPU, by a profiler that is played (tests/hip_device): when its times are taken, and that
events' are, and said to be, whenever anything is wrong with it."""

import shutil
import unittest

import bundles
import recordings
from support import BUILD, PROGRAMS, TestCase, run, tool

RUNTIME = BUILD / "tests" / "failing_hip"
PROFILER = BUILD / "tests" / "fake_profiler"
STAND_IN = BUILD / "lib" / "mneme" / "hostgpu" / "hip" / "libamdhip64.so.5"
TAKEN = 777  # nanoseconds, by the played profiler

FUNCTIONS = ["get_version", "get_timestamp", "is_initialized", "query_buffer_tracing_kind_name", "force_configure",
             "create_context", "create_buffer", "configure_buffer_tracing_service", "start_context", "flush_buffer"]
NONSENSE = ["backwards", "instantaneous", "unset", "short", "begun"]


class HipProfiler(TestCase):

    def compiled(self, name="vector_add"):
        compiled = self.folder / f"{name}.compiled.tar"
        self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", compiled,
                       recordings.recording_of(PROGRAMS / f"{name}.hip", self)])
        return compiled

    def replay(self, bundle, played="", *options, folders=(RUNTIME, PROFILER), fail="", timeout=60, **variables):
        env = {"LD_LIBRARY_PATH": ":".join(map(str, folders)), "MNEME_TEST_RUNTIME": str(STAND_IN),
               "MNEME_TEST_PROFILER": played, "MNEME_TEST_FAIL": fail, **variables}
        return run([tool("run"), "--device", "hip", *options, bundle], env=env, timeout=timeout)

    def runs(self, result):
        """What became of each, all of it being verified."""
        self.assertEqual(result.statuses, [0], result.text())
        runs = [bundles.parsed(member) for member in bundles.read(result.out) if member.name.startswith("runs/")]
        self.run_well([tool("verify")], input=result.out)
        self.assertTrue(runs)
        return runs

    def assert_profiled(self, result, executions=3):
        for made in self.runs(result):
            self.assertEqual((made["clock"], made["nanoseconds"]), ("rocprofiler-sdk", [TAKEN] * executions), result.text())
        self.assertNotIn("rocprofiler", result.errors[0])

    def assert_events(self, result, why, executions=3):
        """Times of events alone, as many as there are to be, and a warning with the reason; or none, if that is empty."""
        for made in self.runs(result):
            self.assertEqual((made["clock"], len(made["nanoseconds"])), ("events", executions), result.text())
            self.assertNotIn(TAKEN, made["nanoseconds"])
        if why:
            self.assertRegex(result.errors[0], f"mneme-run: warning: times are those of events.* rocprofiler-sdk .*{why}")
        else:
            self.assertNotIn("rocprofiler", result.errors[0])

    def test_used(self):
        bundle = self.compiled()
        for played in ["", "version=0.5.0", "version=0.6.0", "version=1.3.5", "is=late", "is=grown", "is=others", "is=again"]:
            with self.subTest(played):
                self.assert_profiled(self.replay(bundle, played))
        self.assert_profiled(self.replay(bundle, "", "--cache", "cold"))
        self.assert_profiled(self.replay(bundle, "", "--rounds", "3"), 9)

    def test_kinds_of_launches(self):
        for program in ["tree_reduction", "grid_sync", "device_globals", "dynamic_shared"]:
            with self.subTest(program):
                self.assert_profiled(self.replay(self.compiled(program)))

    def test_beside_the_runtime(self):
        """The one of the runtime's own release comes first, and is found where nothing else says where it is."""
        folder = self.folder / "rocm"
        folder.mkdir()
        for library in [RUNTIME / "libamdhip64.so.6", PROFILER / "librocprofiler-sdk.so.1"]:
            shutil.copy(library, folder)
        self.assert_profiled(self.replay(self.compiled(), folders=[folder]))
        other = self.folder / "not_beside"
        other.mkdir()
        shutil.copy(RUNTIME / "libamdhip64.so.6", other / "librocprofiler-sdk.so.1")
        self.assert_profiled(self.replay(self.compiled(), folders=[folder, other]))

    def test_none(self):
        self.assert_events(self.replay(self.compiled(), folders=[RUNTIME]), "")

    def test_something_else(self):
        """A library of its name with none of its functions."""
        other = self.folder / "other"
        other.mkdir()
        shutil.copy(RUNTIME / "libamdhip64.so.6", other / "librocprofiler-sdk.so.1")
        self.assert_events(self.replay(self.compiled(), folders=[RUNTIME, other]), "it has no rocprofiler_get_version")

    def test_versions(self):
        bundle = self.compiled()
        for version in ["0.4.0", "0.7.0", "2.0.0"]:
            with self.subTest(version):
                self.assert_events(self.replay(bundle, f"version={version}"), f"its version {version} is not known")
        self.assert_events(self.replay(bundle, "renumbered=1"), "its number for dispatches")

    def test_functions_that_fail(self):
        bundle = self.compiled()
        for function in FUNCTIONS:
            for later in ["", " later=1"]:
                with self.subTest(function + later):
                    self.assert_events(self.replay(bundle, f"fails={function}{later}"), "(it|its|another tool) ")

    def test_it_dies(self):
        """In the process that tries it, and nowhere else."""
        bundle = self.compiled()
        for where in ["load", "force_configure", "flush_buffer"]:
            with self.subTest(where):
                self.assert_events(self.replay(bundle, f"dies={where}"), "a process that tried it was killed by SIGABRT")

    def test_it_hangs(self):
        self.assert_events(self.replay(self.compiled(), "hangs=flush_buffer"), "did not end in time")

    def test_it_hangs_after_all(self):
        """What fails is the run, in time, as with a kernel that does not end."""
        result = self.replay(self.compiled(), "hangs=flush_buffer later=1", "--timeout", "1")
        self.assertEqual(result.statuses, [0], result.text())
        self.assertRegex(result.errors[0], "the run failed: .*time")

    def test_records_that_make_no_sense(self):
        bundle = self.compiled()
        for how in [*NONSENSE, "none"]:
            with self.subTest(how):
                self.assert_events(self.replay(bundle, f"is={how}"), "record")

    def test_it_stops_working(self):
        """What was measured by it is measured again by events: a run's times are of one clock."""
        bundle = self.compiled()
        for how, launch, why in [*((how, 3, "makes no sense") for how in NONSENSE if how != "unset"),
                                 ("none", 1, "no record"), ("none", 4, "no record"), ("unset", 3, "no record"),
                                 ("elsewhere", 3, "no record"), ("twice", 3, "more than one record"),
                                 ("endless", 3, "longer than the launch")]:
            with self.subTest((how, launch)):
                self.assert_events(self.replay(bundle, f"is={how} from={launch}"), why)

    def test_rounds_of_two_clocks(self):
        """... and no run's times are said to be of one if rounds' are of two."""
        a_round = 1 + 3 * 2  # one to warm up, and one in front of each that is timed, for the cache
        result = self.replay(self.compiled(), f"is=none from={a_round + 1}", "--rounds", "2")
        for made in self.runs(result):
            self.assertEqual(made["clock"], "rocprofiler-sdk, events", result.text())
            self.assertEqual([time == TAKEN for time in made["nanoseconds"]], [True] * 3 + [False] * 3)

    def test_switched_off(self):
        self.assert_events(self.replay(self.compiled(), "dies=load", MNEME_ROCPROFILER="0"), "")

    def test_others_profile(self):
        bundle = self.compiled()
        for variable in ["ROCP_TOOL_LIBRARIES", "ROCPROFILER_REGISTER_LIBRARY", "HSA_TOOLS_LIB"]:
            with self.subTest(variable):
                result = self.replay(bundle, "dies=load", **{variable: "/nowhere/tool.so"})
                self.assert_events(result, rf"\${variable} is set")
        self.assert_events(self.replay(bundle, "initialized=1"), "another tool uses it")

    def test_a_runtime_that_fails(self):
        """It fails as it does without a profiler."""
        bundle = self.compiled()
        for fail in ["hipInit 101 0", "hipSetDevice 101 0"]:
            with self.subTest(fail):
                self.assert_refused(self.replay(bundle, fail=fail), 3, "the HIP runtime", stage=0)
        result = self.replay(bundle, fail="hipModuleLaunchKernel 719 0")
        self.assertRegex(result.errors[0], "the run failed: launching kernel")


if __name__ == "__main__":
    unittest.main()
