#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorder in front of AMD's own runtime, where there is no GPU: tests/fake_hip plays that library, as the releases
of ROCm are. Test programs are recorded as on a GPU, and their kernels replayed and verified on the host device."""

import collections
import json
import os
import re
import unittest

import bundles
import hip_releases
from recordings import program_of
from support import BUILD, PROGRAMS, ROOT, TestCase, run, tool

RECORDER = ROOT / "mneme-capture" / "recorder"

FAKE = BUILD / "tests" / "fake_hip"
FAILING = BUILD / "tests" / "failing_hip" / "libamdhip64.so.6"  # in front of it, for calls that fail
DEVICE_BASE = 0x400000000000


class Recorder(TestCase):
    def environment(self, release, version=5):
        return {"LD_LIBRARY_PATH": str(FAKE / str(version)), "MNEME_TEST_ROCM": release}

    def capture(self, name, release="6", version=5, options=(), status=0, program=None):
        """Runs a test program alone and recorded. Returns what mneme-capture gave, and the bundle."""
        program = program or program_of(PROGRAMS / f"{name}.hip", self)
        environment = self.environment(release, version)
        alone = self.run_well([program], env=environment)
        bundle = self.folder / f"{name}_{release}.tar"
        result = run([tool("capture"), "--device", "hip", *options, "-o", bundle, program], env=environment)
        self.assertEqual(result.status, status, result.text())
        self.assertEqual(result.out, alone.out, "the application printed something else")
        return result, bundle

    def info(self, bundle):
        return bundles.parsed(bundles.read(bundle.read_bytes())[0])

    def instances(self, bundle):
        """Instances by the names of their kernels."""
        members = bundles.read(bundle.read_bytes())
        kernels = {k["id"]: k["demangled"].split("(")[0] for k in map(bundles.parsed, (
            m for m in members if m.name.endswith("/kernel.json")))}
        found = {}
        for instance in [bundles.parsed(m) for m in members if m.name.startswith("instances/")]:
            found.setdefault(kernels[instance["kernel"]], []).append(instance)
        return found

    def check_replays(self, bundle):
        """Every instance, on the host device."""
        # The stand-in is no GPU: it does not fuse multiply-adds.
        result = run([tool("compile"), "-O3", "--target", "host", "--no-fuse", bundle], [tool("run")], [tool("verify")])
        lines = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertEqual({line["status"] for line in lines}, {"verified"}, result.text())
        self.assertEqual(len(lines), sum(map(len, self.instances(bundle).values())))
        return lines

    def addresses(self, bundle):
        return {int(s["address"], 16) for of in self.instances(bundle).values() for i in of for s in bundles.segments(i)}

    # ---- with virtual memory, as ROCm 6 and 7 have it ----

    def test_programs(self):
        for name, kernels in {"vector_add": 1, "device_globals": None, "module_launch": None, "stream_order": None,
                              "tree_reduction": None, "grid_sync": None}.items():
            with self.subTest(name):
                result, bundle = self.capture(name)
                self.assertEqual(self.info(bundle)["device"], "hip")
                base = self.info(bundle)["ranges"][0]["base"]
                self.assertEqual(int(base, 16), DEVICE_BASE)
                lines = self.check_replays(bundle)
                self.assertTrue(any(line["changed_bytes"] for line in lines), "they do nothing")
                if kernels:
                    self.assertEqual(len(lines), kernels)

    def test_variables(self):
        _, bundle = self.capture("device_globals")
        symbols = {s.get("symbol") for of in self.instances(bundle).values() for i in of for s in bundles.segments(i)}
        self.assertGreater(len(symbols - {None}), 1, "AMD's runtime is asked where they are")

    def test_heap(self):
        """What kernels allocate is in memory that is recorded, and what one leaves there others find in a replay."""
        for release in ["6", "5.2"]:
            with self.subTest(release):
                result, bundle = self.capture("device_heap", release, options=["--occurrences", 3])
                instances = self.instances(bundle)
                self.assertEqual({name.split("(")[0]: len(of) for name, of in instances.items()},
                                 {"build": 1, "sum": 3, "thin": 1, "churn": 1})
                self.assertFalse([i["missing"] for of in instances.values() for i in of if "missing" in i], result.error)
                self.check_replays(bundle)

    def kernels(self, bundle):
        return [bundles.parsed(m) for m in bundles.read(bundle.read_bytes()) if m.name.endswith("/kernel.json")]

    def test_functions_and_hidden_tables(self):
        """Memory holds pointers to them, which lead to where the loader put them."""
        for name, release in [("virtual_functions", "6"), ("virtual_functions", "5.2"), ("function_pointers", "6")]:
            with self.subTest(f"{name} {release}"):
                result, bundle = self.capture(name, release)
                instances = [i for of in self.instances(bundle).values() for i in of]
                self.assertTrue(all(i.get("complete", True) for i in instances), result.error)
                kernels = [kernel for kernel in self.kernels(bundle) if kernel["functions"]]
                self.assertTrue(kernels)
                for kernel in kernels:
                    for function, address in zip(kernel["functions"], kernel["function_addresses"]):
                        if function != "__cxa_pure_virtual":  # of which nothing is left
                            self.assertTrue(0x790000000000 <= address < 0x7a0000000000, f"{function} {address:#x}")
                if name == "virtual_functions":
                    symbols = {s.get("symbol") for i in instances for s in bundles.segments(i)}
                    self.assertLessEqual({"_ZTV5Input", "_ZTV3Sum", "_ZTV5Twice"}, symbols)
                self.check_replays(bundle)
                compiled = self.folder / f"{name}.compiled.tar"
                self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", compiled, bundle])
                result = run([tool("run"), "--device", "hip", compiled], [tool("verify")], env=self.environment("6"))
                self.assertEqual(result.statuses, [0, 0], result.text())

    HIDDEN = """
