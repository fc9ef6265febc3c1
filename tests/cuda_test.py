#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA programs on the host device: those of tests/programs that are CUDA programs too (tests/cuda/hip has HIP's names
for CUDA's), and those that use CUDA's own libraries of templates, or calls that HIP has not (tests/programs/cuda), are
built recordable with a CUDA toolkit, run, are recorded, and their kernels replayed and verified.

cuda_test.py PROGRAM, or a test's name; --chosen and --others list the programs. Without a toolkit it says so, and is
skipped.
"""

import itertools
import json
import os
import pathlib
import re
import sys
import unittest

import bundles
import recordings
from support import BUILD, PROGRAMS, ROOT, TestCase, run, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "tests" / "gpu"), str(ROOT / "mneme-inject")]

import cuda_binaries  # noqa: E402
import damaged  # noqa: E402
import toolkit  # noqa: E402

HEADERS = ROOT / "tests" / "cuda"
PROCESSOR = "sm_90"
# What the programs show, by default.
CHOSEN = ["atomics_mix", "block_scan", "device_globals", "double_math", "dynamic_shared", "function_pointers",
          "graph_built", "grid_3d", "half_precision", "histogram", "managed_memory", "mapped_memory",
          "multi_thread_streams", "printf_formats", "recursion", "saxpy_template", "shared_limit", "stencil_2d",
          "stored_texts", "stream_ordered_memory", "tiled_matmul", "variables_of_all_kinds", "vector_add", "virtual_functions",
          "wave_operations"]
OTHERS = ["assert_holds", "atomic_types", "barrier_count", "barrier_in_loop", "barrier_in_recursion",
          "barrier_in_virtual", "bfloat16_native", "callback_order", "clock_rates", "complex_numbers",
          "conjugate_gradient", "cooperative_groups", "device_functions", "device_heap", "device_new", "early_return",
          "event_timing", "float_atomics", "graph_captured", "grid_sync", "half_operators", "half_pairs",
          "host_atomics", "index_conditions", "indirect_calls", "int128_arithmetic", "integer_math",
          "left_out_barriers", "linked_list", "local_array", "math_exact", "math_wide_integers", "nbody",
          "pitched_image", "recursion_among_lanes", "spin_locks", "spmv_csr", "structs_and_vectors", "transpose",
          "tree_reduction", "two_templates", "uniform_loops", "wait_for_blocks", "wave_reductions", "wave_shuffles"]
# With textures, surfaces and arrays: replayed in both forms.
TEXTURES = ["surface_life", "surfaces", "texture_copies", "texture_filters", "texture_formats", "texture_levels",
            "texture_mipmaps", "texture_raycast", "texture_rotation", "texture_spmv", "texture_volumes"]
# Those that are no CUDA programs, and why not.
AMDS_INSTRUCTIONS = "AMD's instructions"
ROCPRIM = "rocPRIM's kernels are for AMD's GPUs: CUB's are in tests/programs/cuda"
DRIVER = "HIP's names for the driver's calls: tests/programs/cuda and tests/fake_cuda have programs with CUDA's"
STRUCTURES = "HIP's own structures and answers"
LOCK_STEP = "counts on lanes that run in lock step, which NVIDIA's need not"
NO_CUDA = {
    "assembly_control": AMDS_INSTRUCTIONS,
    "bfloat16": "HIP's own type: bfloat16_native has the compiler's",
    "bit_functions": AMDS_INSTRUCTIONS,
    "buffer_descriptors": AMDS_INSTRUCTIONS,
    "compiler_fences": LOCK_STEP,
    "conversions": "HIP's headers round to nearest, whatever a function is named for",
    "device_queries": STRUCTURES,
    "lane_functions": AMDS_INSTRUCTIONS,
    "halves_and_wholes": LOCK_STEP,
    "inline_assembly": AMDS_INSTRUCTIONS,
    "integration_slots": LOCK_STEP,
    "launch_intrinsics": AMDS_INSTRUCTIONS,
    "lock_step": AMDS_INSTRUCTIONS,
    "lock_step_shared": LOCK_STEP,
    "managed_variables": "clang has no __managed__ for CUDA",
    "matrix_cores": AMDS_INSTRUCTIONS,
    "memory_queries": STRUCTURES,
    "misaligned_vectors": "addresses that NVIDIA's GPUs refuse",
    "module_launch": DRIVER,
    "multi_grid": "gone from CUDA",
    "packed_math": AMDS_INSTRUCTIONS,
    "rocprim_block": ROCPRIM,
    "rocprim_reduce_select": ROCPRIM,
    "rocprim_scan_sort": ROCPRIM,
    "runtime_compilation": DRIVER,
    "shuffle_forms": AMDS_INSTRUCTIONS,
    "stream_order": DRIVER,
    "texture_references": "gone from CUDA",
    "variable_ring": "LLVM writes no PTX of variables that lead to each other in a circle",
    "vector_types": "CUDA's vectors have no operators",
    "virtual_memory": DRIVER,
    "volatile_global_exchange": LOCK_STEP,
    "wave_divergence": LOCK_STEP,
    "wave_scan_by_y": LOCK_STEP,
    "wrapping_indices": "its indices wrap in 32-bit addresses of private memory: undefined there",
}
# Of tests/programs/cuda: kernels of Thrust and CUB, which come with the toolkit.
LIBRARIES = ["cub_device", "thrust_algorithms"]
# And what HIP has not; some call the driver, whose library they are linked with as it lies in a toolkit.
CUDAS_OWN = ["driver_calls", "graph_conditions", "graph_memory", "loaded_code", "matrix_fragments", "matrix_shapes",
             "runtime_calls", "shared_barriers"]
DRIVERS = ["driver_calls", "loaded_code", "texture_copies"]
STUBS = pathlib.Path(os.environ.get("CUDA_PATH", "/usr/local/cuda")) / "lib64" / "stubs"

# Of several units, with headers of ours, or built otherwise: what is compiled, with which options.
RELOCATABLE = ["-fgpu-rdc", "--offload-new-driver"]
DEBUGGED = ["-g", "--cuda-noopt-device-debug"]  # at all levels
OF_THEIR_OWN = {
    "annotated": ([ROOT / "tests" / "annotated.hip"], ["-I", ROOT / "lib" / "annotate"]),
    "relocatable": ([PROGRAMS / "relocatable" / f"{unit}.hip" for unit in ("main", "scale")], RELOCATABLE),
    "relocatable_pointers": ([PROGRAMS / "relocatable" / f"{unit}.hip" for unit in ("pointers", "pointers_elsewhere")],
                             RELOCATABLE),
    **{f"{name}.relocatable": ([PROGRAMS / f"{name}.hip"], RELOCATABLE)
       for name in ("function_pointers", "stored_texts", "virtual_functions")},
    **{f"{name}.debugged": ([PROGRAMS / f"{name}.hip"], DEBUGGED) for name in ("function_pointers", "virtual_functions")},
}


def programs():
    """The chosen ones; $MNEME_MATRIX=full: all."""
    others = OTHERS if os.environ.get("MNEME_MATRIX") == "full" else []
    return [*sorted(CHOSEN + others), *TEXTURES, *LIBRARIES, *CUDAS_OWN, *OF_THEIR_OWN]


def sources_of(name):
    """And the options that go with them."""
    if name in OF_THEIR_OWN:
        return OF_THEIR_OWN[name]
    own = PROGRAMS / "cuda" / f"{name}.cu"
    source = own if own.exists() else PROGRAMS / f"{name}.hip"
    return [source], [f"-L{STUBS}", "-lcuda"] if name in DRIVERS else []


def has_toolkit():
    source = "int main() { return 0; }"
    result = run([tool("inject"), "clang++-19", "-x", "cuda", f"--offload-arch={PROCESSOR}", "-fsyntax-only", "-"],
                 input=source.encode())
    return result.status == 0


class CudaCase(TestCase):
    @classmethod
    def build_cuda(cls, name, level, *options):
        program = cls.folder / f"{name}{level}"
        sources, own = sources_of(name)
        result = run([tool("inject"), "clang++-19", "-std=c++17", "-x", "cuda", f"--offload-arch={PROCESSOR}", level,
                      *own, *options, "-I", HEADERS, *sources, "-o", program])
        if result.status:
            raise AssertionError(result.text())
        return program

    @classmethod
    def keep(cls, name, program, recording):
        """Leaves a program built at -O3, and what was recorded of it, for other tests; the paths."""
        return (recordings.keep(program, f"cuda/{name}"), recordings.keep(recording, f"cuda/{name}.tar"))

    @classmethod
    def recorded(cls, name):
        """A program built at -O3, and what was recorded of it: as the test of the programs left them, or made."""
        kept = [recordings.FOLDER / "cuda" / file for file in (name, f"{name}.tar")]
        made_from = [*sources_of(name)[0], *(path for path in HEADERS.rglob("*") if path.is_file()),
                     *(path for path in (BUILD / "lib" / "mneme" / "cuda").rglob("*") if path.is_file())]
        if all(recordings.is_current(path, made_from) for path in kept):
            return kept
        program = cls.build_cuda(name, "-O3")
        return cls.keep(name, program, cls.record(program))


class Lists(unittest.TestCase):
    def test_all_programs_are_listed(self):
        listed = [*CHOSEN, *OTHERS, *TEXTURES, *NO_CUDA, *LIBRARIES, *CUDAS_OWN]
        self.assertEqual(sorted(listed), sorted(path.stem for path in [*PROGRAMS.glob("*.hip"), *PROGRAMS.glob("cuda/*.cu")]))


class Cuda(CudaCase):
    name = None  # set from the command line

    def test_program(self):
        name = self.name
        program = self.build_cuda(name, "-O3")
        recording = self.folder / f"{name}.tar"
        recorded = self.run_well([tool("capture"), "--device", "host", "-o", recording, program])
        says = name.split(".")[0]
        self.assertRegex(recorded.error + recorded.out.decode(), rf"(?m)^{says}: ok$", recorded.text())
        self.keep(name, program, recording)
        lines = []
        # The libraries' kernels are long: a minute for each program without optimisation.
        levels = ["-O3"] if name in LIBRARIES else ["-O0", "-O3"]
        forms = ["loop", "fiber"] if name in TEXTURES else ["auto"]
        for level, form in itertools.product(levels, forms):
            result = self.run_well([tool("compile"), level, "--form", form, recording], [tool("run")], [tool("verify")])
            lines += [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertTrue(lines)
        self.assertTrue(any(line["changed_bytes"] for line in lines), "no memory changed")
        # And code for the GPU that the program was built for can be had.
        compiled = self.run_well([tool("compile"), "--target", PROCESSOR, recording])
        self.assertTrue(any(m.name.endswith(("/code.ptx", "/code.cubin")) for m in bundles.read(compiled.out)))


class Textures(CudaCase):
    def test_handles(self):
        """Kernels say where their handles lie, and recordings what those stand for."""
        for name in TEXTURES:
            with self.subTest(name):
                program, recording = self.recorded(name)
                unoptimized = [self.build_cuda(name, "-O0")] if name in ["surface_life", "texture_mipmaps"] else []
                for cubin in itertools.chain.from_iterable(map(cuda_binaries.cubins, [program, *unoptimized])):
                    for info, _ in cuda_binaries.records(cubin.sections()[".mneme.ir"]):
                        self.assertTrue(info["handles"], info)
                        self.assertTrue(all("argument" in handle for handle in info["handles"]), info)
                members = bundles.read(recording.read_bytes())
                self.assertEqual(bundles.parsed(members[0])["version"], 4)
                for member in members:
                    if member.name.startswith("instances/"):
                        instance = bundles.parsed(member)
                        self.assertTrue(instance["textures"], member.name)
                        self.assertNotIn("missing", instance)

    ELSEWHERE = """
