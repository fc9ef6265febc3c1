#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-inject makes what clang builds recordable, and otherwise behaves like the compiler it runs."""

import json
import pathlib
import re
import signal
import struct
import subprocess
import sys
import unittest

from compiling import BUILD, CLANG, EXTRACT, INJECT, Compiling

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

from support import precompiled_headers  # noqa: E402

ARCH = "--offload-arch=gfx90a"
DEVICE_LIBRARIES = "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"

FIRST = """
#include <hip/hip_runtime.h>
template <class T> __global__ void scale(T* data, T factor) { data[threadIdx.x] *= factor; }
static __global__ void local(int* data) { data[0] = 1; }
void first(float* data) { scale<float><<<1, 1>>>(data, 2.0f); local<<<1, 1>>>(nullptr); }
"""
SECOND = """
#include <hip/hip_runtime.h>
template <class T> __global__ void scale(T* data, T factor) { data[threadIdx.x] *= factor; }
static __global__ void local(int* data) { data[0] = 2; }
void first(float*);
int main() { scale<float><<<1, 1>>>(nullptr, 2.0f); local<<<1, 1>>>(nullptr); first(nullptr); }
"""
RICH = """
#include <hip/hip_runtime.h>
struct Body { float x, y, z; char tag; double mass; };
struct Pointers { char c; float* p; short s; };
union Either { struct { char c; int i; } a; char raw[8]; };
struct WithUnion { Either u; float* q; Body bodies[2]; };
__constant__ float coefficients[4];
__device__ int counter;
static __device__ float hidden;
__device__ float unused[1000];
__device__ __noinline__ float twice(float v) { return 2 * v; }
__device__ __noinline__ float never(float v) { return 3 * v; }
struct Base { __device__ virtual float f(float) = 0; };
struct Derived : Base { __device__ float f(float x) override { return x + 1; } };
__global__ void layout(Body b, bool flag, Pointers p, WithUnion w, _Float16 h, long n, float* out) {
  out[0] = b.x + p.p[0] + w.q[n] + flag + static_cast<float>(h);
}
__global__ void variables(float* out) {
  __shared__ float tile[16];
  tile[threadIdx.x] = coefficients[threadIdx.x] + hidden;
  __syncthreads();
  out[0] = tile[0] + atomicInc(reinterpret_cast<unsigned*>(&counter), 7u);
}
__global__ void calls(float* out, int which) {
  float (*f)(float) = which ? &twice : nullptr;
  Derived derived;
  Base* base = &derived;
  if (f) out[0] = f(out[0]) + base->f(out[0]);
}
__global__ void math(double* out) { out[0] = sin(out[0]) + pow(out[1], out[2]); }
int main() {
  void* p = nullptr;
  (void)hipGetSymbolAddress(&p, HIP_SYMBOL(hidden));
  (void)hipGetSymbolAddress(&p, HIP_SYMBOL(unused));
  variables<<<1, 1>>>(nullptr);
}
"""
POINTERS = """
#include <hip/hip_runtime.h>
struct View { int* host; int* device; long n; };
struct Node { long value; Node* next; };
struct Rows { long n; int* row[4]; };
__device__ int* table[8];
__global__ void plain(const int* in, int* out, int* unused) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void of_structure(View view) { view.device[threadIdx.x] = view.n; }
__global__ void in_memory(const View* views) { views[threadIdx.x].device[1] = 0; }
__global__ void behind(const View* views) { views[-2].device[1] = 0; }
__global__ void list(Node* node) { for (; node; node = node->next) node->value += 1; }
__global__ void numbers(View view, const Node* nodes, int i) {
  view.device[view.n * 2 - nodes[1].value + nodes[i].value + (int)view.n] = 1;
}
__global__ void row(Rows rows) { rows.row[threadIdx.x % 4][2] = 1; }
__global__ void number(unsigned long address) { *(int*)(address + 16) = 1; }
__global__ void variable() { *table[threadIdx.x] = 1; *table[3] = 1; }
__device__ __noinline__ int deep(const View* views, int n) { return n == 0 ? *views->device : deep(views + 1, n - 1); }
__global__ void recursive(const View* views, int n) { views->device[0] = deep(views, n); }
__global__ void shared(View view) {
  __shared__ int* kept[2];
  kept[threadIdx.x % 2] = view.device;
  __syncthreads();
  kept[(threadIdx.x + 1) % 2][threadIdx.x] = 1;
}
__global__ void polls(volatile int* go, int* data) { while (*go == 0) {} data[0] = 1; }
__global__ void fenced(int* go, int* data) {
  while (*go == 0) __threadfence_system();
  data[0] = 1;
}
__global__ void told(volatile int* go, int* data) {
  __shared__ int seen;
  do {
    if (threadIdx.x == 0) seen = *go;
    __syncthreads();
  } while (seen == 0);
  data[threadIdx.x] = 1;
}
__global__ void aborts(volatile int* stop, int* data, int n) {
  for (int i = 0; i < n && !*stop; ++i) data[0] += i;
}
__global__ void reads(volatile int* data, int n) { for (int i = 0; i < n; ++i) data[n] += data[i]; }
int main() {
  void* p = nullptr;
  (void)hipGetSymbolAddress(&p, HIP_SYMBOL(table));
}
"""
TEXTS = """
#include <hip/hip_runtime.h>
__device__ constexpr int table[] = {2, 3, 5};
__device__ constexpr const char* names[] = {"one", "two"};
struct Thing { const char* name; const int* from; };
__device__ __noinline__ int sum(const char* text) { return *text ? *text + sum(text + 1) : 0; }
__global__ void stores(Thing* things, int i) { things[i] = {i ? "odd" : "even", &table[i]}; }
__global__ void of_table(Thing* things, int i) { things->name = names[i]; }
__global__ void exchanges(unsigned long long* out) { atomicExch(out, (unsigned long long)&table[1]); }
__global__ void assembly(const int** out, int i) { asm volatile("global_store_dwordx2 %0, %1, off" :: "v"(out), "v"(&table[i])); }
__global__ void reads(int* out, int i) { *out = table[i] + names[i][i] + sum(i ? "odd" : "even"); }
__global__ void prints(int i) { printf("%s %d\\n", i ? "odd" : "even", table[i]); }
__global__ void far(long* out, int i) { *out = &table[i] - table; }
"""
NAMES = """
#include <hip/hip_runtime.h>
template <class... T> struct One {
  static __global__ void member(int* x1, T... x, int last) { *x1 = (x + ... + last); }
};
template <class... T> __global__ void pack(int* out, T... x, int y) { *out = (x + ... + y); }
template <class... T> __global__ void alone(int* out, T... x) { *out = (x + ... + 0); }
template <int... N> __global__ void values(int* out, int J2) { *out = (N + ... + J2); }
__global__ void plain(int* x, int x2, int x24, int k3) { *x = x2 + x24 + k3; }
__global__ void Jacobi(int* x, int x2) { *x = x2; }
__global__ void reserved(int* out, int entry, int entry1, int v) { *out = entry - entry1 + v; }
int main() {
  One<int, float>::member<<<1, 1>>>(nullptr, 1, 2.0f, 3);
  pack<int, float, unsigned><<<1, 1>>>(nullptr, 1, 2.0f, 3u, 4);
  alone<<<1, 1>>>(nullptr, 1);
  values<2, 7><<<1, 1>>>(nullptr, 1);
}
"""
MAKEFILE = """
app: first.o second.o
	$(CXX) --hip-link {arch} $^ -o $@
%.o: %.hip
	$(CXX) $(CXXFLAGS) {arch} -c $< -o $@
"""