#include <hip/hip_runtime.h>
#include <cstdio>
namespace {
struct Base { __device__ virtual int f(int x) const = 0; };
struct Plus : Base {
  __device__ explicit Plus(int k) : k(k) {}
  __device__ int f(int x) const override { return x + k; }
  int k;
};
struct Thrice : Base { __device__ int f(int x) const override { return x * 3; } };
__device__ int more(int x) { return x + 1; }
__device__ int less(int x) { return x - 1; }
using Function = int (*)(int);
__device__ const Function table[2] = {more, less};
__device__ int counter = 5;
__device__ const char* names[2] = {"alpha", "beta"};
}
struct Things {
  alignas(16) unsigned char room[2][32];
  const Base* of[2];
  const Function* from;
  int* count;
  const char* text;
  Function function;
};
__global__ void make(Things* things) {
  things->of[0] = new (things->room[0]) Plus(10);
  things->of[1] = new (things->room[1]) Thrice;
  things->from = table, things->count = &counter, things->text = names[blockIdx.x], things->function = less;
}
__global__ void use(Things* things, int* out) {
  int i = threadIdx.x;
  out[i] = things->of[i % 2]->f(i) + things->from[i % 2](i) * 1000 + things->text[i % 4] + things->function(i);
  if (i == 0) ++*things->count;
}
__global__ void use_by_name(int* out) {
  out[threadIdx.x] += counter + names[1][threadIdx.x % 4] + table[threadIdx.x % 2](4);
}
int main() {
  Things* things;
  int *out, host[64];
  if (hipMalloc(&things, sizeof *things) || hipMalloc(&out, sizeof host)) return 1;
  make<<<1, 1>>>(things);
  use<<<1, 64>>>(things, out);
  use_by_name<<<1, 64>>>(out);
  if (hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost)) return 1;
  int sum = 0;
  for (int value : host) sum += value;
  std::printf("%d\\n", sum);
}
"""

    def test_tables_that_only_others_know(self):
        """`climb` and `use` call virtual functions of objects that were made in another kernel."""
        hidden = self.folder / "hidden.hip"
        hidden.write_text(self.HIDDEN)
        for name, kernel, program in [("virtual_functions", "^climb", None), ("hidden", "^use\\(", self.build(hidden))]:
            with self.subTest(name):
                result, bundle = self.capture(name, options=["--kernel", kernel], program=program)
                instance, = sum(self.instances(bundle).values(), [])
                self.assertTrue(instance.get("complete", True), result.error)
                self.check_replays(bundle)
                compiled = self.folder / f"{name}.compiled.tar"
                self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", compiled, bundle])
                result = run([tool("run"), "--device", "hip", compiled], [tool("verify")], env=self.environment("6"))
                self.assertEqual(result.statuses, [0, 0], result.text())

    def test_references_to_textures(self):
        """They are registered in a way of their own, and not again: releases differ in what they make of that."""
        _, bundle = self.capture("texture_references")
        instances = self.instances(bundle)
        self.assertTrue(instances)
        symbols = {s.get("symbol") for of in instances.values() for i in of for s in bundles.segments(i)}
        references = re.findall(r"(?m)^(?:static )?texture<[^>]*> (\w+)", (PROGRAMS / "texture_references.hip").read_text())
        self.assertTrue(references)
        self.assertFalse(symbols & set(references))

    def test_functions_that_the_runtime_does_not_tell(self):
        """`plant` would point to tables that nobody knows, and `climb` follow them."""
        program = program_of(PROGRAMS / "virtual_functions.hip", self)
        alone = self.run_well([program], env=self.environment("6"))
        for fail in [("hipGetSymbolAddress", 719), ("hipGetSymbolSize", 719)]:
            with self.subTest(fail):
                result, bundle = self.capture_failing(program, fail)
                self.assertEqual(result.out, alone.out, result.text())
                instances = self.instances(bundle)
                self.assertEqual(sorted(instances), ["climb", "plant", "steps"])
                for name, of in instances.items():
                    self.assertFalse(of[0]["complete"], name)
                    self.assertIn("the HIP runtime does not say where the function '", " ".join(of[0]["missing"]))

    def test_what_a_unit_has_to_itself(self):
        """Pointers to functions and variables that nobody can ask the runtime for by the application's own code."""
        source = self.folder / "hidden.hip"
        source.write_text(self.HIDDEN)
        for level in ["-O0", "-O3"]:
            with self.subTest(level):
                result, bundle = self.capture("hidden", program=self.build(source, f"hidden{level}", level))
                instances = self.instances(bundle)
                self.assertEqual(sorted(instances), ["make", "use", "use_by_name"])
                self.assertTrue(all(i.get("complete", True) for of in instances.values() for i in of), result.error)
                self.check_replays(bundle)

    def test_functions_whose_addresses_are_not_known(self):
        """In relocatable code names of functions do not say which one of a unit's own is meant."""
        source = PROGRAMS / "virtual_functions.hip"
        result, bundle = self.capture("relocatable", program=self.build(source, "relocatable", "-fgpu-rdc"))
        instances = self.instances(bundle)
        self.assertEqual(sorted(instances), ["climb", "plant", "steps"])
        for name, of in instances.items():
            for instance in of:
                self.assertFalse(instance["complete"], name)
                self.assertRegex(" ".join(instance["missing"]), "the application's code does not say where the function '.*' lies")
        self.assertIn("is not complete", result.error)

    def test_every_release_has_its_number(self):
        """Programs that were linked with the library of ROCm 5, 6 or 7."""
        for version in [5, 6, 7]:
            with self.subTest(version):
                program = self.folder / f"linked_with_{version}"
                library = FAKE / str(version) / f"libamdhip64.so.{version}"
                self.run_well([tool("inject"), "clang++-19", "-x", "hip", "--offload-arch=gfx90a", "-O2",
                               PROGRAMS / "vector_add.hip", "-c", "-o", f"{program}.o"])
                self.run_well(["clang++-19", f"{program}.o", library, "-o", program])
                self.assertIn(f"[libamdhip64.so.{version}]", run(["readelf", "-d", program]).out.decode())
                _, bundle = self.capture("vector_add", version=version, program=program)
                self.check_replays(bundle)

    def test_host_memory_that_kernels_reach(self):
        _, bundle = self.capture("mapped_memory")
        self.check_replays(bundle)
        # Kernels that see it elsewhere cannot be recorded; the application goes on with the runtime's own.
        result, _ = self.capture("saxpy_template", "apart", status=2)
        self.assertIn("this GPU sees host memory at other addresses", result.error)

    def test_stacks(self):
        """That an application asked for more than all have."""
        _, bundle = self.capture("stacks", program=self.build(ROOT / "tests" / "stacks.hip"))
        self.assertEqual({name: [i.get("stack_bytes") for i in of] for name, of in self.instances(bundle).items()},
                         {"before": [None], "after": [16 << 10]})
        self.check_replays(bundle)

    def test_captures_that_the_wrong_thread_ends(self):
        """They go on, and nothing is waited for meanwhile."""
        source = self.folder / "wrong_end.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
