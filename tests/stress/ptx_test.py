#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels of PTX (ptx_programs.py) on the host device: in both forms they compute what an H200 computed.

ptx_h200.txt has that, a line a file of kernels: its seed, and of each kernel a number for all that it left. It is made
on a machine with such a GPU:

  ptx_test.py --expect SEEDS     runs the files 1 to SEEDS by the driver that it finds, and prints the lines

ptx_test.py [--seeds N]: the first N files; by default as many as a minute has time for.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import ptx_programs

HERE = pathlib.Path(__file__).resolve().parent
KERNELS, SIZE = 20, 15
SECONDS = 60


def results(program, seed, folder, environment):
    """Of each kernel of a file a number for what it left."""
    file = pathlib.Path(folder) / "random.ptx"
    file.write_text(ptx_programs.program(seed, KERNELS, SIZE))
    ran = subprocess.run([program, str(KERNELS), str(ptx_programs.OUTPUTS), str(file)], env=environment,
                         capture_output=True, text=True, check=False)
    lines = [line.split()[1:] for line in ran.stdout.splitlines()]
    if ran.returncode or len(lines) != KERNELS:
        raise RuntimeError(f"file {seed}: {ran.stderr[-500:]}")
    return [hashlib.sha256(" ".join(line).encode()).hexdigest()[:8] for line in lines]


def expect(program, seeds):
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, seeds + 1):
            print(seed, *results(program, seed, folder, dict(os.environ)))


def main(arguments):
    if arguments[:1] == ["--expect"]:
        return expect(arguments[1], int(arguments[2]))
    sys.path.insert(0, str(HERE.parent))
    import support
    environment = {**os.environ, "LD_LIBRARY_PATH": str(support.BUILD / "lib" / "mneme" / "hostgpu")}
    program = support.BUILD / "tests" / "ptx_run"
    expected = [line.split() for line in (HERE / "ptx_h200.txt").read_text().splitlines()]
    if arguments[:1] == ["--seeds"]:
        expected = expected[:int(arguments[1])]
    begin, files = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        for seed, *right in expected:
            for form in ("loop", "fiber"):
                got = results(program, int(seed), folder, {**environment, "MNEME_HOST_FORM": form})
                wrong = [f"k{i}" for i, (a, b) in enumerate(zip(got, right)) if a != b]
                if wrong:
                    print(f"file {seed}, {form} form: {', '.join(wrong)} left something else than on the GPU; "
                          f"python3 {HERE / 'ptx_programs.py'} {seed} {KERNELS} prints them")
                    return 1
            files += 1
            if time.monotonic() - begin > SECONDS and not arguments:
                break
    print(f"{files * KERNELS} kernels: as on the GPU")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
