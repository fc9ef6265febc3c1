#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-inject with CUDA, as far as that can be tested where there is no CUDA toolkit: clang compiles for NVPTX, and the
toolkit's programs are played by scripts."""

import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

import cuda_binaries

BUILD = pathlib.Path(os.environ["MNEME_BUILD"])
INJECT = BUILD / "bin" / "mneme-inject"
EXTRACT = BUILD / "bin" / "mneme-extract-ir"
PARTS = BUILD / "lib" / "mneme"
HERE = pathlib.Path(__file__).resolve().parent
COMPILE = ["clang++-19", "-x", "cuda", "--offload-arch=sm_90", "-nocudainc", "-nocudalib", "-O1"]

DECLARATIONS = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
struct dim3 { unsigned x, y, z; };
extern "C" int cudaLaunchKernel(const void*, dim3, dim3, void**, unsigned long, struct Stream*);
"""
KERNELS = DECLARATIONS + """
__device__ int twice(int v) { return 2 * v; }
__global__ void fill(int* data, int value) { data[__nvvm_read_ptx_sreg_tid_x()] = twice(value); }
namespace space { template <class T> __global__ void scale(T* data, double by) { data[0] *= by; }
                  template __global__ void scale<float>(float*, double); }
"""
USER = DECLARATIONS + """
__device__ int other(int);
__global__ void uses(int* data) { data[0] = other(data[0]); }
"""
OTHER = DECLARATIONS + """
__device__ __attribute__((noinline)) int other(int v) { return 3 * v; }
"""
POINTERS = DECLARATIONS + """
__device__ int twice(int v) { return 2 * v; }
__device__ int thrice(int v) { return 3 * v; }
__device__ int (*chosen)(int) = twice;
__global__ void call(int* data) { data[0] = chosen(thrice(data[1])); }
#ifdef SECOND
__global__ void other(int* data) { data[0] = 1; }
#endif
"""
OWN = """
static __device__ int step(int v) { return v + 1; }
static __device__ __attribute__((constant)) int (*const table[])(int) = {step, step};
static __device__ const int squares[] = {0, 1, 4, 9};
extern "C" __global__ void leave(int (**functions)(int), const char** texts, int* data, int i) {
  functions[0] = table[i];
  texts[0] = "left";
  data[0] = squares[i];
}
"""
PTXAS = """
import re, sys; sys.path.insert(0, {here!r}); import cuda_binaries
arguments = sys.argv[1:]
output = arguments[arguments.index("--output-file") + 1]
source = next(word for word in arguments if word.endswith((".s", ".ptx")))
text = open(source).read()
open({folder!r} + "/seen.ptx", "w").write(text)
variables = re.findall(r"\\.global .*\\.u64 (__mneme_address_\\w+) = ", text)
open(output, "wb").write({result})
sys.exit({status})
"""
NVLINK = """
import sys; sys.path.insert(0, {here!r}); import cuda_binaries
inputs = [cuda_binaries.Cubin(open(word, "rb").read()) for word in sys.argv[1:] if word.endswith((".o", ".cubin"))]
units = b"".join(one.sections()[".mneme.unit"] for one in inputs)
variables = sorted({{name for one in inputs for name in one.words("__mneme_address_")}})
linked = cuda_binaries.build({{".text.linked": b"code", ".mneme.unit": units}}, variables)
open(sys.argv[sys.argv.index("-o") + 1], "wb").write(linked)
"""
FATBINARY = """
import sys; sys.path.insert(0, {here!r}); import cuda_binaries
if "--help" in sys.argv:
    print("--image2 <image spec>,...\\n--image3 <image spec>,...")
    sys.exit()
