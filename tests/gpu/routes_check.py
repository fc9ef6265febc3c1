#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On a machine with an NVIDIA GPU: are launches seen whichever way an application reaches CUDA's driver, and does the
application do what it does alone? By nvcc and by mneme-inject, static and shared runtime, plug-ins, Python.

    routes_check.py --build FOLDER          with a CUDA toolkit, and mneme-inject where kernels are to have IR
    routes_check.py [--tools BIN] FOLDER    a line for each: exit status, same output, seen, recorded, replayed

`--only REGEX` takes some. Exit status: 0 if all is as it should be.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MODES = ["memory", "graph", "attributes", "reset", "forked", "contexts", "failed", "lookups", "linked", "compiled",
         "library", "graphs"]
RTLD_LOCAL, RTLD_DEEPBIND = 0, 8
AT_ONCE = 8

SCRIPT = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
ptx = rb'''PTX'''
check = lambda status: status and exit(f"error {status}")
context, module, function, data = (ctypes.c_void_p() for _ in range(4))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), ptx))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"plus"))
check(cuda.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(256)))
check(cuda.cuMemsetD8_v2(data, 0, ctypes.c_size_t(256)))
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(data), ctypes.c_void_p))
for _ in range(3):
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, arguments, None))
result = ctypes.c_int()
check(cuda.cuMemcpyDtoH_v2(ctypes.byref(result), data, ctypes.c_size_t(4)))
print("plus", result.value)
"""



def built(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        print(f"not built: {' '.join(map(str, command))}\n{result.stderr[-1500:]}", file=sys.stderr)
    return result.returncode == 0


def build(folder, inject, cuda):
    folder.mkdir(parents=True, exist_ok=True)
    nvcc, source = cuda / "bin" / "nvcc", HERE / "routes.cu"
    text = re.search(r'kPtx\[\] =\n(.*?);\n\n', source.read_text(), re.DOTALL).group(1)
    ptx = "".join(json.loads(line.strip()) for line in text.splitlines())
    (folder / "by_ctypes.py").write_text(SCRIPT.replace("PTX", ptx))
    common = [nvcc, "-std=c++17", "-O2", "-arch=sm_90", source]
    rpath = ["-Xlinker", "-rpath", "-Xlinker", "$ORIGIN"]
    for runtime in ["static", "shared"]:
        built([*common, "-cudart", runtime, *rpath, "-ldl", "-o", folder / f"nvcc_{runtime}"])
    built([*common, "--default-stream", "per-thread", "-cudart", "static", "-ldl", "-o", folder / "nvcc_per_thread"])
    built([*common, "-DPLUGIN", "-shared", "-Xcompiler", "-fPIC", "-cudart", "static", "-o", folder / "plugin.so"])
    launches = HERE / "launches.cu"
    for runtime in ["static", "shared"]:
        built([nvcc, "-std=c++17", "-O2", "-arch=sm_90", launches, "-cudart", runtime, *rpath, "-o",
               folder / f"launches_{runtime}"])
    if inject:
        # mneme-inject links the shared runtime; the static one is linked by clang itself.
        clang = ["clang++-19", "-x", "cuda", "--offload-arch=sm_90", "-std=c++17", "-O2", "-fPIC", source]
        ours, plugin = folder / "injected.o", folder / "injected_plugin.o"
        static = [f"-L{cuda}/lib64", "-lcudart_static", "-ldl", "-lrt", "-lpthread"]
        if built([inject, *clang, "-c", "-o", ours]):
            built(["clang++-19", ours, *static, "-o", folder / "injected_static"])
            built(["clang++-19", ours, f"-L{cuda}/lib64", "-lcudart", "-Wl,-rpath,$ORIGIN", "-ldl", "-o",
                   folder / "injected_shared"])
        if built([inject, *clang, "-DPLUGIN", "-c", "-o", plugin]):
            built(["clang++-19", "-shared", plugin, *static, "-o", folder / "injected_plugin.so"])
        for path in [ours, plugin]:
            path.unlink(missing_ok=True)
    for library in cuda.glob("lib64/libcudart.so.1[23]"):
        shutil.copy(library, folder / library.name)


def commands(folder):
    """Each with its name."""
    for program in ["nvcc_static", "nvcc_shared", "nvcc_per_thread", "injected_static", "injected_shared"]:
        for mode in MODES:
            if (folder / program).exists():
                yield f"{program} {mode}", [folder / program, mode]
    for plugin in ["plugin.so", "injected_plugin.so"]:
        for how in [RTLD_LOCAL, RTLD_DEEPBIND]:
            for host in ["nvcc_static", "nvcc_shared"]:
                if (folder / plugin).exists() and (folder / host).exists():
                    yield f"{host} {plugin} {how}", [folder / host, str(how), folder / plugin]
    for name in ["launches_static", "launches_shared"]:
        if (folder / name).exists():
            yield name, [folder / name]
    yield "ctypes", [sys.executable, folder / "by_ctypes.py"]


def execute(command, folder, environment=None):
    """And how long it takes: `seconds`."""
    begin = time.monotonic()
    try:
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, cwd=folder,
                                env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired as error:
        result = subprocess.CompletedProcess(command, 124, (error.stdout or b"").decode(), "timed out")
    result.seconds = time.monotonic() - begin
    return result


def check(name, command, folder, tools):
    """Whether it is as it should be; a line, and what was said where it is not."""
    bundle = folder / f"recorded_{re.sub(r'[^a-z0-9]+', '_', name)}.tar"
    alone = execute(command, folder)
    seen = execute([tools / "mneme-capture", "--device", "cuda", "--summary", "-o", bundle, *command], folder)
    launches = re.search(r"(\d+) kernels?, (\d+) launch(?:es)?, (\d+) recorded", seen.stderr)
    recorded = int(launches.group(3)) if launches else 0
    # Others' kernels are recorded as the code that ran.
    is_injected = "injected" in name and not re.search("contexts|linked|compiled|library|graphs$", name)
    levels = " -O3 --assembler none" if is_injected else ""
    same = alone.stdout == seen.stdout or name.startswith("launches")
    fine = same and (alone.returncode == 0 or name.endswith("failed")) and seen.returncode in (0, 2, 4)
    fine = fine and (recorded > 0 or name.endswith(("lookups", "failed"))) and "never registered" not in seen.stderr
    line = f"{name}: exit {alone.returncode}/{seen.returncode}, output {'same' if same else 'DIFFERS'}, "
    line += f"launches {launches.group(2) if launches else '-'}, recorded {recorded}"
    if name.startswith("launches"):
        line += f", µs a launch {alone.stdout.strip()} -> {seen.stdout.strip()}"
    said = ""
    if recorded:
        stages = [("compile", f"{levels} '{bundle}'"), ("run", " --device cuda"), ("verify", "")]
        pipe = " | ".join(f"'{tools}/mneme-{one}'{options}" for one, options in stages)
        replayed = execute(["bash", "-c", "set -o pipefail; " + pipe], folder)
        lines = [json.loads(one) for one in replayed.stdout.splitlines() if one.startswith("{")]
        changed = sum(1 for one in lines if one.get("changed_bytes"))
        line += f", replays exit {replayed.returncode}, {len(lines)} runs, {changed} change memory"
        if replayed.returncode:
            fine, said = False, replayed.stderr[-1500:]
    bundle.unlink(missing_ok=True)
    lines = [("ok   " if fine else "FAIL ") + line]
    reasons = [one for one in seen.stderr.splitlines() if "not:" in one or "warning" in one or "error" in one]
    lines += [f"         {one[:300]}" for one in dict.fromkeys(reasons[:6])]
    if not fine:
        lines += ["       alone: " + alone.stdout[-300:] + alone.stderr[-600:],
                  "       seen:  " + seen.stdout[-300:] + seen.stderr[-1500:], "       " + said]
    return fine, "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--tools", type=pathlib.Path, default=HERE.parent.parent / "build" / "bin")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    folder, tools = options.folder.resolve(), options.tools.resolve()
    cuda = pathlib.Path(os.environ.get("CUDA_PATH", "/usr/local/cuda"))
    if options.build:
        if not (cuda / "bin" / "nvcc").exists():
            print("there is no CUDA toolkit: nothing is built")
            return 0
        inject = tools / "mneme-inject"
        build(folder, inject if inject.exists() else None, cuda)
        return 0
    if not (folder / "by_ctypes.py").exists():
        build(folder, None, cuda)
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    wanted = [one for one in commands(folder) if re.search(options.only, one[0])]
    results = []
    # What is timed runs by itself.
    for at_once, is_timed in [(AT_ONCE, False), (1, True)]:
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            of_these = [one for one in wanted if one[0].startswith("launches") == is_timed]
            for fine, said in pool.map(lambda one: check(*one, folder, tools), of_these):
                print(said, flush=True)
                results.append(fine)
    print(f"{sum(results)} of {len(results)}")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
