# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/gpu-check needs for AMD's GPUs, for scripts/gpu-bundle: test programs with code for several processors,
and what was recorded of them on the host device, with waves of 64 and of 32.

    hip_bundle.py FOLDER [PROGRAM…]      writes FOLDER/applications/PROGRAM and FOLDER/recordings/{64,32}/PROGRAM.tar
"""

import concurrent.futures
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import PROGRAMS, run, tool  # noqa: E402

PROCESSORS = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"]
RECORDED = {"64": "gfx90a", "32": "gfx1100"}  # size of waves: what is recorded for the GPUs that have it
# Of each kind one or two: memory, globals, shared memory, waves, atomics, functions, half precision, structures.
CHOSEN = ["vector_add", "atomics_mix", "barrier_in_loop", "block_scan", "device_functions", "device_globals",
          "dynamic_shared", "early_return", "grid_3d", "half_precision", "histogram", "integer_math", "linked_list",
          "module_launch", "nbody", "recursion", "stream_order", "tiled_matmul", "tree_reduction",
          "wave_operations"]


def write(folder, name):
    """What went wrong, or nothing."""
    program = folder / "applications" / name
    for processors, made in [(PROCESSORS, program), *(([RECORDED[size]], folder / f"{name}_{size}") for size in RECORDED)]:
        built = run([tool("inject"), "clang++-19", "-x", "hip", *[f"--offload-arch={each}" for each in processors], "-O3",
                     PROGRAMS / f"{name}.hip", "-o", made])
        if built.status:
            return built.text()
    for size in RECORDED:
        made = folder / f"{name}_{size}"
        recorded = run([tool("capture"), "--device", "host", "-o", folder / "recordings" / size / f"{name}.tar", made])
        made.unlink()
        if recorded.status:
            return recorded.text()
    return None


def main():
    folder = pathlib.Path(sys.argv[1])
    for made in ["applications", *(f"recordings/{size}" for size in RECORDED)]:
        (folder / made).mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:] or CHOSEN
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [each for each in pool.map(lambda name: write(folder, name), names) if each]
    for each in wrong:
        print(f"left out: {each}", file=sys.stderr)


if __name__ == "__main__":
    main()
