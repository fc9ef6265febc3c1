# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/gpu-check needs for NVIDIA's GPUs, for scripts/gpu-bundle: CUDA programs, what was recorded of them on the
host device with code for a GPU in it, and the modes in which what is recorded on the GPU is replayed there.

    cuda_bundle.py FOLDER               says so, and writes nothing, where there is no CUDA toolkit
    cuda_bundle.py FOLDER PROGRAM…      these, for a dry run with the host device in place of a GPU

Written are FOLDER/applications/LEVEL/PROGRAM, FOLDER/recordings/PROGRAM.tar, FOLDER/modes, FOLDER/ways
(applied_check.py), and what is measured.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "fake_cuda")]

import bundles  # noqa: E402
import choosing  # noqa: E402
import cuda_test  # noqa: E402
import damaged  # noqa: E402
import matrix  # noqa: E402
import toolkit  # noqa: E402
from support import run, tool  # noqa: E402

GPU = ROOT / "tests" / "gpu"
EXAMPLES = ROOT / "scripts" / "examples" / "applying"
COMPILE = [tool("inject"), "clang++-19", "-std=c++17", "-x", "cuda", f"--offload-arch={cuda_test.PROCESSOR}"]

# Of tests/fake_cuda/programs, for a GPU as well.
STANDS = ["alignments", "devices", "early_memory", "functions", "graph_conditions", "graph_nodes", "graph_streams",
          "graphs", "heap", "launches", "memory", "per_thread", "texts"]
# And those that call the driver themselves; what they are given beside that: kernels of their own.
DRIVERS = ["driver_graphs", "pointers", "stacks", "symbols", "virtual_memory"]

# Some are right in optimized code only (scripts/gpu-check-programs says why); the libraries take a minute each.
NOT_BUILT = {*((name, "-O0") for name in ["cooperative_groups", "wave_operations", *cuda_test.LIBRARIES])}
# What the host device recorded and a GPU cannot replay: kernels' heap is not in it as a GPU has it.
AT_HOME = ["device_heap", "device_new"]
# Not of all kernels are results the same there: scripts/gpu-check-programs says why.
KERNELS = {"barrier_in_recursion": "sum_blocks|rotate"}
# The pack has to be small. What a program with more than that makes is recorded on the GPU.
LARGEST_RECORDING = 2 << 20  # bytes

LEVELS = {level: {"passes": f"default<O{level}>", "codegen_opt": int(level) if level.isdigit() else 2} for level in "0123sz"}
COMPILED = {
    "level": list(LEVELS.values()),
    # nvjitlink: ptxas where there is none (scripts/gpu-check-programs); none: the driver does
    "assembler": [{}, {"assembler": "nvjitlink", "max_registers": 64}, {"assembler": "none"}],
    "constants": [{}, {"specialize_args": "all", "specialize_dims": True}],
    "bounds": [{}, {"max_threads": 1024, "min_blocks": 1}],
}
ON_THE_HOST = {
    "target": [{"target": "host"}],
    "level": list(LEVELS.values()),
    "constants": COMPILED["constants"],
    "form": [{"form": "auto"}, {"form": "fiber"}],
}
RUN = {
    "recorded": ["-O0", "-O3"],
    "route": ["pipe", "files", "restored"],
    "globals": ["", "--move-globals"],
    "cache": ["--cache warm", "--cache cold"],
}


def well(*command):
    result = run(command)
    if result.status:
        raise RuntimeError(result.text())


def frozen(dimensions):
    """Settings as texts: sets have to hold them."""
    return {name: [json.dumps(setting) for setting in settings] for name, settings in dimensions.items()}


def configurations(dimensions):
    modes = matrix.modes(frozen(dimensions))
    return "".join(json.dumps({key: value for setting in mode for key, value in json.loads(setting).items()}) + "\n"
                   for mode in modes)


def write_modes(folder, is_dry):
    folder.mkdir()
    (folder / "host.jsonl").write_text(configurations(ON_THE_HOST))
    (folder / "gpu.jsonl").write_text(configurations(ON_THE_HOST if is_dry else COMPILED))
    (folder / "runs").write_text("".join(" ".join(filter(None, mode)) + "\n" for mode in matrix.modes(RUN)))


def write_driver(folder):
    """In place of the driver, to link with: it has the functions that the programs name, which do nothing."""
    texts = [path.read_text() for path in sorted(toolkit.PROGRAMS.glob("*.[hc]*"))]
    names = sorted(set(re.findall(r"\bcu[A-Z]\w+(?=\()", "".join(texts))))
    source = folder / "driver.c"
    source.write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    well("clang-19", "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libcuda.so.1", source, "-o", folder / "libcuda.so")
    return folder