#include <cstdio>
#include <thread>
__global__ void add(int* out, int n) { out[threadIdx.x] += n; }
int main() {
  int *out, host[64];
  hipStream_t stream;
  hipGraph_t graph = nullptr;
  hipGraphExec_t ready;
  (void)hipMalloc(&out, 256);
  (void)hipMemset(out, 0, 256);
  (void)hipDeviceSynchronize();
  (void)hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
  (void)hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
  add<<<1, 64, 0, stream>>>(out, 1);
  std::thread([&] { std::printf("%d\\n", hipStreamEndCapture(stream, &graph)); }).join();
  add<<<1, 64, 0, stream>>>(out, 2);
  std::printf("%d\\n", hipStreamEndCapture(stream, &graph));
  std::printf("%d\\n", hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  std::printf("%d\\n", hipGraphLaunch(ready, stream));
  (void)hipStreamSynchronize(stream);
  (void)hipMemcpy(host, out, 256, hipMemcpyDeviceToHost);
  std::printf("%d %d\\n", host[63], hipDeviceSynchronize());
}
""")
        result, bundle = self.capture("wrong_end", program=self.build(source), options=["--occurrences", 2])
        self.assertEqual([len(of) for of in self.instances(bundle).values()], [2], result.error)
        self.check_replays(bundle)

    def test_default_stream_of_each_thread(self):
        """It is another stream to a thread of the recorder's, which has to wait for the application's."""
        source = self.folder / "own_stream.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void slowly(unsigned* out, unsigned steps) {
  unsigned value = threadIdx.x;
  for (unsigned i = 0; i < steps; ++i) value = value * 1664525u + 1013904223u;
  out[threadIdx.x] = value;
}
__global__ void twice(unsigned* out) { out[threadIdx.x] *= 2; }
int main() {
  unsigned *device, sum = 0, host[64];
  if (hipMalloc(&device, sizeof host) != hipSuccess) return 1;
  slowly<<<1, 64, 0, hipStreamPerThread>>>(device, 20000000);
  twice<<<1, 64, 0, hipStreamPerThread>>>(device);
  if (hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (unsigned word : host) sum += word;
  std::printf("%u\\n", sum);
}
""")
        for default in ["legacy", "per-thread"]:
            with self.subTest(default):
                _, bundle = self.capture("own_stream_" + default,
                                         program=self.build(source, f"own_stream_{default}", f"-fgpu-default-stream={default}"))
                self.assertEqual(len(self.check_replays(bundle)), 2)

    def test_captures_of_the_default_stream_of_each_thread(self):
        """Launches are noted down that do not name it; on the host device, too."""
        source = self.folder / "own_capture.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
