#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-inject makes CUDA that clang compiles recordable. Needs a CUDA toolkit, and no GPU."""

import os
import pathlib
import re
import shutil
import sys
import unittest

import cuda_binaries
from compiling import CLANG, EXTRACT, INJECT, Compiling

ARCH = "--offload-arch=sm_90"
RDC = ["-fgpu-rdc", "--offload-new-driver"]
NO_TOOLKIT = 77  # to ctest: skipped

RICH = """
#include <cstdio>
#include <cuda_fp16.h>
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
struct Base { __device__ virtual float f(float x) { return x; } };
struct Derived : Base { __device__ float f(float x) override { return x + 1; } };
__global__ void layout(Body b, bool flag, Pointers p, WithUnion w, __half h, long n, float4 v, float* out) {
  out[0] = b.x + p.p[0] + w.q[n] + flag + __half2float(h) + v.y;
}
__global__ void __launch_bounds__(128, 2) variables(float* out) {
  __shared__ float tile[16];
  tile[threadIdx.x] = coefficients[threadIdx.x] + hidden;
  __syncthreads();
  out[0] = tile[0] + atomicAdd(&counter, 7);
}
__global__ void calls(float* out, int which) {
  float (*f)(float) = which ? &twice : nullptr;
  Derived derived;
  Base* base = &derived;
  if (f) out[0] = f(out[0]) + base->f(out[0]);
}
__global__ void math(double* out) {
  out[0] = sin(out[0]) + pow(out[1], out[2]);
  printf("%f\\n", out[0]);
}
__global__ void heap(void** out) { out[0] = malloc(8); free(out[1]); }
__global__ void reduce(unsigned* out) { out[threadIdx.x] = __reduce_add_sync(0xff, out[threadIdx.x]); }
int main() {
  void* p = nullptr;
  (void)cudaGetSymbolAddress(&p, hidden);
  (void)cudaGetSymbolAddress(&p, unused);
  layout<<<1, 1>>>({}, true, {}, {}, {}, 0, {}, nullptr);
  variables<<<1, 1>>>(nullptr);
  puts("started");
}
"""
# Two units that use each other's device code.
FIRST = """
__device__ float helper(float);
extern __device__ int counter;
template <class T> __global__ void scale(T* data, T factor) { data[threadIdx.x] *= factor; }
static __global__ void local(float* data) { data[0] = helper(data[0]) + counter; }
void first(float* data) { scale<float><<<1, 1>>>(data, 2.0f); local<<<1, 1>>>(data); }
"""
SECOND = """
__device__ int counter;
__device__ float helper(float v) { return sinf(v) * 2; }
template <class T> __global__ void scale(T* data, T factor) { data[threadIdx.x] *= factor; }
static __global__ void local(float* data) { data[0] = 2 * helper(data[0]); }
void first(float*);
int main() { scale<float><<<1, 1>>>(nullptr, 2.0f); local<<<1, 1>>>(nullptr); first(nullptr); }
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
add_executable(app app.cpp)
target_compile_options(app PRIVATE -x cuda --offload-arch=sm_90)
target_link_libraries(app PRIVATE {library})
"""