images = [word[len("--image3="):].split(",", 2) for word in sys.argv if word.startswith("--image3=")]
images = [dict(field.split("=", 1) for field in image) for image in images]
assert images and not any(word.startswith("--image=") for word in sys.argv), sys.argv
output = sys.argv[sys.argv.index("--create") + 1]
kinds = {{"elf": cuda_binaries.CUBIN, "ptx": cuda_binaries.PTX}}
open(output, "wb").write(cuda_binaries.fatbin([(kinds[i["kind"]], int(i["sm"]), open(i["file"], "rb").read()) for i in images]))
"""
# Of variables that hold addresses of functions, as of code whose functions the loader places.
CUBIN = 'cuda_binaries.build({".text.kernel": b"code", ".nv.info": b"more"}, variables)'


class Wrappers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mneme cuda ")  # a space is part of the test
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.toolkit = self.folder / "toolkit"
        for part in ["bin", "include", "lib64", "nvvm/libdevice"]:
            (self.toolkit / part).mkdir(parents=True)
        (self.toolkit / "include" / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
        (self.toolkit / "nvvm" / "libdevice" / "libdevice.10.bc").write_bytes(b"")
        self.program("ptxas", PTXAS, result=CUBIN, status=0)
        self.program("nvlink", NVLINK)
        self.program("fatbinary", FATBINARY)
        for name, text in [("kernels.cu", KERNELS), ("pointers.cu", POINTERS), ("user.cu", USER), ("other.cu", OTHER)]:
            (self.folder / name).write_text(text)
        self.environment = {**os.environ, "CUDA_PATH": str(self.toolkit), "XDG_CACHE_HOME": str(self.folder / "cache")}

    def program(self, name, text, **values):
        path = self.toolkit / "bin" / name
        path.write_text(f"#!{sys.executable}\n" + text.format(here=str(HERE), folder=str(self.folder), **values))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_any(self, *command):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=self.folder,
                              env=self.environment)

    def run_well(self, *command):
        result = self.run_any(*command)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def inject(self, *arguments):
        return self.run_well(INJECT, *COMPILE, "-Werror", *arguments)

    def listed(self, name):
        return sorted(tuple(line.split("\t")[1::2]) for line in self.run_well(EXTRACT, "--list", name).splitlines())

    # ---- kernels -------------------------------------------------------------------------------

    def test_object_file(self):
        self.inject("-c", "kernels.cu", "-o", "an object.o")
        sm_90 = "nvptx64-nvidia-cuda--sm_90"
        self.assertEqual(self.listed("an object.o"), [("fill(int*, int)", sm_90), ("void space::scale<float>(float*, double)", sm_90)])
        cubin, = cuda_binaries.cubins(self.folder / "an object.o")
        sections = cubin.sections()
        self.assertEqual((sections[".text.kernel"], sections[".nv.info"]), (b"code", b"more"))
        infos = {info["demangled"]: info for info, _ in cuda_binaries.records(sections[".mneme.ir"])}
        info = infos["fill(int*, int)"]
        self.assertEqual([(a["offset"], a["size"], a["kind"]) for a in info["arguments"]], [(0, 8, "pointer"), (8, 4, "scalar")])
        self.assertEqual((info["argument_bytes"], info["wave_size"], info["source"]), (12, 32, "kernels.cu"))

    def test_textures(self):
        """As CUDA's headers read and write them."""
        read = 'asm("tex.1d.v4.s32.s32 {%0, %0, %0, %0}, [%1, {%2}];" : "=r"(x) : "l"(handle), "r"(at));'
        write = 'asm volatile("sust.b.1d.b32.trap [%0, {%1}], {%2};" : : "l"(handle), "r"(at), "r"(x));'
        plain = 'asm("mov.b32 %0, %1; // tex.1d" : "=r"(x) : "r"(at));'
        kernels = "".join(f"__device__ int {name}_part(unsigned long handle, int at) {{ int x = 0;\n"
                          f"#ifdef __CUDA_ARCH__\n{code}\n#endif\nreturn x; }}\n"
                          f"extern \"C\" __global__ void {name}(int* out, unsigned long handle) "
                          f"{{ *out = {name}_part(handle, 3); }}\n"
                          for name, code in [("reads", read), ("writes", write), ("neither", plain)])
        (self.folder / "textures.cu").write_text(DECLARATIONS + kernels)
        self.inject("-c", "textures.cu", "-o", "textures.o")
        cubin, = cuda_binaries.cubins(self.folder / "textures.o")
        infos = {info["name"]: info for info, _ in cuda_binaries.records(cubin.sections()[".mneme.ir"])}
        globals_of = {name: [g["name"] for g in info["globals"]] for name, info in infos.items()}
        self.assertEqual(globals_of, {"reads": ["__mneme_textures"], "writes": ["__mneme_textures"], "neither": []})
        self.assertEqual({name: info.get("handles") for name, info in infos.items()},
                         {"reads": [{"argument": 8, "kind": "texture"}], "writes": [{"argument": 8, "kind": "surface"}],
                          "neither": None})

    def test_where_handles_of_textures_come_from(self):
        """From arguments, structures and arrays among them too; and from elsewhere, which is said."""
        (self.folder / "handles.cu").write_text(DECLARATIONS + """
using Handle = unsigned long long;
struct Several { int first; Handle some[3]; Handle last; };
__device__ int read(Handle handle, int at) {
  int x = 0;
#ifdef __CUDA_ARCH__
  asm("tex.1d.v4.s32.s32 {%0, %0, %0, %0}, [%1, {%2}];" : "=r"(x) : "l"(handle), "r"(at));
#endif
  return x;
}
__device__ Handle known;
__device__ __attribute__((noinline)) int through(const Several* several, int at) { return read(several->some[1], at); }
extern "C" {
__global__ void either(int* out, Handle a, int which, Handle b) { *out = read(which ? a : b, 1); }
__global__ void of_structure(int* out, Several several) { *out = read(several.last, 1) + through(&several, 2); }
__global__ void of_array(int* out, int which, Several several) { *out = read(several.some[which], 1); }
__global__ void of_memory(int* out, const Handle* handles, Handle other) { *out = read(handles[1], 1) + read(other, 2); }
__global__ void of_variable(int* out) { *out = read(known, 1); }
__global__ void computed(int* out, Handle handle) { *out = read(handle + 1, 1); }
__global__ void short_one(int* out, unsigned handle) { *out = read(handle, 1); }
}
""")
        for level in ["-O0", "-O2"]:
            self.inject(level, "-c", "handles.cu", "-o", "handles.o")
            cubin, = cuda_binaries.cubins(self.folder / "handles.o")
            found = {info["name"]: [handle.get("argument") for handle in info["handles"]]
                     for info, _ in cuda_binaries.records(cubin.sections()[".mneme.ir"])}
            self.assertEqual(found, {"either": [8, 24], "of_structure": [24, 40], "of_array": [24, 32, 40],
                                     "of_memory": [None, 16], "of_variable": [None], "computed": [None],
                                     "short_one": [None]}, level)

    def test_ir(self):
        self.inject("-c", "kernels.cu", "-o", "kernels.o")
        text = self.run_well(EXTRACT, "-S", "--kernel", "fill", "kernels.o")
        self.assertIn('target triple = "nvptx64-nvidia-cuda"', text)
        self.assertRegex(text, "(?m)^define .*@_Z5twicei")
        self.assertNotIn("scale", text, "what is said of other kernels is left out")
        self.assertRegex(text, r'!nvvm.annotations = !\{!0\}')
        (self.folder / "fill.ll").write_text(text)
        self.run_well("opt-19", "-passes=verify", "-disable-output", "fill.ll")

    def test_ptxas_sees_the_ptx_that_it_would(self):
        for level in ["-O0", "-O2"]:
            self.inject(level, "-c", "kernels.cu", "-o", "kernels.o")
            self.run_well(*COMPILE, level, f"--cuda-path={self.toolkit}", "-Wno-unknown-cuda-version", "--cuda-device-only",
                          "-S", "kernels.cu", "-o", "plain.ptx")
            self.assertEqual((self.folder / "seen.ptx").read_text(), (self.folder / "plain.ptx").read_text())

    def test_addresses_of_functions(self):
        """ptxas runs again, to tell those that are taken. Where there is one kernel there is another then; all else is as
        it would be."""
        for options in [[], ["-DSECOND"]]:
            self.inject("-O2", *options, "-c", "pointers.cu", "-o", "pointers.o")
            self.run_well(*COMPILE, "-O2", *options, f"--cuda-path={self.toolkit}", "-Wno-unknown-cuda-version",
                          "--cuda-device-only", "-S", "pointers.cu", "-o", "plain.ptx")
            seen, plain = ((self.folder / name).read_text() for name in ["seen.ptx", "plain.ptx"])
            variable = re.compile(r"\n\.visible \.global .*__mneme_address_[0-9a-f]{16} = (\w+);\n$")
            self.assertEqual(variable.findall(seen), ["_Z5twicei"], "the last that it saw")
            if options:
                self.assertEqual(variable.sub("", seen), plain)
            self.assertEqual(re.findall(r"\.entry (__mneme_\w+)", seen), [] if options else ["__mneme_beside"])
            kernel = re.compile(r"\.visible \.entry _Z4callPi\(.*?\n}\n", re.DOTALL)
            self.assertEqual(kernel.findall(seen), kernel.findall(plain))
            self.assertEqual(len(kernel.findall(plain)), 1)
            # This ptxas leaves addresses to the loader: the program can be asked for them.
            cubin, = cuda_binaries.cubins(self.folder / "pointers.o")
            self.assertEqual(list(cubin.words("__mneme_address_").values()), [0])
            self.assertEqual(len(variable.findall(cuda_binaries.ptx(self.folder / "pointers.o")[0].rstrip(b"\0").decode())), 1)
        self.assertEqual(self.listed("pointers.o")[0][0], "call(int*)")

    def test_device_code_by_itself(self):
        self.inject("--cuda-device-only", "kernels.cu", "-o", "kernels.cubin")
        self.assertEqual(len(self.listed("kernels.cubin")), 2)
        (self.folder / "kernels.fatbin").write_bytes(
            cuda_binaries.fatbin([(cuda_binaries.CUBIN, 90, (self.folder / "kernels.cubin").read_bytes())]))
        self.assertEqual(len(self.listed("kernels.fatbin")), 2)

    def test_relocatable(self):
        rdc = ["-fgpu-rdc", "--offload-new-driver"]
        for unit in ["user", "other"]:
            self.inject(*rdc, "-fPIC", "-c", f"{unit}.cu", "-o", f"{unit}.o")
        self.run_well(INJECT, "clang++-19", "--offload-link", "-shared", "-nostdlib", "user.o", "other.o", "-o", "linked.so")
        self.assertEqual(self.listed("linked.so"), [("uses(int*)", "nvptx64-nvidia-cuda--sm_90")])
        text = self.run_well(EXTRACT, "-S", "linked.so")
        self.assertRegex(text, "(?m)^define .*@_Z5otheri", "the other unit's function")

    def test_names_in_relocatable_code(self):
        """Of what a unit has to itself and memory may point to: they are the unit's own."""
        names = {}
        for unit, more in [("one", 1), ("two", 2), ("again", 1)]:
            (self.folder / f"{unit}.cu").write_text(DECLARATIONS + OWN + f"__device__ int more() {{ return {more}; }}")
            self.inject("-fgpu-rdc", "--offload-new-driver", "-c", f"{unit}.cu", "-o", f"{unit}.o")
            seen = (self.folder / "seen.ptx").read_text()
            names[unit] = set(re.findall(r"[\w$]+__static__[0-9a-f]{16}", seen))
            self.assertEqual({name.split("__static__")[0] for name in names[unit]}, {"_ZL4stepi", "_$_str", "_ZL5table"}, seen)
            step, = (name for name in names[unit] if "step" in name)
            self.assertRegex(seen, rf"\n\.weak \.global \.align 8 \.u64 __mneme_address_[0-9a-f]{{16}} = {step};\n")
            for own in names[unit] - {step}:
                self.assertRegex(seen, rf"\n\.weak \.(global|const) [^;]* {re.escape(own)}\[", "it can be looked up")
            self.assertRegex(seen, r"\n\.const [^;]* _ZL7squares\[", "it is only read")
        self.assertEqual(names["one"], names["again"])
        self.assertFalse(names["one"] & names["two"])

    # ---- what goes wrong -----------------------------------------------------------------------

    def check_failed(self, status, sentence, *arguments):
        result = self.run_any(INJECT, *COMPILE, *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr, sentence)

    def test_failures_of_ptxas(self):
        self.program("ptxas", PTXAS, result=CUBIN, status=7)
        self.check_failed(7, "ptxas command failed with exit code 7", "-c", "kernels.cu")
        self.program("ptxas", PTXAS, result='b"no cubin"', status=0)
        self.check_failed(1, "mneme-inject: error: the output of ptxas is not an ELF file", "-c", "kernels.cu")

    def test_no_toolkit(self):
        environment = dict(self.environment)
        self.environment["PATH"] = "/usr/bin:/bin"
        for name in ["CUDA_PATH", "CUDA_HOME"]:
            self.environment.pop(name, None)
        self.inject("--cuda-device-only", "-S", "kernels.cu", "-o", "kernels.ptx")  # none is needed
        if not any(pathlib.Path(usual).exists() for usual in ["/usr/local/cuda", "/usr/lib/cuda", "/opt/cuda"]):
            result = self.run_any(INJECT, "clang++-19", "-c", "kernels.cu")
            self.assertEqual(result.returncode, 3)
            self.assertRegex(result.stderr, "^mneme-inject: error: no CUDA toolkit is found .*--cuda-path=FOLDER\n$")
        self.environment = environment
        result = self.run_any(INJECT, "clang++-19", "--cuda-path=/nowhere", "-c", "kernels.cu")
        self.assertEqual(result.returncode, 1, "clang says what is wrong with a folder that is named")
        self.assertNotIn("mneme-inject", result.stderr)

    def test_nvcc(self):
        result = self.run_any(INJECT, "nvcc", "-c", "kernels.cu")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, "^mneme-inject: error: 'nvcc' cannot embed .*clang\\+\\+-19.*\n$")

    # ---- fatbinary -----------------------------------------------------------------------------

    def test_options_of_fatbinary(self):
        folder = self.folder / "a view"
        folder.mkdir()
        (folder / "fatbinary").symlink_to(PARTS / "cuda" / "fatbinary")
        (folder / "toolkit-fatbinary").write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done; exit 3\n')
        (folder / "toolkit-fatbinary").chmod(0o755)
        result = self.run_any(folder / "fatbinary", "-64", "--create", "a b", "--image=profile=sm_90a,file=/x y/a, b.o",
                              "--image=profile=compute_90,file=$(p).s", "", "--image3=kind=elf,sm=80,file=c")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stdout.split("\n"), ["-64", "--create", "a b", "--image3=kind=elf,sm=90a,file=/x y/a, b.o",
                                                     "--image3=kind=ptx,sm=90,file=$(p).s", "",
                                                     "--image3=kind=elf,sm=80,file=c", ""])


if __name__ == "__main__":
    unittest.main(verbosity=2)