__global__ void add(int* out, int n) { out[threadIdx.x] += n; }
int main() {
  int *out, host[64];
  hipGraph_t graph;
  hipGraphExec_t ready;
  if (hipMalloc(&out, 256) || hipMemset(out, 0, 256) || hipDeviceSynchronize()) return 1;
  if (hipStreamBeginCapture(hipStreamPerThread, hipStreamCaptureModeGlobal)) return 1;
  add<<<1, 64>>>(out, 1);
  add<<<1, 64>>>(out, 2);
  if (hipStreamEndCapture(hipStreamPerThread, &graph)) return 1;
  if (hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0) || hipGraphLaunch(ready, hipStreamPerThread)) return 1;
  if (hipStreamSynchronize(hipStreamPerThread) || hipMemcpy(host, out, 256, hipMemcpyDeviceToHost)) return 1;
  return host[63] != 3;
}
""")
        program = self.build(source, "own_capture", "-fgpu-default-stream=per-thread")
        result, bundle = self.capture("own_capture", program=program)
        self.assertNotIn("not recorded", result.error)
        self.assertEqual(len(self.check_replays(bundle)), 2)
        self.assertEqual(len(self.check_replays(self.record(program))), 2)

    def test_what_the_application_is_told_of_memory(self):
        """Types of memory have the numbers of the release, whoever answers."""
        source = self.folder / "types.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void fill(int* out) { out[threadIdx.x] = 7; }
int main() {
  int *device, *pinned, *managed;
  (void)hipMalloc(&device, 256);
  (void)hipHostMalloc(&pinned, 256);
  (void)hipMallocManaged(&managed, 256);
  fill<<<1, 64>>>(device);
  for (int* p : {device, pinned, managed}) {
    hipPointerAttribute_t about;
    if (hipPointerGetAttributes(&about, p) != hipSuccess) return 1;
    std::printf("%d %d %d\\n", about.memoryType, about.isManaged, about.hostPointer != nullptr);
  }
  return hipDeviceSynchronize();
}
""")
        program = self.build(source)
        result, _ = self.capture("types", "6", program=program)
        self.assertEqual(result.out, b"2 0 0\n1 0 1\n3 1 1\n" if result.out else b"")
        self.capture("types", "5.2", program=program)

    def test_managed_variables(self):
        """Host and kernels use them in memory that is recorded."""
        for release in ["6", "5.2"]:
            with self.subTest(release):
                result, bundle = self.capture("managed_variables", release, options=["--occurrences", 3])
                instances = self.instances(bundle)
                self.assertEqual({name: len(of) for name, of in instances.items()}, {"scale": 3, "count": 3})
                self.assertTrue(all(i.get("complete", True) for of in instances.values() for i in of), result.error)
                for instance in instances["count"]:
                    self.assertLessEqual({"steps", "weights"}, {s.get("symbol") for s in bundles.segments(instance)})
                self.assertTrue(all(line["changed_bytes"] for line in self.check_replays(bundle)), "they do nothing")
                compiled = self.folder / "managed.compiled.tar"
                self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", compiled, bundle])
                result = run([tool("run"), "--device", "hip", compiled], [tool("verify")], env=self.environment("6"))
                self.assertEqual(result.statuses, [0, 0], result.text())

    def test_managed_variables_of_the_runtime(self):
        """Where kernels cannot be led to other memory the runtime's own serves, and is missed."""
        program = program_of(PROGRAMS / "managed_variables.hip", self)
        alone = self.run_well([program], env=self.environment("6"))
        result, bundle = self.capture_failing(program, ("hipMemcpyToSymbol", 719))
        self.assertEqual(result.out, alone.out, result.text())
        missing = {name: i.get("missing", []) for name, of in self.instances(bundle).items() for i in of}
        self.assertIn("managed variable", " ".join(sum(missing.values(), [])), missing)

    def test_graphs(self):
        """Kernels of graphs are recorded when these are launched, with the memory that they see."""
        for release in ["6", "5.2"]:
            with self.subTest(release):
                result, bundle = self.capture("graph_captured", release, options=["--occurrences", 3])
                instances = self.instances(bundle)
                self.assertEqual({name: len(of) for name, of in instances.items()}, {"step": 4, "add": 3}, result.error)
                self.assertEqual(sorted(i["index"] for of in instances.values() for i in of), [0, 1, 2, 3, 4, 5, 8])
                self.assertNotIn("not recorded", result.error)
                self.check_replays(bundle)

    def test_graphs_that_are_built_and_changed(self):
        """Also what is in a graph within, and kernels that were changed when the graph was ready already."""
        for release in ["6", "5.2"]:
            with self.subTest(release):
                result, bundle = self.capture("graph_built", release, options=["--max-instances", 8])
                kernels = self.instances(bundle)["accumulate"]
                factors = [int.from_bytes(bytes.fromhex(i["arguments"])[12:16], "little") for i in kernels]
                self.assertEqual(factors, [2, 5, 7, 11])
                self.assertIn("offsets", [s.get("symbol") for s in bundles.segments(kernels[0])])
                self.assertNotIn("not recorded", result.error)
                self.check_replays(bundle)

    def test_graphs_of_many_kernels(self):
        """They are not copied for each."""
        source = self.folder / "many.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