# Whose checks try the compiler itself, and no launcher.
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(both LANGUAGES CXX)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
endif()
include(CheckCXXCompilerFlag)
set(CMAKE_REQUIRED_LINK_OPTIONS --hip-link)
check_cxx_compiler_flag("-xhip;--offload-arch=gfx90a" TAKES_HIP)
if(NOT TAKES_HIP)
  message(FATAL_ERROR "it does not take HIP")
endif()
add_executable(both first.hip second.hip)
set_source_files_properties(first.hip second.hip PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xhip;--offload-arch=gfx90a")
target_link_options(both PRIVATE --hip-link --offload-arch=gfx90a)
"""
CHANGED = """
#include <hip/hip_runtime.h>
__global__ void change(int* data) { data[threadIdx.x] += 12345; }
int main() { change<<<1, 1>>>(nullptr); }
"""
OWN_PASS = """
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
using namespace llvm;
struct Change : PassInfoMixin<Change> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    for (Function& function : module)
      for (Instruction& instruction : instructions(function))
        for (Use& use : instruction.operands())
          if (auto* number = dyn_cast<ConstantInt>(use); number && number->getValue() == 12345)
            use = ConstantInt::get(number->getType(), 777);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};
extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "own", "1", [](PassBuilder& builder) {
            builder.MOMENT([](ModulePassManager& passes, OptimizationLevel) { passes.addPass(Change()); });
          }};
}
"""


def embedded(path):
    """The KernelInfo of every record in a file, by name: an independent reader of what objects/embedded.h says."""
    contents, found, at = path.read_bytes(), {}, 0
    while (at := contents.find(b"MNEMEIR1", at)) >= 0:
        size, bitcode = struct.unpack_from("<QQ", contents, at + 8)
        info = json.loads(contents[at + 24:at + 24 + size])
        found[info["demangled"].split("(")[0]] = info
        at += 24 + size + bitcode
    return found


class Recordable(Compiling):
    SOURCES = {"first.hip": FIRST, "second.hip": SECOND, "rich.hip": RICH, "pointers.hip": POINTERS, "names.hip": NAMES,
               "texts.hip": TEXTS, "changed.hip": CHANGED, "own.cc": OWN_PASS}

    def compile(self, level, *arguments):
        """For what is compiled, not how."""
        return self.inject(*precompiled_headers(RICH, [level]), "-x", "hip", level, ARCH, *arguments)

    def kernels(self, name):
        listed = self.run_well(EXTRACT, "--list", name).stdout
        lines = [line.split("\t") for line in listed.splitlines()]
        return sorted((kernel.split("(")[0], target.split("--")[1]) for _, kernel, _, target in lines)

    def hashes(self, name):
        return {line.split("\t")[0] for line in self.run_well(EXTRACT, "--list", name).stdout.splitlines()}

    # ---- what is embedded ----------------------------------------------------------------------

    def check_ir(self, binary):
        """LLVM's own tools read the IR, and it is complete."""
        self.run_well(EXTRACT, binary, "-o", "ir/")
        files = sorted((self.folder / "ir").iterdir())
        self.assertEqual(len(files), 4)
        texts = {}
        for file in files:
            self.run_well("opt-19", "-passes=verify", "-disable-output", file)
            with open(file) as bitcode:
                text = self.run_well("llvm-dis-19", stdin=bitcode).stdout
            texts[file.name.split("-")[0]] = text
            self.assertIn("define protected amdgpu_kernel", text)
            declared = [line for line in text.splitlines() if line.startswith("declare ") and "@llvm." not in line]
            self.assertEqual(declared, [], file)
            for unwanted in ["@unused", "@_Z5neverf", "llvm.used", "!llvm.ident", "opencl.ocl",
                             "__hip_cuid", "!DICompileUnit", str(self.folder)]:
                self.assertNotIn(unwanted, text, file)
        # Only what calls through pointers lists what they may lead to.
        self.assertEqual([kernel for kernel, text in texts.items() if "llvm.compiler.used" in text], ["calls"])
        return texts

    def test_closures_at_o3(self):
        self.compile("-O3", "rich.hip", "-o", "rich")
        text = self.check_ir("rich")
        self.assertIn("@_Z5twicef", text["calls"])
        self.assertNotIn("@_Z5twicef", text["math"])
        self.assertIn("externally_initialized", text["variables"])
        self.assertIn("__ocml_pow_f64", text["math"], "the device libraries' code is part of the closure")
        self.assertNotIn("llvm.amdgcn.atomic.inc", text["variables"], "an intrinsic that LLVM has removed")

    def test_debug_information_stays_and_changes_no_hash(self):
        ids = {}
        for flag in ["-g0", "-g"]:
            self.inject("-x", "hip", "-O1", flag, ARCH, "rich.hip", "-o", "rich")
            ids[flag] = [line.split()[0] for line in self.run_well(EXTRACT, "--list", "rich").stdout.splitlines()]
            text = self.run_well(EXTRACT, "-S", "--kernel", "math", "rich").stdout
            self.assertEqual("!DICompileUnit" in text, flag == "-g")
        self.assertEqual(ids["-g0"], ids["-g"])

    def test_closures_at_o0(self):
        self.compile("-O0", "rich.hip", "-o", "rich")
        self.assertIn("optnone", self.check_ir("rich")["layout"])

    def test_the_device_code_itself_stays(self):
        code = {}
        for name, command in [("plain", [CLANG, DEVICE_LIBRARIES]), ("injected", [INJECT, CLANG])]:
            (self.folder / name).mkdir()
            self.run_well(*command, "-O2", ARCH, "--cuda-device-only", "--no-gpu-bundle-output", "-save-temps",
                          "../second.hip", "-o", "code", cwd=self.folder / name)
            assembly, = (self.folder / name).glob("*.s")
            lines = assembly.read_text().splitlines()
            code[name] = [line for line in lines if line.startswith("\t") and "mneme" not in line and "." not in line]
        self.assertGreater(len(code["plain"]), 10)
        self.assertEqual(code["plain"], code["injected"])

    def test_names_are_not_in_the_ir(self):
        """What is embedded is what it was without them, and has the same hash."""
        hashes = []
        for options in [[], ["-Xarch_device", "-fdiscard-value-names"]]:
            self.inject("-x", "hip", "-O1", ARCH, *options, "-c", "rich.hip", "-o", "rich.o")
            infos = embedded(self.folder / "rich.o")
            hashes.append({name: (info["id"], info["bitcode"]) for name, info in infos.items()})
        self.assertNotIn("name", infos["layout"]["arguments"][0])
        self.assertEqual(hashes[0], hashes[1])

    # ---- code that others change ---------------------------------------------------------------

    def change(self, name):
        text = (self.folder / name).read_text()
        self.assertIn("12345", text)
        (self.folder / name).write_text(text.replace("12345", "777"))

    def test_text_is_for_editing(self):
        """Nothing goes into it that would describe what it was before; IR that is compiled then is what is embedded."""
        device = ["-x", "hip", "-O2", ARCH, "--cuda-device-only"]
        for options in (["-S"], ["-S", "-emit-llvm"], ["-c", "-emit-llvm", "--no-gpu-bundle-output"]):
            self.inject(*device, *options, "changed.hip", "-o", "text")
            self.assertNotIn(b"mneme", (self.folder / "text").read_bytes().lower(), options)
        self.inject(*device, "-S", "-emit-llvm", "changed.hip", "-o", "ir.ll")
        self.change("ir.ll")
        gpu = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib"]
        for options in (gpu, ["--target=amdgcn-amd-amdhsa", *gpu[2:], "-x", "ir"]):
            self.run_well(INJECT, "clang-19", *options, "ir.ll", "-o", "code")
            self.assertIn("777", self.run_well(EXTRACT, "-S", "code").stdout)
        self.inject(*device, "-S", "changed.hip", "-o", "assembly.s")
        self.run_well(INJECT, "clang-19", *gpu, "assembly.s", "-o", "code")
        self.assertEqual(embedded(self.folder / "code"), {})

    def test_assembly_that_is_left_is_for_editing(self):
        for where in ("-save-temps", "--save-temps=obj"):
            with self.subTest(where=where):
                self.inject("-x", "hip", "-O2", ARCH, where, "changed.hip", "-o", "changed")
                self.assertIn("12345", self.run_well(EXTRACT, "-S", "changed").stdout)
                [left] = self.folder.glob("changed-hip-*.s")
                self.assertNotIn("mneme", left.read_text().lower())
                self.assertIn("0x3039", left.read_text())
                left.write_text(left.read_text().replace("0x3039", "0x309"))
                self.run_well(INJECT, "clang-19", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", left.name,
                              "-o", "code")
                self.assertEqual(embedded(self.folder / "code"), {})
                left.unlink()
        failed = subprocess.run([INJECT, CLANG, "-x", "hip", ARCH, "-save-temps", "none.hip"], cwd=self.folder, capture_output=True)
        self.assertEqual(failed.returncode, 1, failed.stderr)

    def test_passes_of_ones_own(self):
        """What they made is what is embedded, wherever in the pipeline they run."""
        llvm = self.run_well("llvm-config-19", "--cppflags").stdout.split()
        for moment in ("PipelineStart", "OptimizerLast"):
            self.run_well(CLANG, "-fPIC", "-shared", "-fno-rtti", "-std=c++17", *llvm, f"-DMOMENT=register{moment}EPCallback",
                          "own.cc", "-o", f"{moment}.so")
            for level in ("-O0", "-O2"):
                for option in ([f"-fpass-plugin=./{moment}.so"], ["-Xclang", f"-fpass-plugin=./{moment}.so"]):
                    for more in ([], ["-fgpu-rdc"]) if level == "-O2" else [[]]:  # clang 19 crashes over -O0 with it
                        with self.subTest(moment=moment, level=level, option=option, more=more):
                            self.inject("-x", "hip", level, ARCH, *option, *more, "changed.hip", "-o", "changed")
                            text = self.run_well(EXTRACT, "-S", "changed").stdout
                            self.assertIn("777", text)
                            self.assertNotIn("12345", text)
                            if not more:
                                self.assertEqual(embedded(self.folder / "changed")["change"]["own_passes"], [f"{moment}.so"])
        result = self.run_well(INJECT, CLANG, "-x", "hip", ARCH, "-fgpu-rdc", "-Xoffload-linker",
                               "--load-pass-plugin=./OptimizerLast.so", "changed.hip", "-o", "changed")
        self.assertIn("changes by the passes of 'OptimizerLast.so' in the link are not recorded", result.stderr)

    # ---- the header ----------------------------------------------------------------------------

    def test_header(self):
        self.compile("-O1", "-c", "rich.hip", "-o", "rich.o")
        kernels = embedded(self.folder / "rich.o")
        self.assertEqual(sorted(kernels), ["calls", "layout", "math", "variables"])
        for info in kernels.values():
            self.assertEqual(info["target"], "amdgcn-amd-amdhsa--gfx90a")
            self.assertEqual(info["wave_size"], 64)
            self.assertEqual(info["source"], "rich.hip")

    def test_header_arguments(self):
        self.compile("-O1", "-c", "rich.hip", "-o", "rich.o")
        info = embedded(self.folder / "rich.o")["layout"]
        shape = [(a["offset"], a["size"], a["kind"]) for a in info["arguments"]]
        self.assertEqual(shape, [(0, 24, "struct"), (24, 1, "scalar"), (32, 24, "struct"), (56, 64, "struct"),
                                 (120, 2, "scalar"), (128, 8, "scalar"), (136, 8, "pointer")])
        self.assertEqual(info["argument_bytes"], 144)
        self.assertEqual([a["name"] for a in info["arguments"]], ["b", "flag", "p", "w", "h", "n", "out"])
        padding = [[(r["offset"], r["size"]) for r in a["padding"]] for a in info["arguments"]]
        self.assertEqual(padding[0], [(13, 3)])
        self.assertEqual(padding[2], [(1, 7), (18, 6)])
        self.assertEqual(padding[3], [(29, 3), (53, 3)], "of the bodies in the array, and none of the union")
        # The offsets are those of the backend's own metadata.
        self.inject("-O1", ARCH, "--cuda-device-only", "--no-gpu-bundle-output", "rich.hip", "-o", "rich.co")
        notes = self.run_well("llvm-readelf-19", "--notes", "rich.co").stdout.split(".args:")
        own = next(note for note in notes if "layout" in note)
        fields = [line.split() for line in own.splitlines()]
        offsets = [int(f[-1]) for f in fields if ".offset:" in f]
        self.assertEqual(offsets[:7], [a["offset"] for a in info["arguments"]])

    def test_header_names(self):
        """An argument that may have another's name has none: LLVM tells those of a pack apart by numbers."""
        self.compile("-O1", "-c", "names.hip", "-o", "names.o")
        names = {name: [a.get("name") for a in info["arguments"]]
                 for name, info in embedded(self.folder / "names.o").items()}
        self.assertEqual(names, {
            "plain": ["x", "x2", "x24", "k3"], "Jacobi": ["x", "x2"], "reserved": ["out", None, None, "v"],
            "void pack<int, float, unsigned int>": ["out", None, None, None, "y"],
            "void values<2, 7>": ["out", "J2"],
            "One<int, float>::member": [None, None, None, "last"], "void alone<int>": ["out", "x"]})

    def test_header_pointers(self):
        argument = {"at": [{"offset": 0}]}
        second = {"at": [{"offset": 8}]}
        device = {"pointer": 0, "offset": 8, "stride": 24}
        expected = {
            "plain": [argument, second], "of_structure": [second], "number": [argument], "shared": [second],
            "in_memory": [argument, {"at": [device]}],
            "behind": [argument, {"at": [{"pointer": 0, "before": 40}]}],
            "list": [{"at": [{"pointer": 0, "offset": 8}, {"pointer": 1, "offset": 8}]}, argument],
            "row": [{"at": [{"offset": 8, "arrays": [{"stride": 8, "count": 4}]}]}],
            "numbers": [{"at": [{"offset": 24}]}, second, {"at": [{"pointer": 0, "offset": 16}], "number": True},
                        {"at": [{"offset": 16}], "number": True}],
            "variable": [{"at": [{"symbol": "table", "offset": 0, "arrays": [{"stride": 8, "count": 8}]}]},
                         {"at": [{"symbol": "table", "offset": 24}]}],
            "recursive": [argument, {"at": [device]}, {"at": [{"pointer": 0, "offset": 8}]}],
            "polls": [{**argument, "polled": True}, second], "reads": [argument],
            "aborts": [argument, second], "fenced": [{**argument, "polled": True}, second],
            "told": [{**argument, "polled": True}, second],
        }
        for level in ["-O0", "-O3"]:
            self.compile(level, "-c", "pointers.hip", "-o", "pointers.o")
            found = {name: info["pointers"] for name, info in embedded(self.folder / "pointers.o").items()}
            self.assertEqual(found, expected, level)

    def test_header_variables(self):
        self.compile("-O1", "-c", "rich.hip", "-o", "rich.o")
        kernels = embedded(self.folder / "rich.o")
        variables = {g["name"]: (g["size"], g["align"], g["constant"]) for g in kernels["variables"]["globals"]}
        self.assertEqual(variables, {"coefficients": (16, 16, False), "counter": (4, 4, False),
                                     "_ZL6hidden": (4, 4, False)})
        self.assertEqual(kernels["layout"]["globals"], [])
        self.assertEqual(kernels["math"]["globals"], [], "tables of the device libraries are code")
        vtables = {g["name"]: (g["size"], g["constant"]) for g in kernels["calls"]["globals"]}
        self.assertEqual(vtables["_ZTV7Derived"], (24, True))
        functions = kernels["calls"]["functions"]
        self.assertIn("_Z5twicef", functions)
        self.assertIn("_ZN7Derived1fEf", functions)
        self.assertEqual(kernels["variables"]["functions"], [])

    def test_constants_whose_addresses_are_stored(self):
        """They are variables: memory points to them. Of kernels that only read or print them they are code."""
        expected = {"stores": [(".str", 4), (".str.1", 5), ("_ZL5table", 12)], "exchanges": [("_ZL5table", 12)],
                    "assembly": [("_ZL5table", 12)],
                    "of_table": [(".str", 4), (".str.1", 4), ("_ZL5names", 16)], "reads": [], "prints": [], "far": []}
        for level in ["-O0", "-O3"]:
            self.compile(level, "-c", "texts.hip", "-o", "texts.o")
            found = {name: [g["size"] for g in sorted(info["globals"], key=lambda g: g["name"])]
                     for name, info in embedded(self.folder / "texts.o").items()}
            self.assertEqual(found, {name: [size for _, size in of] for name, of in expected.items()}, level)

    def test_wave_size_and_processors(self):
        self.inject("-O1", "--offload-arch=gfx906", "--offload-arch=gfx1030", "second.hip", "-c", "-o", "two.o")
        self.assertEqual(self.kernels("two.o"), [("local", "gfx1030"), ("local", "gfx906"),
                                                 ("void scale<float>", "gfx1030"), ("void scale<float>", "gfx906")])
        for target, size in [("gfx906", 64), ("gfx1030", 32)]:
            self.inject("-O1", f"--offload-arch={target}", "second.hip", "-c", "-o", "one.o")
            self.assertEqual({i["wave_size"] for i in embedded(self.folder / "one.o").values()}, {size})

    def test_settings_of_the_processor(self):
        """What code is built for besides a processor, in AMD's order; code for either is other code."""
        ids = set()
        for given, target in [("gfx90a", "gfx90a"), ("gfx90a:xnack+", "gfx90a:xnack+"), ("gfx906:xnack-", "gfx906:xnack-"),
                              ("gfx90a:sramecc-:xnack+", "gfx90a:sramecc-:xnack+")]:
            self.inject("-O1", f"--offload-arch={given}", "second.hip", "-c", "-o", "one.o")
            infos = embedded(self.folder / "one.o").values()
            self.assertEqual({i["target"] for i in infos}, {f"amdgcn-amd-amdhsa--{target}"})
            self.assertEqual(self.kernels("one.o"), [("local", target), ("void scale<float>", target)])
            ids |= {i["id"] for i in infos}
        self.assertEqual(len(ids), 8)

    def test_hashes_tell_code_apart_and_nothing_else(self):
        self.inject("-O2", ARCH, "-c", "first.hip", "-o", "a.o")
        other = self.folder / "elsewhere"
        other.mkdir()
        (other / "renamed.hip").write_text(FIRST)
        self.inject("-O2", "-g", ARCH, "-c", "renamed.hip", "-o", "b.o", cwd=other)
        self.assertEqual(self.hashes("a.o"), self.hashes("elsewhere/b.o"))
        (other / "renamed.hip").write_text(FIRST.replace("*=", "+="))
        self.inject("-O2", ARCH, "-c", "renamed.hip", "-o", "c.o", cwd=other)
        self.assertEqual(len(self.hashes("a.o") & self.hashes("elsewhere/c.o")), 1, "only 'local' stayed the same")

    # ---- ways to build -------------------------------------------------------------------------

    def check_two_units(self, binary):
        self.assertEqual(len(self.hashes(binary)), 3, "one template, two static kernels of one name")
        self.assertEqual({name for name, _ in self.kernels(binary)}, {"void scale<float>", "local"})

    def test_one_step(self):
        self.inject("-O2", ARCH, "first.hip", "second.hip", "-o", "app")
        self.check_two_units("app")
        self.assertEqual(self.run_any("./app").returncode, 0, "it still runs")

    def test_compile_and_link(self):
        for unit in ["first", "second"]:
            self.inject("-O2", ARCH, "-c", f"{unit}.hip", "-o", f"{unit}.o")
        self.inject("--hip-link", ARCH, "first.o", "second.o", "-o", "app")
        self.check_two_units("app")

    def test_as_cxx_in_make(self):
        (self.folder / "Makefile").write_text(MAKEFILE.format(arch=ARCH))
        self.run_well("make", f"CXX={INJECT} {CLANG}", "CXXFLAGS=-O2 -Werror", "app")
        self.check_two_units("app")

    def test_one_word_for_a_compiler(self):
        for link, compiler in (("mneme-clang++", "clang++-19"), ("mneme-clang", "clang-19")):
            word = str(BUILD / "bin" / link)
            for question in ("--version", "-print-resource-dir"):
                self.assertEqual(self.run_well(word, question).stdout, self.run_well(compiler, question).stdout)
        self.run_well(str(BUILD / "bin" / "mneme-clang++"), "-x", "hip", ARCH, "first.hip", "-c", "-o", "first.o")
        self.assertEqual(len(self.kernels("first.o")), 2)
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        self.run_well("cmake", "-S", ".", "-B", "build", f"-DCMAKE_CXX_COMPILER={BUILD / 'bin' / 'mneme-clang++'}")
        self.run_well("cmake", "--build", "build")
        self.assertEqual(len(self.kernels("build/both")), 3)

    def test_print_flags(self):
        compile_flags = self.run_well(INJECT, "--print-flags", "compile").stdout.split()
        self.assertEqual(self.run_well(INJECT, "--print-flags").stdout.split(), compile_flags)
        self.assertEqual(self.run_well(INJECT, "--print-flags", "link").stdout.split(), [])
        self.run_well(CLANG, "-O2", ARCH, *compile_flags, "first.hip", "second.hip", "-o", "app")
        self.check_two_units("app")
        self.assertEqual(self.run_well(INJECT, "--print-flags", "compile", "hip").stdout.split(), compile_flags)
        for wrong in (["assemble"], ["compile", "c++"], ["link", "hip", "more"]):
            self.assertEqual(self.run_any(INJECT, "--print-flags", *wrong).returncode, 2)

    def test_other_names_and_languages(self):
        (self.folder / "unit.cpp").write_text(SECOND)
        self.inject("-x", "hip", ARCH, "-c", "unit.cpp", "-o", "unit.o")
        self.assertEqual(len(self.hashes("unit.o")), 2)
        (self.folder / "words").write_text("-x hip\n-c unit.cpp -o 'from response.o'")
        self.inject("@words", ARCH)
        self.assertEqual(len(self.hashes("from response.o")), 2)

    def test_no_mode_of_the_compiler_is_disturbed(self):
        for mode in (["-c", "-o", "x.o"], ["-E"], ["-M"], ["-MM"], ["-fsyntax-only"], ["-###"], ["-save-temps", "-c"],
                     ["--cuda-host-only", "-c", "-o", "x.o"], ["--cuda-device-only", "-c", "-o", "x.o"],
                     ["--cuda-device-only", "-S", "-emit-llvm", "-o", "x.ll"], ["-S", "-o", "x.s"],
                     ["-MD", "-MF", "x.d", "-c", "-o", "x.o"], ["-shared", "-fPIC", "-o", "x.so"],
                     ["--offload-compress", "-c", "-o", "x.o"]):
            with self.subTest(mode=mode):
                self.inject(ARCH, *mode, "first.hip")

    def test_compressed_bundles(self):
        self.inject("-O2", ARCH, "--offload-compress", "first.hip", "second.hip", "-o", "app")
        self.assertIn(b"CCOB", (self.folder / "app").read_bytes())
        self.check_two_units("app")

    # ---- like the compiler ---------------------------------------------------------------------

    def test_same_output(self):
        for arguments in (["--version"], ["-print-resource-dir"], ["-dumpmachine"]):
            plain = self.run_any(CLANG, *arguments)
            ours = self.run_any(INJECT, CLANG, *arguments)
            self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (0, plain.stdout, plain.stderr))

    def test_same_failure(self):
        (self.folder / "bad.hip").write_text("int main( {")
        plain = self.run_any(CLANG, DEVICE_LIBRARIES, ARCH, "-c", "bad.hip")
        ours = self.run_any(INJECT, CLANG, ARCH, "-c", "bad.hip")
        self.assertEqual((ours.returncode, ours.stderr), (plain.returncode, plain.stderr))
        self.assertEqual(ours.returncode, 1)

    def test_becomes_what_it_runs(self):
        self.assertEqual(self.run_any(INJECT, "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.run_any(INJECT, "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.run_any(INJECT, "sh", "-c", "cat; echo $1", "", "-o", input="in ").stdout, "in -o\n")
        pipe = self.run_any("sh", "-c", f"trap - PIPE; {INJECT} yes | head -1")
        self.assertEqual((pipe.stdout, pipe.stderr), ("y\n", ""), "SIGPIPE is as it was")

    def test_verbose_shows_the_command(self):
        result = self.run_well(INJECT, "-v", CLANG, ARCH, "-fsyntax-only", "first.hip")
        self.assertRegex(result.stderr, f"mneme-inject: .*{re.escape(CLANG)} .* -Xclang -fpass-plugin=")

    def test_a_misleading_rocm_path(self):
        wrapper = "__clang_hip_runtime_wrapper.h"
        for name in ["ROCM_PATH", "HIP_PATH"]:
            misled = {name: str(self.folder)}
            plain = self.run_well(CLANG, DEVICE_LIBRARIES, ARCH, "-###", "-c", "first.hip", env=misled)
            self.assertNotIn(wrapper, plain.stderr)
            self.assertIn(wrapper, self.inject(ARCH, "-###", "-c", "first.hip", env=misled).stderr)

    def test_another_place_of_the_device_libraries_stays(self):
        shown = self.run_any(INJECT, "-v", CLANG, ARCH, "--rocm-device-lib-path=/nowhere", "-c", "first.hip")
        self.assertEqual(shown.stderr.count("--rocm-device-lib-path"), 2, shown.stderr)  # ours, and clang's complaint
        shown = self.run_any(INJECT, "-v", CLANG, ARCH, "-###", "-c", "first.hip", env={"HIP_DEVICE_LIB_PATH": "/nowhere"})
        self.assertNotIn("--rocm-device-lib-path=/usr", shown.stderr)

    # ---- what is refused -----------------------------------------------------------------------

    def check_refused(self, status, sentence, *command):
        result = self.run_any(*command)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, f"^mneme-inject: error: .*{sentence}")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_refusals(self):
        self.check_refused(2, "no compiler to run", INJECT)
        self.check_refused(2, "'g\\+\\+' is not clang 19", INJECT, "g++", "-x", "hip", "first.hip")
        self.check_refused(2, "hipcc' is not clang 19", INJECT, self.tool("hipcc"), "first.hip")
        self.check_refused(3, "'no-such-compiler' is not found", INJECT, "no-such-compiler", "first.hip")
        self.check_refused(3, "'no-such-compiler'", INJECT, "no-such-compiler", "first.cpp")
        self.check_refused(2, "leave out --offload-new-driver", INJECT, CLANG, "-x", "hip", "-fgpu-rdc", "--offload-new-driver",
                           "-c", "first.hip")
        self.check_refused(2, "nvcc' cannot embed", INJECT, self.tool("nvcc"), "-c", "first.cu")
        self.check_refused(2, "'g\\+\\+' is not clang 19", INJECT, "g++", "-x", "cuda", "first.hip")
        self.check_refused(2, "--nonsense", INJECT, "--nonsense", CLANG)

    def tool(self, name):
        path = self.folder / name
        path.write_text("#!/bin/sh\nexit 0\n")
        path.chmod(0o755)
        return path


if __name__ == "__main__":
    unittest.main(verbosity=2)