def toolkit():
    """Where one is, looked for without the tool that is tested."""
    for folder in [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"]:
        if folder and pathlib.Path(folder, "include", "cuda.h").is_file() and pathlib.Path(folder, "nvvm").is_dir():
            return pathlib.Path(folder)
    return None


class Cuda(Compiling):
    SOURCES = {"first.cu": FIRST, "second.cu": SECOND, "rich.cu": RICH}

    def kernels(self, name):
        """(name without arguments, processor) of each."""
        lines = [line.split("\t") for line in self.run_well(EXTRACT, "--list", name).stdout.splitlines()]
        return sorted((kernel.split("(")[0].split(" ")[-1], target.split("--")[1]) for _, kernel, _, target in lines)

    def infos(self, name):
        """KernelInfo of each kernel, by name."""
        found = {}
        for cubin in cuda_binaries.cubins(self.folder / name):
            for info, _ in cuda_binaries.records(cubin.sections()[".mneme.ir"]):
                found[info["demangled"].split("(")[0]] = info
        return found

    def without(self, *arguments):
        """As a user of clang would have to build it, with what mneme-inject knows of the toolkit but nothing of ours."""
        flags = self.run_well(INJECT, "--print-flags", "compile", "cuda").stdout
        for ours in (r"-Xarch_device -fno-discard-value-names", r"-Xclang -fpass-plugin=\S+"):
            self.assertRegex(flags, ours)
            flags = re.sub(ours, "", flags)
        flags = flags.split()
        return self.run_well(CLANG, *flags, *arguments)

    # ---- what is embedded ----------------------------------------------------------------------

    def check_ir(self, level):
        self.inject(level, ARCH, "rich.cu", "-o", "rich")
        self.run_well(EXTRACT, "rich", "-o", "ir/")
        texts = {}
        for file in (self.folder / "ir").iterdir():
            self.run_well("opt-19", "-passes=verify", "-disable-output", file)
            with open(file) as bitcode:
                text = self.run_well("llvm-dis-19", stdin=bitcode).stdout
            name = file.name.split("-")[0]
            texts[name] = text
            self.assertIn('target triple = "nvptx64-nvidia-cuda"', text)
            annotated = re.findall(r'^!\d+ = !\{ptr @(\w+), !"kernel", i32 1\}', text, re.MULTILINE)
            self.assertEqual(len(annotated), 1, file)
            self.assertIn(name, annotated[0])
            declared = re.findall(r"^declare .*@([\w.]+)\(", text, re.MULTILINE)
            self.assertLessEqual({d for d in declared if not d.startswith("llvm.")}, {"vprintf", "malloc", "free"}, file)
            for unwanted in ["@unused", "@_Z5neverf", "llvm.used", "!llvm.ident", "module asm", str(self.folder)]:
                self.assertNotIn(unwanted, text, file)
        self.assertEqual(sorted(texts), ["calls", "heap", "layout", "math", "reduce", "variables"])
        self.assertIn('!"maxntidx", i32 128', texts["variables"])
        self.assertIn("externally_initialized", texts["variables"])
        self.assertIn("@__nv_pow(", texts["math"], "the device library's code is part of the closure")
        self.assertIn("@_Z5twicef", texts["calls"])
        return texts

    def test_closures_at_o3(self):
        self.check_ir("-O3")

    def test_closures_at_o0(self):
        self.assertIn("optnone", self.check_ir("-O0")["layout"])

    def test_the_device_code_itself_stays(self):
        for level in ["-O0", "-O2"]:
            self.inject(level, ARCH, "-c", "rich.cu", "-o", "with.o", env={"MNEME_DEVICE_HEAP": "vendor"})
            self.without(level, ARCH, "-c", "rich.cu", "-o", "without.o")
            ours, plain = (cuda_binaries.cubins(self.folder / name)[0].sections() for name in ["with.o", "without.o"])
            self.assertEqual(set(ours) - set(plain), {".mneme.ir"})
            self.assertEqual([n for n in plain if ours[n] != plain[n]], [".shstrtab"], "every section, byte for byte")
            self.assertTrue(any(name.startswith(".text.") for name in plain))
            texts = [cuda_binaries.ptx(self.folder / name) for name in ["with.o", "without.o"]]
            self.assertEqual(texts[0], texts[1])

    def test_places_of_functions(self):
        """What pointers to functions are in the program, as its tables have it; part of what a kernel is."""
        self.inject("-O0", ARCH, "-c", "rich.cu", "-o", "rich.o")
        info = self.infos("rich.o")["calls"]
        places = dict(zip(info["functions"], info["function_addresses"]))
        self.assertEqual(sorted(places), ["_Z5twicef", "_ZN4Base1fEf", "_ZN7Derived1fEf"])
        self.assertEqual(sorted(places.values()), [8, 16, 24])
        self.assertNotEqual(info["id"], info["bitcode"])
        self.assertEqual(self.address_variables("rich.o"), {}, "the program itself is what it is without")

    def address_variables(self, name):
        """What the variables of a file's first cubin hold, by the functions' numbers; the loader fills in the rest."""
        words = cuda_binaries.cubins(self.folder / name)[0].words("__mneme_address_")
        return {variable.removeprefix("__mneme_address_"): word for variable, word in words.items()}

    def test_addresses_of_functions_in_code_for_debuggers(self):
        """They are the loader's, and the program can be asked for them."""
        self.inject("-O0", ARCH, "-g", "-c", "rich.cu", "-o", "debug.o", env={"MNEME_DEVICE_HEAP": "vendor"})
        info = self.infos("debug.o")["calls"]
        self.assertNotIn("function_addresses", info)
        self.assertEqual(list(self.address_variables("debug.o").values()), [0] * len(info["functions"]))
        self.without("-O0", ARCH, "-g", "-c", "rich.cu", "-o", "without.o")
        ours, plain = (cuda_binaries.cubins(self.folder / name)[0].sections() for name in ["debug.o", "without.o"])
        texts = [name for name in plain if name.startswith(".text.")]
        self.assertTrue(texts)
        self.assertEqual([name for name in texts if ours[name] != plain[name]], [])

    def test_header(self):
        self.inject("-O1", "-g", ARCH, "-c", "rich.cu", "-o", "rich.o")
        infos = self.infos("rich.o")
        self.assertEqual({i["target"] for i in infos.values()}, {"nvptx64-nvidia-cuda--sm_90"})
        self.assertEqual({(i["wave_size"], i["source"]) for i in infos.values()}, {(32, "rich.cu")})
        # Arguments lie where ptxas says.
        cubin = cuda_binaries.cubins(self.folder / "rich.o")[0]
        for info in infos.values():
            own = cuda_binaries.parameters(cubin.sections()[f".nv.info.{info['name']}"])
            self.assertEqual([(a["offset"], a["size"]) for a in info["arguments"]], own, info["demangled"])
        layout = infos["layout"]["arguments"]
        kinds = [a["kind"] for a in layout]
        self.assertEqual(kinds, ["struct", "scalar", "struct", "struct", "struct", "scalar", "struct", "pointer"])
        self.assertEqual([a["name"] for a in layout], ["b", "flag", "p", "w", "h", "n", "v", "out"])
        padding = [[(r["offset"], r["size"]) for r in a["padding"]] for a in layout]
        self.assertEqual((padding[0], padding[2]), ([(13, 3)], [(1, 7), (18, 6)]))
        # Variables, and functions whose address is taken.
        variables = {g["name"]: (g["size"], g["constant"]) for g in infos["variables"]["globals"]}
        self.assertEqual(set(variables), {"coefficients", "counter"} | {n for n in variables if "hidden" in n})
        self.assertEqual(len(variables), 3)
        self.assertEqual(variables["coefficients"], (16, False))
        self.assertEqual(infos["layout"]["globals"], [])
        self.assertEqual(infos["math"]["globals"], [], "strings, and tables of the device library, are code")
        self.assertIn("_ZTV7Derived", [g["name"] for g in infos["calls"]["globals"]])
        self.assertIn("_ZN7Derived1fEf", infos["calls"]["functions"])
        self.assertIn("__mneme_device_heap", [g["name"] for g in infos["heap"]["globals"]])

    def test_debug_information_changes_no_hash(self):
        self.independent()
        ids = []
        for flag in ["-g0", "-gline-tables-only"]:
            self.inject("-O1", flag, ARCH, "-c", "first.cu", "-o", "first.o")
            ids.append({n: i["id"] for n, i in self.infos("first.o").items()})
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(len(ids[0]), 2)

    def test_reductions_of_a_warp(self):
        """clang 19's headers hand mask and value over the wrong way round: LLVM issue 131415."""
        self.inject("-O2", ARCH, "--cuda-device-only", "-S", "rich.cu", "-o", "rich.ptx")
        ptx = (self.folder / "rich.ptx").read_text()
        found = re.search(r"redux\.sync\.add\.s32\s+%r\d+, %r\d+, (\S+);", ptx)
        self.assertTrue(found, "the instruction")
        self.assertTrue(found[1] == "255" or re.search(rf"mov\.b32\s+{found[1]}, 255;", ptx), found[0])

    # ---- ways to build -------------------------------------------------------------------------

    def check_program(self, name, *processors):
        expected = [(kernel, p) for kernel in ["local", "local", "scale<float>"] for p in processors or ["sm_90"]]
        self.assertEqual(self.kernels(name), sorted(expected))
        self.assertEqual(self.run_any(f"./{name}", env={"LD_LIBRARY_PATH": ""}).returncode, 0, "it runs")

    def independent(self):
        """Makes the units such that each compiles by itself."""
        (self.folder / "first.cu").write_text(FIRST.replace("float);", "float v) { return v; }").replace("extern ", "static "))

    def test_one_step(self):
        self.independent()
        self.inject("-O2", "--cuda-gpu-arch=sm_90", "-x", "cuda", "first.cu", "second.cu", "-o", "app")
        self.check_program("app")

    def test_compile_and_link_for_several_processors(self):
        self.independent()
        both = [ARCH, "--offload-arch=sm_80"]
        for unit in ["first", "second"]:
            self.inject("-O2", *both, "-c", f"{unit}.cu", "-o", f"{unit}.o")
        link = self.run_well(INJECT, "--print-flags", "link", "cuda").stdout.split()
        self.run_well(CLANG, "first.o", "second.o", "-o", "app", *link)
        self.check_program("app", "sm_80", "sm_90")

    def test_static_runtime(self):
        self.inject("-O1", ARCH, "-c", "rich.cu", "-o", "rich.o")
        library = TOOLKIT / "lib64" / "libcudart_static.a"
        for name in ["-lcudart_static", library] if library.exists() else ["-lcudart_static"]:
            linked = self.inject("rich.o", f"-L{TOOLKIT}/lib64", name, "-ldl", "-lrt", "-lpthread", "-o", "app")
            self.assertIn("mneme-inject: the shared CUDA runtime is linked", linked.stderr)
            self.assertIn("[libcudart.so.", self.run_well("readelf", "-d", "app").stdout)
            self.assertEqual(self.run_any("./app", env={"LD_LIBRARY_PATH": ""}).stdout, "started\n")

    def test_shared_library(self):
        self.inject("-O1", ARCH, "-shared", "-fPIC", "rich.cu", "-o", "librich.so")
        self.assertEqual(len(self.kernels("librich.so")), 6)

    def test_compressed(self):
        self.inject("-O1", ARCH, "-Xcuda-fatbinary", "--compress-all", "rich.cu", "-o", "rich")
        self.assertNotIn(b"MNEMEIR1", (self.folder / "rich").read_bytes())
        self.assertEqual(len(self.kernels("rich")), 6)

    def test_print_flags(self):
        flags = [self.run_well(INJECT, "--print-flags", step, "cuda").stdout.split() for step in ["compile", "link"]]
        self.run_well(CLANG, ARCH, *flags[0], "rich.cu", "-o", "rich", *flags[1])
        self.assertEqual(len(self.kernels("rich")), 6)
        self.inject(ARCH, *flags[0], "rich.cu", "-o", "both ways", *flags[1])
        self.assertEqual(self.run_well(EXTRACT, "--list", "both ways").stdout,
                         self.run_well(EXTRACT, "--list", "rich").stdout)

    def test_named_toolkit(self):
        place = self.folder / "a toolkit"
        place.symlink_to(TOOLKIT)
        self.inject("-O1", ARCH, f"--cuda-path={place}", "rich.cu", "-o", "rich",
                    env={"CUDA_PATH": "/nowhere", "CUDA_HOME": "/nowhere"})
        self.assertEqual(len(self.kernels("rich")), 6)

    def test_dependencies_outlive_the_cache(self):
        self.inject(ARCH, "-MD", "-MF", "rich.d", "-c", "rich.cu", "-o", "rich.o")
        words = (self.folder / "rich.d").read_text()
        self.assertIn("/cuda_runtime.h", words)
        self.assertNotIn("/mneme/cuda-", words)

    def test_no_mode_of_the_compiler_is_disturbed(self):
        self.independent()
        for mode in (["-E"], ["-MM"], ["-fsyntax-only"], ["-###"], ["-save-temps", "-c"], ["-S"],
                     ["--cuda-host-only", "-c", "-o", "x.o"], ["--cuda-device-only", "-o", "x.cubin"],
                     ["--cuda-device-only", "-S", "-emit-llvm", "-o", "x.ll"]):
            with self.subTest(mode=mode):
                self.inject(ARCH, *mode, "first.cu")
        self.assertEqual(len(self.kernels("x.cubin")), 2)

    def test_launchers_of_cmake(self):
        shutil.copy(self.folder / "rich.cu", self.folder / "app.cpp")
        (self.folder / "CMakeLists.txt").write_text(PROJECT.format(library=TOOLKIT / "lib64" / "libcudart.so"))
        self.run_well("cmake", "-S", ".", "-B", "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={CLANG}",
                      f"-DCMAKE_CXX_COMPILER_LAUNCHER={INJECT}", f"-DCMAKE_CXX_LINKER_LAUNCHER={INJECT}")
        self.run_well("cmake", "--build", "build")
        self.assertEqual(len(self.kernels("build/app")), 6)

    # ---- relocatable device code ---------------------------------------------------------------

    def check_relocatable(self, name):
        self.check_program(name)
        shutil.rmtree(self.folder / "ir", ignore_errors=True)
        self.run_well(EXTRACT, "-S", "--kernel", "local", name, "-o", "ir/")
        texts = [path.read_text() for path in (self.folder / "ir").iterdir()]
        self.assertEqual(len(texts), 2)
        for text in texts:
            self.assertRegex(text, r"(?m)^define .*@_Z6helperf", "the other unit's function")
        self.assertEqual(sum("@counter = " in text for text in texts), 1)

    def test_relocatable(self):
        for level in ["-O0", "-O3"]:
            for unit in ["first", "second"]:
                self.inject(level, ARCH, *RDC, "-c", f"{unit}.cu", "-o", f"{unit}.o")
            self.inject("--offload-link", "first.o", "second.o", "-o", "app")
            self.check_relocatable("app")

    def test_relocatable_at_once(self):
        self.inject("-O2", ARCH, *RDC, "first.cu", "second.cu", "-o", "app")
        self.check_relocatable("app")

    def test_relocatable_library(self):
        for unit in ["first", "second"]:
            self.inject("-O2", ARCH, *RDC, "-c", f"{unit}.cu", "-o", f"{unit}.o")
        self.run_well("ar", "rcs", "libfirst.a", "first.o")
        self.inject("--offload-link", "second.o", "libfirst.a", "-o", "app")
        self.check_relocatable("app")

    def test_a_unit_without_ir_leaves_its_kernels_out(self):
        self.inject("-O2", ARCH, *RDC, "-c", "first.cu", "-o", "first.o")
        self.without("-O2", ARCH, *RDC, "-c", "second.cu", "-o", "second.o")
        self.inject("--offload-link", "first.o", "second.o", "-o", "app")
        self.assertEqual(self.kernels("app"), [("local", "sm_90"), ("scale<float>", "sm_90")])


if __name__ == "__main__":
    TOOLKIT = toolkit()
    if TOOLKIT is None:
        print("no CUDA toolkit is here to compile with (CUDA_PATH, CUDA_HOME, /usr/local/cuda): nothing is tested")
        sys.exit(NO_TOOLKIT)
    unittest.main(verbosity=2)