__global__ void add(int* out, int n) { out[threadIdx.x] += n; }
int main() {
  int *out, host[64];
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t ready;
  if (hipMalloc(&out, 256) || hipMemset(out, 0, 256) || hipDeviceSynchronize()) return 1;
  if (hipStreamCreateWithFlags(&stream, hipStreamNonBlocking)) return 1;
  if (hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal)) return 1;
  for (int i = 0; i < 50; ++i) add<<<1, 64, 0, stream>>>(out, i);
  if (hipStreamEndCapture(stream, &graph) || hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0)) return 1;
  if (hipGraphLaunch(ready, stream) || hipStreamSynchronize(stream)) return 1;
  return hipMemcpy(host, out, 256, hipMemcpyDeviceToHost) || host[63] != 49 * 50 / 2;
}
""")
        calls, bundle = self.folder / "calls", self.folder / "many.tar"
        result = run([tool("capture"), "--device", "hip", "-o", bundle, self.build(source)],
                     env=self.environment("6") | {"LD_PRELOAD": str(FAILING), "MNEME_TEST_CALLS": str(calls),
                                                  "MNEME_TEST_RUNTIME": str(FAKE / "5" / "libamdhip64.so.5")})
        self.assertEqual(result.status, 0, result.text())
        made = collections.Counter(calls.read_text().split())
        self.assertEqual((made["hipGraphClone"], made["hipGraphAddKernelNode"]), (1, 50))
        self.check_replays(bundle)

    def test_graphs_that_are_launched_in_several_streams(self):
        """One launch of a graph ends before the next one of it begins, wherever that is."""
        source = self.folder / "in_turn.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void slowly(unsigned* out, unsigned steps) {
  unsigned value = *out;
  for (unsigned i = 0; i < steps; ++i) value = value * 1664525u + 1013904223u;
  *out = value;
}
int main() {
  unsigned* device, value;
  if (hipMalloc(&device, 256) || hipMemset(device, 0, 256)) return 1;
  hipStream_t streams[3];
  for (hipStream_t& stream : streams) {
    if (hipStreamCreateWithFlags(&stream, hipStreamNonBlocking)) return 1;
  }
  hipGraph_t graph;
  hipGraphExec_t ready;
  if (hipStreamBeginCapture(streams[0], hipStreamCaptureModeGlobal)) return 1;
  for (unsigned i = 0; i < 2; ++i) slowly<<<1, 1, 0, streams[0]>>>(device, 30000000 + i);
  if (hipStreamEndCapture(streams[0], &graph) || hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0)) return 1;
  size_t count = 2;
  hipGraphNode_t nodes[2];
  hipKernelNodeParams how;
  if (hipGraphGetNodes(graph, nodes, &count) || hipGraphKernelNodeGetParams(nodes[1], &how)) return 1;
  unsigned steps = 20000000;
  void* arguments[] = {&device, &steps};
  how.kernelParams = arguments;
  for (unsigned i = 0; i < 9; ++i) {
    if (i == 6 && hipGraphExecKernelNodeSetParams(ready, nodes[1], &how)) return 1;  // one that is to be recorded again
    if (hipGraphLaunch(ready, streams[i % 3])) return 1;
  }
  if (hipDeviceSynchronize() || hipMemcpy(&value, device, 4, hipMemcpyDeviceToHost)) return 1;
  std::printf("%u\\n", value);
}
""")
        program = self.build(source, None, "-O1")
        for options in [[], ["--occurrences", 3], ["--skip", 3]]:
            with self.subTest(options):
                _, bundle = self.capture("in_turn", options=options, program=program)
                self.check_replays(bundle)

    def test_graphs_that_are_not_taken_apart(self):
        """They are launched as they are, and it is said why; as is what is launched while a graph is noted down."""
        source = self.folder / "not_apart.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void add(int* out, int n) { out[threadIdx.x] += n; }
