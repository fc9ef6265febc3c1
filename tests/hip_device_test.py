#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-run --device hip with the stand-in for AMD's runtime, which executes the IR that --embed-ir puts into the code:
all that is ours, with no GPU. By default some of tests/programs; $MNEME_MATRIX=full takes all."""

import collections
import json
import os
import re
import unittest

import bundles
import hip_releases
import recordings
from support import BUILD, PROGRAMS, ROOT, TestCase, run, tool

STAND_IN = BUILD / "lib" / "mneme" / "hostgpu" / "hip"
FAILING = BUILD / "tests" / "failing_hip"
CHOSEN = ["vector_add", "atomics_mix", "block_scan", "device_globals", "dynamic_shared", "function_pointers", "grid_sync",
          "mapped_memory", "managed_memory", "managed_variables", "module_launch", "stored_texts",
          "tree_reduction", "variables_of_all_kinds", "virtual_functions"]
# Kernels that allocate memory from what was recorded are refused.
OTHERWISE = {"device_heap": "allocates memory itself", "device_new": "allocates memory itself"}

# Functions that are called in a replay, with errors that they may give: out of memory, an invalid device, a device that
# was lost.
FATAL = [("hipInit", 101), ("hipGetDeviceCount", 100), ("hipSetDevice", 101), ("hipEventCreateWithFlags", 2)]  # exit status 3
# Nothing needs their success.
IDLE = [("hipModuleUnload", 719), ("hipFree", 719), ("hipMemAddressFree", 1), ("hipMemRelease", 1), ("hipEventDestroy", 719),
        ("hipGetLastError", 719)]
# By programs that have the runtime do more.
OTHERS = [("device_globals", "hipModuleGetGlobal", 719), ("mapped_memory", "hipHostRegister", 2),
          ("mapped_memory", "hipHostGetDevicePointer", 1), ("grid_sync", "hipModuleLaunchCooperativeKernel", 720),
          ("vector_add", "hipMalloc", 2), ("device_globals", "hipMemUnmap", 719),
          ("mapped_memory", "hipHostUnregister", 719)]
FAILS = [("hipModuleLoadData", 2), ("hipModuleGetFunction", 500), ("hipModuleGetFunction", 719),
         ("hipModuleLaunchKernel", 719), ("hipMemcpy", 719), ("hipDeviceSynchronize", 719), ("hipEventRecord", 719),
         ("hipEventElapsedTime", 600), ("hipDeviceGetAttribute", 101)]

AT_MOST = 5  # calls of one function that are made to fail, and the last


class HipDevice(TestCase):
    def compiled(self, name, *options):
        compiled = self.folder / f"{name}.compiled.tar"
        self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", *options, "-o", compiled,
                       recordings.recording_of(PROGRAMS / f"{name}.hip", self)])
        return compiled

    def environment(self, fail=None, which=0, then="", library=STAND_IN, calls=None):
        if not fail and not calls:
            return {"LD_LIBRARY_PATH": str(library)}
        env = {"LD_LIBRARY_PATH": str(FAILING), "MNEME_TEST_RUNTIME": str(STAND_IN / "libamdhip64.so.5")}
        if fail:
            env["MNEME_TEST_FAIL"] = f"{fail[0]} {fail[1]} {which}{then}"
        if calls:
            calls.unlink(missing_ok=True)
            env["MNEME_TEST_CALLS"] = str(calls)
        return env

    def replay(self, bundle, *options, **how):
        env = self.environment(**how)
        return run([tool("run"), "--device", "hip", *options, bundle], [tool("verify")], env=env, timeout=60)

    def without(self, function):
        """The stand-in as a release that lacks a function."""
        folder = self.folder / f"without_{function}"
        folder.mkdir()
        library = (STAND_IN / "libamdhip64.so.5").read_bytes()
        self.assertIn(function.encode() + b"\0", library)
        (folder / "libamdhip64.so.5").write_bytes(library.replace(function.encode() + b"\0", function[:-1].encode() + b"?\0"))
        return folder

    def verdicts(self, result):
        return [json.loads(line) for line in result.out.decode().splitlines()]

    def assert_verified(self, result):
        self.assertEqual(result.statuses, [0, 0], result.text())
        self.assertTrue(result.out)

    def test_programs(self):
        full = os.environ.get("MNEME_MATRIX") == "full"
        names = sorted(path.stem for path in PROGRAMS.glob("*.hip")) if full else CHOSEN
        for name in names:
            with self.subTest(name):
                result = self.replay(self.compiled(name))
                if name not in OTHERWISE:
                    self.assert_verified(result)
                    continue
                self.assertIn(OTHERWISE[name], result.text())

    def test_functions_elsewhere(self):
        """Functions are where the loader puts them: pointers to them in recorded memory, and in variables, lead there."""
        for name in ["function_pointers", "virtual_functions"]:
            with self.subTest(name):
                recorded = bundles.read(recordings.recording_of(PROGRAMS / f"{name}.hip", self).read_bytes())
                for member in recorded:
                    if member.name.endswith("/kernel.json"):
                        kernel = bundles.parsed(member)
                        places = [0x7e0000001000 + 0x100 * i for i in range(len(kernel["functions"]))]
                        member.data = bundles.compact({**kernel, "function_addresses": places} if places else kernel)
                moved = self.folder / f"{name}.moved.tar"
                moved.write_bytes(bundles.write(recorded))
                result = self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", moved])
                variants = {member.name: member.data for member in bundles.read(result.out)
                            if member.name.startswith("variants/")}
                compiled = self.compiled(name)
                members = bundles.read(compiled.read_bytes())
                others = sum(member.data != variants.get(member.name, member.data) for member in members)
                self.assertGreater(others, 1)
                for member in members:
                    member.data = variants.get(member.name, member.data)
                compiled.write_bytes(bundles.write(members))
                self.assert_verified(self.replay(compiled))

    def test_stacks(self):
        """Threads have what the application asked for; where it cannot be had, that is said."""
        bundle, calls = self.folder / "stacks.compiled.tar", self.folder / "calls"
        self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", bundle,
                       self.record(self.build(ROOT / "tests" / "stacks.hip"), name="stacks.tar")])
        members = [bundles.parsed(m) for m in bundles.read(bundle.read_bytes()) if m.name.startswith("instances/")]
        self.assertEqual([m.get("stack_bytes") for m in members], [None, 16 << 10])
        self.assert_verified(self.replay(bundle, calls=calls))
        made = collections.Counter(calls.read_text().split())
        self.assertEqual(made["hipDeviceSetLimit"], 1, "asked for once, and there from then on")
        self.assertGreater(made["hipDeviceGetLimit"], 2)
        for name, sentence in {"hipDeviceSetLimit": "giving each thread the 16384 bytes of stack that the application",
                               "hipDeviceGetLimit": "asking how large the threads' stacks are failed"}.items():
            result = self.replay(bundle, fail=(name, 719))
            self.assertEqual(result.statuses, [0, 1], result.text())
            self.assertIn(sentence, result.text())
            self.assertEqual([line["status"] for line in self.verdicts(result)], ["verified", "failed"])
        # A release that has no such thing.
        result = self.replay(bundle, library=self.without("hipDeviceSetLimit"))
        self.assert_verified(result)
        self.assertEqual(result.text().count("asked for 16384 bytes of stack of each thread, and this runtime cannot"), 1)

    def test_kernels_that_allocate(self):
        """A heap that the host device recorded cannot be where this GPU's is. Mneme's heap was recorded on a GPU, and is there;
        the vendor's was not, and is run if that is wanted."""
        result = self.replay(self.compiled("device_heap", "--kernel", "churn"))
        self.assertEqual(result.statuses, [0, 1], result.text())
        self.assertIn("allocates memory itself, from a heap that was recorded", result.text())
        vendors = self.folder / "vendors_heap"
        self.run_well([tool("inject"), "--device-heap", "vendor", "clang++-19", "-x", "hip", "-O2", "--offload-arch=gfx90a",
                       PROGRAMS / "device_heap.hip", "-o", vendors])
        recording, compiled = self.folder / "heap.tar", self.folder / "heap.compiled.tar"
        for program in [recordings.program_of(PROGRAMS / "device_heap.hip", self), vendors]:
            self.run_well([tool("capture"), "--device", "hip", "--kernel", "churn", "-o", recording, program],
                          env={"LD_LIBRARY_PATH": str(BUILD / "tests" / "fake_hip" / "5"), "MNEME_TEST_ROCM": "6"})
            self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", compiled, recording])
            if program == vendors:
                self.assertIn("the heap from which kernels allocate is out of the recorder's reach on a GPU",
                              self.replay(compiled).text())
                self.assert_verified(self.replay(compiled, "--force"))
            else:
                self.assert_verified(self.replay(compiled))

    def test_each_library_s_name(self):
        """Whichever of them there is."""
        bundle = self.compiled("vector_add")
        for library in ["libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"]:
            with self.subTest(library):
                folder = self.folder / f"only_{library}"
                folder.mkdir()
                (folder / library).symlink_to(STAND_IN / "libamdhip64.so.5")
                self.assert_verified(self.replay(bundle, library=folder))

    def test_functions_that_are_not_there(self):
        result = self.replay(self.compiled("grid_sync"), library=self.without("hipModuleLaunchCooperativeKernel"))
        self.assertEqual(result.statuses, [0, 1], result.text())
        self.assertIn("launched as a cooperative one: this HIP runtime cannot do that with a module's", result.text())
        bundle = self.compiled("vector_add")
        self.assert_verified(self.replay(bundle, library=self.without("hipMemSetAccess")))  # in one allocation
        result = self.replay(bundle, library=self.without("hipModuleGetGlobal"))
        self.assert_refused(result, 3, "the HIP runtime is too old: it has no hipModuleGetGlobal", stage=0)

    def test_specialised(self):
        self.assert_verified(self.replay(self.compiled("vector_add", "--specialize-args", "all", "--specialize-dims")))

    def test_cold(self):
        result = self.replay(self.compiled("vector_add"), "--cache", "cold")
        self.assert_verified(result)

    def test_cold_without_memory(self):
        """Each run says what is lacking."""
        variants = self.folder / "variants.jsonl"
        variants.write_text('{}\n{"grid": [2, 1, 1]}\n')
        bundle = self.compiled("vector_add", "--variants", variants)
        result = self.replay(bundle, "--cache", "cold", fail=("hipMalloc", 2))
        self.assertEqual(result.statuses, [0, 1], result.text())
        self.assertEqual(result.error.count("no memory left to empty its cache"), 2, result.text())

    def test_without_ir(self):
        """Code for a real GPU is refused by the stand-in."""
        bundle = self.folder / "plain.tar"
        self.run_well([tool("compile"), "--target", "gfx90a", "-o", bundle,
                       recordings.recording_of(PROGRAMS / "vector_add.hip", self)])
        result = self.replay(bundle)
        self.assertRegex(result.text(), "loading the code of kernel 'vector_add.* failed")
        self.assertEqual(result.statuses, [0, 1], result.text())

    def test_no_gpu(self):
        """Without the stand-in, there may be AMD's own, and then it has a GPU or finds none."""
        result = self.replay(self.compiled("vector_add"), library=self.folder)
        if result.statuses[0]:
            self.assert_refused(result, 3, "there is no HIP runtime: libamdhip64.so.7|the HIP runtime .* device", stage=0)

    def test_calls_that_fail(self):
        bundle = self.compiled("vector_add")
        for fail in FATAL:
            with self.subTest(fail):
                self.assert_refused(self.replay(bundle, fail=fail), 3, "HIP runtime|making an event failed", stage=0)
        for fail in FAILS:
            with self.subTest(fail):
                result = self.replay(bundle, "--cache", "cold", fail=fail)
                self.assert_failed(result)
        for program, *fail in OTHERS:
            with self.subTest(fail):
                self.assert_failed(self.replay(self.compiled(program), "--cache", "cold", fail=fail))
        for fail in IDLE:
            with self.subTest(fail):
                self.assert_verified(self.replay(bundle, "--cache", "cold", fail=fail))

    def test_each_call_that_fails(self):
        """Each of all calls in turn: the run fails with a sentence, or does without what it asked for. That each of them
        fails in each way, and that nothing is left then, is hip_failures_test's."""
        calls = self.folder / "calls"
        of_functions = {"hipModuleGetGlobal", "hipMemcpy"}  # which ask where those are
        for program, names in {"vector_add": None, "device_globals": None, "function_pointers": of_functions}.items():
            bundle = self.compiled(program)
            self.assert_verified(self.replay(bundle, "--cache", "cold", "--iterations", "2", calls=calls))
            made = collections.Counter(calls.read_text().split())
            self.assertGreater(made["hipModuleLaunchKernel"], 4)
            for name, count in sorted(made.items()):
                if names and name not in names:
                    continue
                for turn, which in enumerate(sorted({*range(1, min(count, AT_MOST) + 1), count})):
                    fail = (name, [719, 2, 101][turn % 3])
                    with self.subTest(program=program, fail=fail, which=which):
                        result = self.replay(bundle, "--cache", "cold", "--iterations", "2", fail=fail, which=which)
                        if result.statuses == [0, 0]:
                            self.assert_verified(result)
                        else:
                            self.assert_failed(result)

    def test_a_device_that_is_lost(self):
        """All calls fail from one of them on: a run fails with a sentence, or there is no device."""
        calls = self.folder / "calls"
        bundle = self.compiled("device_globals")
        self.assert_verified(self.replay(bundle, calls=calls))
        made = len(calls.read_text().split())
        for which in [*range(1, 12), *range(12, made + 1, 7)]:
            with self.subTest(which=which):
                result = self.replay(bundle, fail=("*", 719), which=which)
                self.assert_failed(result)
                if result.statuses[0] != 3:
                    self.assertIn("failed", {line["status"] for line in self.verdicts(result)})

    LARGE = """
#include <hip/hip_runtime.h>
#include <vector>
__global__ void add_one(unsigned* words) { words[blockIdx.x * 256 + threadIdx.x] += 1; }
int main() {
  std::vector<unsigned> words(6 << 20);
  for (size_t i = 0; i < words.size(); i++) words[i] = static_cast<unsigned>(i * 2654435761u);
  unsigned* memory;
  if (hipMalloc(&memory, 4 * words.size()) != hipSuccess) return 1;
  if (hipMemcpy(memory, words.data(), 4 * words.size(), hipMemcpyHostToDevice) != hipSuccess) return 1;
  add_one<<<static_cast<unsigned>(words.size() / 256), 256>>>(memory);
  return hipDeviceSynchronize();
}
"""

    def test_staging(self):
        """As much memory as is brought in several pieces, from pinned memory where that works."""
        source = self.folder / "large.hip"
        source.write_text(self.LARGE)
        bundle = self.folder / "large.compiled.tar"
        self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", bundle,
                       self.record(self.build(source), name="large.tar")])
        calls = self.folder / "calls"
        self.assert_verified(self.replay(bundle, calls=calls))
        made = collections.Counter(calls.read_text().split())
        for name in ["hipHostRegister", "hipEventSynchronize"]:
            self.assertGreater(made[name], 1, name)
        for name in ["hipHostRegister", "hipHostUnregister"]:
            for which in [0, 1, 2]:
                with self.subTest(name=name, which=which):
                    self.assert_verified(self.replay(bundle, fail=(name, 2), which=which))
        for name in ["hipMemcpyAsync", "hipEventSynchronize", "hipEventCreateWithFlags"]:
            for which in range(1, made[name] + 1):
                with self.subTest(name=name, which=which):
                    self.assert_failed(self.replay(bundle, fail=(name, 719), which=which))

    APART = """
#include <hip/hip_runtime.h>
__global__ void add(unsigned* few, unsigned* many) { many[blockIdx.x * 256 + threadIdx.x] += few[threadIdx.x] + 1; }
int main() {
  unsigned *few, *between, *many;
  const size_t size = 9 << 20;
  if (hipMalloc(&few, 64 << 10) != hipSuccess || hipMalloc(&between, 192 << 10) != hipSuccess) return 1;
  if (hipMalloc(&many, size) != hipSuccess || hipFree(between) != hipSuccess) return 1;
  if (hipMemset(few, 3, 64 << 10) != hipSuccess || hipMemset(many, 5, size) != hipSuccess) return 1;
  add<<<static_cast<unsigned>(size / 1024), 256>>>(few, many);
  return hipDeviceSynchronize();
}
"""

    def test_memory_in_pieces(self):
        """An allocation that begins where the memory for another ends, of which some releases copy no more than there is."""
        source = self.folder / "apart.hip"
        source.write_text(self.APART)
        bundle = self.folder / "apart.compiled.tar"
        self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", bundle,
                       self.record(self.build(source), name="apart.tar")])
        calls = self.folder / "calls"
        for fail in [None, ("hipModuleLoadData", 209)]:  # with images and without
            with self.subTest(fail):
                env = self.environment(fail, 1, calls=calls) | {"MNEME_TEST_PIECES": "1"}
                self.assert_verified(run([tool("run"), "--device", "hip", bundle], [tool("verify")], env=env, timeout=60))
                self.assertGreater(calls.read_text().split().count("hipMemMap"), 2)

    def test_without_images(self):
        """What cannot be kept or compared on the GPU, or loaded there, is by the host, which finds the same."""
        calls = self.folder / "calls"
        for program, options in [("vector_add", ["--grid", "2"]), ("atomics_mix", ["--grid", "1"]), ("nbody", [])]:
            bundle = self.compiled(program, *options)
            found = {}
            for fail, which in [(None, 0), (("hipMalloc", 2), 0), (("hipMalloc", 2), 2), (("hipMalloc", 2), 3),
                                (("hipModuleLoadData", 209), 1), (("hipModuleLoadData", 209), 3),
                                (("hipModuleGetFunction", 500), 1)]:
                with self.subTest(program=program, fail=fail, which=which):
                    env = self.environment(fail, which, calls=calls)
                    result = run([tool("run"), "--device", "hip", bundle], env=env, timeout=60)
                    self.assertEqual(result.statuses, [0], result.text())
                    # Once it is said what is lacking.
                    said = re.findall(r"(?m)^mneme-run: warning: memory is compared and restored by the host, .*: (.+)",
                                      result.errors[0])
                    self.assertEqual(len(said), int(bool(fail)), result.text())
                    if fail:
                        self.assertRegex(result.errors[0], "too little memory left for copies" if fail[0] == "hipMalloc"
                                         else "Mneme's own kernels failed: ")
                    runs = [bundles.parsed(member) for member in bundles.read(result.out) if member.name.startswith("runs/")]
                    found[which, fail] = [(run["status"], run["differences"]) for run in runs]
                    self.assertTrue(found[which, fail])
                    self.assertEqual(found[which, fail], found[0, None])
                    launches = calls.read_text().split().count("hipModuleLaunchKernel")
                    if fail is None:
                        with_images = launches
                    else:
                        self.assertLess(launches, with_images)

    def assert_failed(self, result):
        """A run that failed with a sentence, or exit status 3."""
        if result.statuses[0] == 3:
            self.assertRegex(result.errors[0], r"(?m)^mneme-run: error: .+", result.text())
        else:
            self.assertEqual(result.statuses, [0, 1], result.text())
            self.assertRegex(result.error, r"(?m)^mneme-verify: failed: .+", result.text())

    KERNELS = """
#include <hip/hip_runtime.h>
__global__ void far(int* out) { out[static_cast<size_t>(blockIdx.x) << 34] = 7; }
__global__ void wait(int* out) {
  while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < static_cast<int>(gridDim.x)) {}
  out[1] = 7;
}
int main() {
  int* out;
  int one = 1;
  if (hipMalloc(&out, 64) != hipSuccess) return 1;
  if (hipMemcpy(out, &one, sizeof one, hipMemcpyHostToDevice) != hipSuccess) return 1;
  wait<<<1, 1>>>(out);
  far<<<1, 1>>>(out);
  return hipDeviceSynchronize();
}
"""

    def test_kernels_that_fail(self):
        """One that faults and one that does not end, with another grid than the recorded one; and the one after it runs."""
        source = self.folder / "failing.hip"
        source.write_text(self.KERNELS)
        recording = self.record(self.build(source), name="failing.tar")
        for kernel, pattern in [("far", r"running kernel 'far\(int\*\)' failed"), ("wait", "failed: .*time")]:
            with self.subTest(kernel):
                compiled = self.folder / f"{kernel}.tar"
                self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "--kernel", kernel, "--grid", "2",
                               "-o", compiled, recording])
                result = self.replay(compiled, "--timeout", "1")
                self.assert_failed(result)
                self.assertRegex(result.error, pattern)
        # Both grids in one bundle: what comes after the failure is another process's.
        variants = self.folder / "variants.jsonl"
        variants.write_text('{"grid": [2, 1, 1]}\n{}\n')
        compiled = self.folder / "both.tar"
        self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "--kernel", "far", "--variants", variants,
                       "-o", compiled, recording])
        verdicts = [line["status"] for line in self.verdicts(self.replay(compiled))]
        self.assertEqual(sorted(verdicts), ["failed", "verified"])

    def test_memory_that_fails(self):
        """Virtual memory that works when it is tried, and then no more: what is mapped for the recording fails."""
        bundle = self.compiled("vector_add")
        for name, error in [("hipMemCreate", 2), ("hipMemMap", 2), ("hipMemSetAccess", 719), ("hipMemset", 719)]:
            with self.subTest(name):
                self.assert_failed(self.replay(bundle, fail=(name, error), which=2))

    def test_device_memory_elsewhere(self):
        """A runtime without virtual memory has device memory at addresses of its own, which the bundle names: it is
        the device's again, and not taken for memory of the host's."""
        compiled = self.compiled("saxpy_template")
        self.assert_failed(self.replay(compiled, fail=("hipHostRegister", 2)))
        members = bundles.read(compiled.read_bytes())
        info = bundles.parsed(members[0])
        info["ranges"][-1]["name"] = "device 1"  # what was the host's
        members[0].data = bundles.compact(info)
        elsewhere = self.folder / "elsewhere.tar"
        elsewhere.write_bytes(bundles.write(members))
        self.assert_verified(self.replay(elsewhere, fail=("hipHostRegister", 2)))
        # Nor is there another place for it where virtual memory does not work.
        without = self.replay(elsewhere, fail=("hipMemCreate", 801))
        self.assert_failed(without)
        self.assertRegex(without.error, "the recorded device memory at 0x6.* cannot be there: .* in their place is at")

    def test_no_virtual_memory(self):
        """An allocation takes its place; the stand-in's comes back at the address that was recorded."""
        bundle = self.compiled("vector_add")
        for fail in [("hipMemAddressReserve", 801), ("hipMemAddressReserve", -1), ("hipMemCreate", 801),
                     ("hipMemMap", 801), ("hipMemSetAccess", 801)]:
            with self.subTest(fail):
                self.assert_verified(self.replay(bundle, fail=fail))
        # Nor memory; nor any at those addresses, as somebody else has the first.
        for then, pattern in [(" hipMemGetInfo 719 0", "how much device memory"),
                              (" hipMalloc 2 0", "lacks virtual memory functions that work .* gives no memory")]:
            with self.subTest(then):
                result = self.replay(bundle, fail=("hipMemCreate", 801), then=then)
                self.assert_refused(result, 3, pattern, stage=0)
        result = self.replay(bundle, fail=("hipMemCreate", 801), then=" hipMalloc -1 1")
        self.assertRegex(result.text(), "recorded device memory at .* cannot be there")
        self.assert_failed(result)