def commands(folder, work):
    """What compiles all but the programs of tests/programs."""
    for name in ["heap_rates", "kernel_times", "launches", "snapshots", "vector_add"]:
        yield [*COMPILE, "-O3", GPU / f"{name}.cu", "-o", folder / name]
    stand = [tool("inject"), *toolkit.COMPILE]
    yield [*stand, toolkit.PROGRAMS / "polling.cu", "-o", folder / "polling"]
    yield [*stand, "--cuda-device-only", toolkit.PROGRAMS / "module_kernels.cu", "-o", folder / "kernels.cubin"]
    driver = [f"-L{write_driver(work)}", "-lcuda"]
    for name in [*STANDS, *DRIVERS]:
        for level in levels_of(name):
            yield [*stand, level, toolkit.PROGRAMS / f"{name}.cu", *(driver if name in DRIVERS else []),
                   "-o", folder / "applications" / level / name]


def levels_of(name):
    return [level for level in RUN["recorded"] if (name, level) not in NOT_BUILT]


def write_program(folder, work, name):
    """At each level, and what was recorded of it at -O3, which may be no more than a sentence."""
    for level in levels_of(name):
        program = cuda_test.CudaCase.build_cuda(name, level)
        shutil.copy(program, folder / "applications" / level / name)
    if name in AT_HOME:
        return
    recording = work / f"{name}.tar"
    well(tool("capture"), "--device", "host", "--max-instances", 1, "--kernel", KERNELS.get(name, "."), "-o",
         recording, program)
    if recording.stat().st_size <= LARGEST_RECORDING:
        well(tool("compile"), "--target", cuda_test.PROCESSOR, "-o", folder / "recordings" / f"{name}.tar", recording)


def write_wrong_kernel(folder, work):
    """vector_add's, off by a little: what mneme-compile --ir takes."""
    off = work / "vector_add_off"
    well(*COMPILE, "-O3", "-DOFF", GPU / "vector_add.cu", "-o", off)
    well(tool("extract-ir"), "-o", folder / "vector_add_off.bc", off)


def write_applied(folder, work):
    """The example of docs/applying.md, and the IR of its edited kernel."""
    example = [*COMPILE, "-O3", "-I", cuda_test.HEADERS]
    well(*example, EXAMPLES / "matmul.hip", "-o", folder / "matmul")
    well(*example, "-c", EXAMPLES / "two_rows.hip", "-o", work / "two_rows.o")
    well(tool("extract-ir"), "-o", folder / "two_rows.bc", work / "two_rows.o")


def write_ways(folder, work):
    """What applied_check.py needs. A GPU's kernels are what the host device has recorded of each."""
    folder.mkdir()
    command = [tool("inject"), *toolkit.COMPILE, toolkit.PROGRAMS / "applied.cu"]
    well(*command, f"-L{write_driver(work)}", "-lcuda", "-o", folder / "applied")
    members = {}
    for way in ["repeated 1", "variables", "written"]:
        well(tool("capture"), "--device", "host", "-o", work / "way.tar", folder / "applied", *way.split())
        members.update({member.name: member for member in bundles.read((work / "way.tar").read_bytes())})
    for name, more in [("same", 0), ("more", 1)]:
        cubin = folder / f"{name}.cubin"
        well(*command, "--cuda-device-only", f"-DMORE={more}", "-o", cubin)
        (folder / f"{name}.tar").write_bytes(choosing.tuned(bundles.write(members.values()), cubin.read_bytes(), "cuda",
                                                            toolkit.PROCESSOR, choosing.WAYS))


def main():
    folder, chosen = pathlib.Path(sys.argv[1]), sys.argv[2:]
    if not cuda_test.has_toolkit():
        print("there are no CUDA programs in it: there is no CUDA toolkit that mneme-inject finds")
        return
    for made in ["recordings", *(f"applications/{level}" for level in RUN["recorded"])]:
        (folder / made).mkdir(parents=True, exist_ok=True)
    write_modes(folder / "modes", is_dry=bool(chosen))
    cuda_test.CudaCase.setUpClass()
    work = cuda_test.CudaCase.folder
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            names = chosen or sorted({*cuda_test.CHOSEN, *cuda_test.OTHERS, *cuda_test.LIBRARIES, *cuda_test.CUDAS_OWN,
                                      *cuda_test.OF_THEIR_OWN, *cuda_test.TEXTURES})
            programs = [pool.submit(write_program, folder, work, name) for name in names]
            if not chosen:
                damaged.Damaged(folder / "damaged", work, cuda_test.PROCESSOR).make()
                write_wrong_kernel(folder, work)
                write_applied(folder, work)
                write_ways(folder / "ways", work)
                for built in pool.map(lambda command: run(command), commands(folder, work)):
                    if built.status:
                        raise RuntimeError(built.text())
        for program in programs:
            if program.exception():
                print(f"left out: {program.exception()}", file=sys.stderr)
    finally:
        cuda_test.CudaCase.doClassCleanups()


if __name__ == "__main__":
    main()