int main() {
  int *device, *other, host[64], one = 1;
  hipStream_t stream, second;
  if (hipMalloc(&device, 256) || hipMalloc(&other, 256) || hipStreamCreate(&stream) || hipStreamCreate(&second)) return 1;
  hipGraph_t graph;
  hipGraphNode_t fill, kernel;
  hipMemsetParams to{};
  to.dst = device, to.elementSize = 4, to.width = 64, to.height = 1;
  void* arguments[] = {&device, &one};
  hipKernelNodeParams how{};
  how.func = reinterpret_cast<void*>(add), how.gridDim = 1, how.blockDim = 64, how.kernelParams = arguments;
  if (hipGraphCreate(&graph, 0) || hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &to)) return 1;
  if (hipGraphAddKernelNode(&kernel, graph, &fill, 1, &how)) return 1;
  hipGraphExec_t ready;
  if (hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0)) return 1;
  to.value = 7;
  if (hipGraphExecMemsetNodeSetParams(ready, fill, &to) || hipGraphLaunch(ready, stream)) return 1;
  if (hipStreamSynchronize(stream) || hipMemcpy(host, device, 256, hipMemcpyDeviceToHost)) return 1;
  std::printf("%d\\n", host[5]);
  hipGraph_t noted;
  if (hipMemset(other, 0, 256) || hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed)) return 1;
  add<<<1, 64, 0, stream>>>(device, 1);
  add<<<1, 64, 0, second>>>(other, 3);
  if (hipStreamEndCapture(stream, &noted) || hipStreamSynchronize(second)) return 1;
  if (hipMemcpy(host, other, 256, hipMemcpyDeviceToHost)) return 1;
  std::printf("%d\\n", host[5]);
  if (hipGraphInstantiate(&ready, noted, nullptr, nullptr, 0) || hipGraphLaunch(ready, stream)) return 1;
  if (hipStreamSynchronize(stream) || hipMemcpy(host, device, 256, hipMemcpyDeviceToHost)) return 1;
  std::printf("%d\\n", host[5]);
  return hipGetLastError();
}
""")
        result, bundle = self.capture("not_apart", program=self.build(source))
        self.assertRegex(result.error, r"\(graph\): 1 launch not recorded: a node that is no kernel's was changed after")
        self.assertRegex(result.error, r"add.*: 1 launch not recorded: it was launched during stream capture")
        self.assertEqual([i["index"] for i in self.instances(bundle)["add"]], [2])
        self.check_replays(bundle)

    # ---- without ----

    def check_one_allocation(self, release):
        """All device memory lies in one allocation of the runtime's, and the bundle says where that has to be."""
        for name in ["vector_add", "tree_reduction", "device_globals", "stream_order", "module_launch"]:
            with self.subTest(f"{name} {release}"):
                result, bundle = self.capture(name, release)
                device, host = self.info(bundle)["ranges"][:1], self.info(bundle)["ranges"][-1]
                base, size = int(device[0]["base"], 16), device[0]["size"]
                self.assertNotEqual(base, DEVICE_BASE)
                self.assertEqual((base % 65536, size % 65536), (0, 0))
                self.assertEqual(host["name"], "host")
                inside = [a for a in self.addresses(bundle) if base <= a < base + size]
                self.assertTrue(inside, "its memory is in there")
                self.check_replays(bundle)

    def test_virtual_memory_that_is_not_implemented(self):
        self.check_one_allocation("5.2")

    def test_virtual_memory_that_takes_no_memory(self):
        self.check_one_allocation("reserves")

    def test_one_allocation_is_replayed_in_its_place(self):
        """As device memory there, by virtual memory functions; without them the allocation has to come back."""
        for name in ["vector_add", "device_globals", "mapped_memory"]:
            _, bundle = self.capture(name, "5.2")
            compiled = self.folder / f"{name}.compiled.tar"
            self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "-o", compiled, bundle])
            with self.subTest(f"{name} 6"):
                result = run([tool("run"), "--device", "hip", compiled], [tool("verify")], env=self.environment("6"))
                self.assertEqual(result.statuses, [0, 0], result.text())
                self.assertTrue(result.out)
            # Where the system places what a process allocates, it does so anew each time.
            with self.subTest(f"{name} 5.2"):
                result = run([tool("run"), "--device", "hip", compiled], [tool("verify")], env=self.environment("5.2"))
                if name == "mapped_memory" or result.statuses == [0, 0]:  # it has the host's memory only, or came back
                    self.assertEqual(result.statuses, [0, 0], result.text())
                    continue
                self.assertRegex(result.error,
                                 "the recorded device memory at 0x.* cannot be there: .* in their place is at 0x")
        # Something that is not the GPU's is there.
        environment = {"LD_LIBRARY_PATH": str(FAILING.parent), "MNEME_TEST_FAIL": "hipMemAddressReserve -1 2",
                       "MNEME_TEST_RUNTIME": str(FAKE / "5" / "libamdhip64.so.5"), "MNEME_TEST_ROCM": "6"}
        result = run([tool("run"), "--device", "hip", self.folder / "vector_add.compiled.tar"], [tool("verify")],
                     env=environment)
        self.assertEqual(result.statuses, [0, 1], result.text())
        self.assertRegex(result.error, "address range 0x[0-9a-f]+-.* is taken by something else")

    def test_the_place_is_not_to_be_had(self):
        result, _ = self.capture("vector_add", "moves", status=2)
        self.assertRegex(result.error, "the address range 0x400000000000 to .* is taken or too large")

    # ---- calls that fail ----

    # Those that the recorder makes, and not the application, with what all of them fail with; the first, the second and
    # the third fail with out of memory, an invalid device, a device that was lost.
    ERRORS = [2, 101, 719]
    OF_THE_RECORDER = {
        "device_globals": [("hipMemAddressReserve", 2), ("hipMemCreate", 801), ("hipMemMap", 719), ("hipMemSetAccess", 101),
                           ("hipMemGetInfo", 719), ("hipRuntimeGetVersion", 719), ("hipEventCreateWithFlags", 2),
                           ("hipEventRecord", 719), ("hipMemcpyAsync", 719), ("hipEventSynchronize", 719),
                           ("hipGetSymbolAddress", 719), ("hipGetSymbolSize", 719), ("hipGetDeviceCount", 100),
                           ("hipGetDevice", 101), ("hipMemset", 719),
                           ("hipMemUnmap", 719)],
        "graph_captured": [("hipGraphClone", 2), ("hipGraphNodeFindInClone", 1), ("hipGraphNodeGetType", 1),
                           ("hipGraphDestroyNode", 1), ("hipGraphKernelNodeGetParams", 719), ("hipGraphCreate", 2),
                           ("hipGraphAddEmptyNode", 1), ("hipGraphAddKernelNode", 1)],
        "saxpy_template": [("hipHostRegister", 2), ("hipHostGetDevicePointer", 719), ("hipHostUnregister", 719)],
    }

    def capture_failing(self, program, fail, which=0, release="6", devices=1, besides="", calls="/dev/null"):
        environment = self.environment(release) | {
            "LD_PRELOAD": str(FAILING), "MNEME_TEST_RUNTIME": str(FAKE / "5" / "libamdhip64.so.5"),
            "MNEME_TEST_FAIL": f"{fail[0]} {fail[1]} {which} {besides}", "MNEME_TEST_LEFT": str(self.folder / "left"),
            "MNEME_TEST_CALLS": str(calls), "MNEME_HOST_DEVICES": str(devices)}
        bundle = self.folder / f"{fail[0]}_{which}.tar"
        (self.folder / "left").unlink(missing_ok=True)
        result = run([tool("capture"), "--device", "hip", "-o", bundle, program], env=environment, timeout=60)
        return result, bundle

    def left(self):
        """What the last application, with the recorder in it, had in the end, and how often."""
        said = collections.Counter((self.folder / "left").read_text().split("; ")[:-1])
        # Without virtual memory that works, an allocation takes the place of addresses.
        said["addresses left"] += said.pop("memory left", 0)
        return said

    def test_calls_that_fail(self):
        """The application does what it does alone; what could not be recorded is not there, and it is said why. No more is
        held in the end than where nothing fails."""
        for name, fails in self.OF_THE_RECORDER.items():
            program = program_of(PROGRAMS / f"{name}.hip", self)
            alone = self.run_well([program], env=self.environment("6"))
            result, _ = self.capture_failing(program, ("nothing", 1))
            self.assertEqual(result.status, 0, result.text())
            kept = self.left()  # for as long as the application runs
            self.assertGreaterEqual(kept["mapping left"], 1)
            for fail in fails:
                for which in [1, 2, 3] if fail[0] == "hipGetSymbolAddress" else [0, 1, 2, 3]:  # the application's too
                    fail = (fail[0], self.ERRORS[which - 1] if which else fail[1])
                    with self.subTest(f"{name} {fail} {which}"):
                        result, bundle = self.capture_failing(program, fail, which)
                        if result.statuses[0] == 3:  # it is not started
                            self.assertRegex(result.error, "no AMD GPU")
                            continue
                        self.assertEqual(result.out, alone.out, result.text())
                        self.assertLessEqual(self.left(), kept, "something was not given back")
                        self.assertIn(result.statuses[0], [0, 2], result.text())
                        if result.statuses[0] or not self.instances(bundle):
                            self.assertRegex(result.error, r"mneme-capture: (warning|error): .+")
                        elif all(i.get("complete", True) for of in self.instances(bundle).values() for i in of):
                            self.check_replays(bundle)
                        else:
                            self.assertIn("does not say where the variable", result.error)

    # The recorder's own calls are in these of its sources; what is run here, with so many devices, has it make all of
    # them, some of them only since others fail.
    WITH_CALLS = ["hip/graphs.cc", "hip/runtime.cc", "hip/virtual_memory.cc", "runtime/devices.h", "core/graphs.h"]
    NO_SECOND_ALLOCATION = " ".join(f"hipMalloc 2 {call}" for call in range(2, 40))
    MAKE_THEM = [*((name, "6", 1, "") for name in [
        "device_globals", "module_launch", "graph_captured", "graph_built", "saxpy_template", "stream_order",
        "managed_variables", "memory_queries", "mapped", "device_heap"]),
        ("vector_add", "5.2", 1, ""), ("vector_add", "6", 2, ""), ("vector_add", "6", 1, "hipMemMap 719 0"),
        ("vector_add", "5.2", 2, NO_SECOND_ALLOCATION)]
    # The stand-in is asked for the first; the second says what an error is; only whether there is the third is asked; no
    # release here has those after it; and the last is for when mneme-capture is gone.
    NOT_MADE = {"hipMemExportToShareableHandle", "hipGetErrorString", "hipDeviceSetLimit", "hipGetStreamDeviceId",
                "hipGraphKernelNodeGetAttribute", "hipHostUnregister",
                "hipGraphExecKernelNodeSetParams"}  # with --apply: hip_applying_test.py

    # Maps memory itself, which HIP's headers here cannot ask ROCm 6 for.
    MAPPED = """
#include <hip/hip_runtime.h>
#include <cstdio>
struct Properties { int type, handle, place, device; void* windows; unsigned char flags[2]; unsigned short usage; };
__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x + 1; }
int main() {
  size_t size = 2 << 20;
  void* at;
  hipMemGenericAllocationHandle_t handle;
  Properties how{hipMemAllocationTypePinned, 0, hipMemLocationTypeDevice, 0, nullptr, {}, 0};
  hipMemAccessDesc access{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  if (hipMemAddressReserve(&at, size, 0, nullptr, 0)) return 1;
  if (hipMemCreate(&handle, size, reinterpret_cast<hipMemAllocationProp*>(&how), 0)) return 2;
  if (hipMemMap(at, size, 0, handle, 0) || hipMemSetAccess(at, size, &access, 1)) return 3;
  int host[64] = {};
  fill<<<1, 64>>>(static_cast<int*>(at));
  if (hipMemcpy(host, at, sizeof host, hipMemcpyDeviceToHost)) return 4;
  std::printf("%d\\n", host[63]);
  return hipMemUnmap(at, size) || hipMemRelease(handle) || hipMemAddressFree(at, size);
}
"""

    def test_each_call_fails_in_turn(self):
        """Whether it is the recorder's or the application's: nothing hangs or dies, it is said what came of it, and where
        the application is none the wiser, no more is held in the end than where nothing fails."""
        calls = set().union(*(functions_of((RECORDER / name).read_text()) for name in self.WITH_CALLS))
        left = {name for name in calls if name.startswith("hip")} - self.NOT_MADE
        log, mapped = self.folder / "calls", self.folder / "mapped.hip"
        mapped.write_text(self.MAPPED)
        for name, *how in self.MAKE_THEM:
            program = self.build(mapped) if name == "mapped" else program_of(PROGRAMS / f"{name}.hip", self)
            log.unlink(missing_ok=True)
            well, _ = self.capture_failing(program, ("nothing", 1), 0, *how, log)
            alone = run([program], env=self.environment(how[0]) | {"MNEME_HOST_DEVICES": str(how[1])})
            self.assertEqual((well.out, well.status != 0), (alone.out, alone.status != 0), well.text())
            kept = self.left()
            for function in sorted(left & set(log.read_text().split())):
                left.remove(function)
                for which, error in enumerate([719, *self.ERRORS]):
                    with self.subTest(f"{name} {how} {function} {error} {which}"):
                        result, _ = self.capture_failing(program, (function, error), which, *how)
                        self.assertIn(result.status, [0, 2, 3, 4], result.text())
                        self.assertNotIn("signal", result.error)
                        if result.status:
                            self.assertRegex(result.error, "mneme-capture: error: .+")
                        if result.out == well.out:
                            self.assertLessEqual(self.left(), kept, "something was not given back")
                        else:
                            self.assertIn(result.status, [3, 4], result.text())
        self.assertEqual(left, set(), "no program here has the recorder make these")

    def test_the_last_error_is_the_application_s(self):
        """What fails of the recorder's own is not what hipGetLastError says to the application."""
        source = self.folder / "last_error.hip"
        source.write_text("""
#include <hip/hip_runtime.h>
#include <cstdio>
__device__ int shift = 3;
__global__ void fill(int* out) { out[threadIdx.x] = shift; }
int main() {
  int *device, *pinned;
  (void)hipMalloc(&device, 256);
  std::printf("%d\\n", hipGetLastError());
  (void)hipHostMalloc(&pinned, 256);
  std::printf("%d\\n", hipGetLastError());
  fill<<<1, 64>>>(device);
  std::printf("%d\\n", hipGetLastError());
  (void)hipFree(device);
  (void)hipHostFree(pinned);
  std::printf("%d\\n", hipGetLastError());
}
""")
        program = self.build(source)
        alone = self.run_well([program], env=self.environment("6"))
        self.assertEqual(alone.out, b"0\n" * 4)
        for fail in [("hipMemAddressReserve", 2), ("hipMemCreate", 801), ("hipMemMap", 719), ("hipMemSetAccess", 101),
                     ("hipMemUnmap", 719), ("hipHostRegister", 2), ("hipHostGetDevicePointer", 719),
                     ("hipHostUnregister", 719), ("hipEventCreateWithFlags", 2), ("hipEventRecord", 719),
                     ("hipMemcpyAsync", 719), ("hipEventSynchronize", 719), ("hipGetSymbolAddress", 719)]:
            with self.subTest(fail):
                result, _ = self.capture_failing(program, fail)
                self.assertEqual(result.out, alone.out, result.text())

    # ---- where there is no GPU ----

    def test_the_stand_in_is_no_gpu(self):
        program = program_of(PROGRAMS / "vector_add.hip", self)
        for environment in [{"LD_LIBRARY_PATH": str(BUILD / "lib" / "mneme" / "hostgpu")}, {"LD_LIBRARY_PATH": ""}]:
            result = run([tool("capture"), "--device", "hip", program], env=environment)
            if not os.path.exists("/dev/kfd"):
                self.assert_refused(result, 3, "no AMD GPU")