class Interface(unittest.TestCase):
    """What lib/device/hip takes AMD's library to be: the same in all releases, or told apart when it runs."""

    # Structures, and why they are the same everywhere.
    STRUCTURES = {
        "Location": "type and number", "Access": "a location and flags",
        "MemoryPropertiesOf52": "has another form since", "MemoryProperties": "that one: it is tried which is right",
    }
    NOT_IN_5_2 = {"hipDeviceSetLimit", "hipModuleLaunchCooperativeKernel"}  # where they are missing, they are not called

    def setUp(self):
        table = (ROOT / "lib/device/hip/runtime.def").read_text()
        self.functions = set(re.findall(r"(?:FUNCTION|OPTIONAL)\([^,]+, (hip\w+), ", table))
        self.optional = set(re.findall(r"OPTIONAL\([^,]+, (hip\w+), ", table))

    def test_structures(self):
        declared = re.findall(r"(?m)^struct (\w+) \{", "".join((ROOT / "lib/vendor" / header).read_text()
                                                              for header in ("common.h", "hip/api.h")))
        sources = "".join(path.read_text() for path in (ROOT / "lib/device/hip").iterdir()
                          if path.suffix in (".h", ".cc", ".def") and not path.name.endswith("_test.cc"))
        self.assertEqual({name for name in declared if re.search(rf"\b{name}\b", sources)}, set(self.STRUCTURES))

    def test_functions_are_the_library_s(self):
        """By the names that HIP 5.2's library exports."""
        self.assertGreater(len(self.functions), 30)
        self.assertLessEqual(self.functions - hip_releases.exported(), self.NOT_IN_5_2)
        self.assertFalse([name for name in self.functions if hip_releases.CHANGED.search(name)])

    def test_missing_functions(self):
        """A library that lacks one is used without it, or refused with its name."""
        self.assertLessEqual(self.NOT_IN_5_2, self.optional)


if __name__ == "__main__":
    unittest.main()