#include <cstdio>
__device__ cudaTextureObject_t known;
__global__ void of_variable(int* out) { out[threadIdx.x] = tex1Dfetch<int>(known, threadIdx.x); }
__global__ void of_argument(int* out, cudaTextureObject_t texture) { *out = tex1Dfetch<int>(texture, 1); }
__global__ void write(cudaSurfaceObject_t surface, int x) { surf1Dwrite(1, surface, x); }
int main(int, char** arguments) {
  int *data, *out;
  cudaMalloc(&data, 128);
  cudaMalloc(&out, 128);
  cudaMemset(data, 1, 128);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = cudaCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = 128;
  cudaTextureDesc description = {};
  cudaTextureObject_t texture = 0;
  if (cudaCreateTextureObject(&texture, &resource, &description, nullptr)) return 1;
  cudaResourceDesc of_array = {};
  of_array.resType = cudaResourceTypeArray;
  if (cudaMallocArray(&of_array.res.array.array, &resource.res.linear.desc, 8, 0, cudaArraySurfaceLoadStore)) return 1;
  cudaSurfaceObject_t surface = 0;
  if (cudaCreateSurfaceObject(&surface, &of_array)) return 1;
  cudaMemcpyToSymbol(known, &texture, sizeof texture);
  switch (arguments[1][0]) {
    case 'v': of_variable<<<1, 32>>>(out); break;
    case 'd': cudaDestroyTextureObject(texture); of_argument<<<1, 1>>>(out, texture); break;
    case 'n': of_argument<<<1, 1>>>(out, 0); break;
    case 's': of_argument<<<1, 1>>>(out, surface); break;
    case 't': write<<<1, 1>>>(texture, 0); break;
    case 'o': write<<<1, 1>>>(surface, 32); break;
    case 'm': write<<<1, 1>>>(surface, 2); break;
  }
  std::printf("%s\\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""

    def test_handles_elsewhere(self):
        """Those in memory are the CPU's alone; what is no texture ends the launch, with a sentence."""
        source, program = self.folder / "elsewhere.cu", self.folder / "elsewhere"
        source.write_text(self.ELSEWHERE)
        self.run_well([tool("inject"), "clang++-19", "-O2", "-x", "cuda", f"--offload-arch={PROCESSOR}", source, "-o", program])
        recording = self.record(program, "v")
        result = self.run_well([tool("compile"), recording], [tool("run")], [tool("verify")])
        self.assertEqual(len(result.out.splitlines()), 1)
        for how, sentence in {"d": "object that is none, or was destroyed", "n": "object that is null",
                              "s": "reads a surface object as a texture", "t": "uses a texture object as a surface",
                              "o": "accesses 4 bytes at byte 32 of row 0 of slice or layer 0 of a surface that has 32 bytes",
                              "m": "accesses 4 bytes at byte 2 of a surface's row"}.items():
            ran = run([tool("capture"), "--device", "host", "--max-instances", 0, program, how])
            self.assertIn(sentence, ran.error)
            self.assertNotIn("cudaSuccess", ran.out.decode())


class Damaged(CudaCase):
    def test_damaged(self):
        """What gpu-check replays of damaged bundles, on the host device; and bundles that do not end as they are to."""
        check = [ROOT / "tests" / "gpu" / "check_damaged", self.folder / "damaged", pathlib.Path(tool("run")).parent, "host"]
        damaged.Damaged(self.folder / "damaged", self.folder, "host").make()
        self.run_well(check)
        expected = self.folder / "damaged" / "expected"
        text = expected.read_text()
        cases = len(text.splitlines())
        for field in [2, 3, 4]:
            expected.write_text("".join(";".join(words[:field] + ["7"] + words[field + 1:]) + "\n"
                                        for words in [line.split(";") for line in text.splitlines()]))
            result = run(check)
            self.assertEqual((result.status, result.out.decode().count("NOT as it is to be")), (1, cases), result.out)
        expected.write_text(text.replace("run failed: ", "run succeeded: "))
        self.assertEqual(run(check).status, 1)


class Faults(CudaCase):
    SOURCE = """
#include <cassert>
#include <cstdio>
__global__ void fail(float* data, int how) {
  if (how == 0) assert(!data);
  if (how == 1) reinterpret_cast<float4*>(data + 1)->x = 1;
  if (how == 2) data[1 << 20] = 1;
}
int main(int, char** arguments) {
  float* data;
  if (cudaMalloc(&data, 64)) return 1;
  fail<<<1, 1>>>(data, arguments[1][0] - '0');
  cudaError_t error = cudaDeviceSynchronize();
  std::printf("%d %s\\n", error, cudaGetErrorName(error));
}
"""

    def test_codes(self):
        """As NVIDIA's hardware has them."""
        source = self.folder / "fails.cu"
        source.write_text(self.SOURCE)
        self.run_well([tool("inject"), "clang++-19", "-O0", f"--offload-arch={PROCESSOR}", source, "-o", self.folder / "fails"])
        for how, code in enumerate(["710 cudaErrorAssert", "716 cudaErrorMisalignedAddress", "700 cudaErrorIllegalAddress"]):
            with self.subTest(code):
                result = self.run_well([tool("capture"), "--device", "host", "--check-memory", "--max-instances", "0",
                                        self.folder / "fails", str(how)])
                self.assertEqual(result.out.decode().strip(), code)


class Driver(CudaCase):
    OTHER = """
#include <cstdio>
#include <cstdlib>
extern "C" int cuInit(unsigned) {
  std::puts("the other driver");
  std::exit(0);
}
"""
    SOURCE = """
#include <cuda.h>
#include <cstdio>
int main() {
  CUdevice device = -1;
  if (cuInit(0) || cuDeviceGet(&device, 0) || device) return 1;
  std::puts("the host device");
}
"""

    def other_driver(self):
        folder = self.folder / "other"
        folder.mkdir(exist_ok=True)
        (folder / "other.cc").write_text(self.OTHER)
        self.run_well(["clang++-19", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", folder / "other.cc", "-o",
                       folder / "libcuda.so.1"])
        return folder

    def test_the_host_devices_comes_first(self):
        """Before the one that the loader would find, and before the one that the program names."""
        other = self.other_driver()
        source = self.folder / "asks.cu"
        source.write_text(self.SOURCE)
        for name, options, environment in [("asks", [], {"LD_LIBRARY_PATH": str(other)}),
                                           ("insists", [f"-Wl,--disable-new-dtags,-rpath,{other}"], {})]:
            program = self.folder / name
            self.run_well([tool("inject"), "clang++-19", "-x", "cuda", f"--offload-arch={PROCESSOR}", source, "-o", program,
                           f"-L{STUBS}", "-lcuda", *options])
            self.assertEqual(run([program], env=environment).out, b"the other driver\n")
            recorded = run([tool("capture"), "--device", "host", "--max-instances", "0", program], env=environment)
            self.assertEqual(recorded.out, b"the host device\n", recorded.text())


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else "Lists"
    if wanted == "--chosen" or wanted == "--others":
        print("\n".join(programs() if wanted == "--chosen" else OTHERS))
    elif wanted != "Lists" and not has_toolkit():
        print("CUDA programs were not tested: there is no CUDA toolkit that mneme-inject finds")
        sys.exit(77)
    elif wanted in programs() + OTHERS:
        Cuda.name = wanted
        unittest.main(argv=[sys.argv[0], "Cuda", *sys.argv[2:]], verbosity=2)
    else:
        unittest.main(argv=sys.argv, verbosity=2)