def functions_of(text):
    """The functions of HIP's runtime that a source of the recorder hooks or calls."""
    text = re.sub(r"//[^\n]*", "", text)
    variants = {"_SPT": ["", "_spt"]}
    return ({name + end for variant, name in re.findall(r"\bHOOK(_SPT)?\([^,]+,\s*(\w+)", text) for end in variants.get(variant, [""])}
            | {name for name in re.findall(r"\b(?:CALL\([^,]+,\s*|NEXT\()(__hip\w+|hip\w+)", text)}
            | {"hip" + name for name in re.findall(r'prefix, "(\w+)"', text)} | set(re.findall(r'"(_Z\w+)"', text)))


class Interface(unittest.TestCase):
    """What the recorder takes AMD's library to be: the same in all releases, or told apart when it runs."""

    # Structures that are looked into, and why that is the same everywhere.
    STRUCTURES = {
        "dim3": "three numbers", "hipPitchedPtr": "as it was", "hipExtent": "as it was",
        "hipPointerAttribute_t": "members as they were; the numbers of hipMemoryType changed with ROCm 6: type_of()",
        "hipMemLocation": "type and number", "hipMemAccessDesc": "a location and flags",
        "hipMemAllocationProp, in HIP 5.2": "has another form since: VirtualMemory finds out which",
        "hipKernelNodeParams": "members as they were",
        "hipMemPoolProps": "only the location is read, and stands where it stood",
    }
    # Later than HIP 5.2, or never exported by it; where they are missing, they are not called.
    NOT_IN_5_2 = {"hipHostAlloc", "hipGetStreamDeviceId", "hipDrvPointerGetAttributes", "hipGraphLaunch_spt", "hipGraphInstantiateWithParams",
                  "hipGraphKernelNodeGetAttribute", "hipGraphExecNodeSetParams", "hipDrvGraphExecMemcpyNodeSetParams",
                  "hipDrvGraphExecMemsetNodeSetParams", "hipGraphNodeSetEnabled", "hipStreamBeginCaptureToGraph"} | {
        f"hip{name}_spt" for name in [
            "MemsetAsync", "Memset2DAsync", "Memset3DAsync", "Memcpy2DAsync", "Memcpy3DAsync", "MemcpyToSymbolAsync",
            "MemcpyFromSymbolAsync", "Memcpy2DFromArrayAsync", "StreamBeginCapture", "StreamEndCapture"]}

    def setUp(self):
        files = [*(RECORDER / "hip").rglob("*.*"), RECORDER / "runtime" / "devices.h", RECORDER / "core" / "graphs.h",
                 ROOT / "lib" / "vendor" / "common.h", ROOT / "lib" / "vendor" / "hip" / "api.h"]
        self.sources = {path.name: path.read_text() for path in files if "_test" not in path.name}

    def test_structures(self):
        declared = re.findall(r"^struct \w+ \{ *// ((?:hip|dim3|…)[^\n]*)$", self.sources["api.h"] + self.sources["common.h"],
                              re.MULTILINE)
        self.assertEqual(sorted(name.replace("…", "hip") for name in declared), sorted(self.STRUCTURES))

    def test_nothing_that_changed_is_used(self):
        for name, text in self.sources.items():
            code = re.sub(r"//[^\n]*", "", text)
            self.assertIsNone(hip_releases.CHANGED.search(code), f"{name}: {hip_releases.CHANGED.search(code)}")
        self.assertTrue(hip_releases.CHANGED.search("hipDeviceProp_t about;"))

    def test_functions_are_the_library_s(self):
        """By the names that HIP 5.2's library exports: a misspelt one would just never be called."""
        called = set().union(*(functions_of(text) for text in self.sources.values()))
        self.assertGreater(len(called), 150)
        self.assertEqual(called - hip_releases.exported() - self.NOT_IN_5_2, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
