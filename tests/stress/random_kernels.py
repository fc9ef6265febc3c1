#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels on the host device, against what plain C++ makes of the same text (harness.h, kernels.py).

  random_kernels.py [--seed S] [--kernels N] [--seconds N]   files of N kernels, one or as many as fit the time
  random_kernels.py --reduce SEED                            one kernel that fails, made small

Each file is built recordable at -O0 and -O2, for waves of 32 or 64, and run in both forms. $MNEME_BUILD is the build folder.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import kernels

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("MNEME_BUILD", HERE.parent.parent / "build")).resolve()
LEVELS = ["-O0", "-O2"]
FORMS = ["loop", "fiber"]
WAVES = {64: "gfx90a", 32: "gfx1030"}
# Some kernels mean to end early, and some take long to compile.
REMARKS = re.compile(r"mneme: kernel .* ((has|have) ended before a barrier that .* at|took .* before its first launch)$")


def output(command, limit, **environment):
    """What a command prints; how it failed, if it did."""
    try:
        result = subprocess.run(list(map(str, command)), env={**os.environ, **environment}, text=True, timeout=limit,
                                capture_output=True)
    except subprocess.TimeoutExpired:
        return f"still running after {limit} s"
    return result.stdout + result.stderr + (f"ended with {result.returncode}\n" if result.returncode else "")


class Trial:
    """Some kernels in one file. Waves of both sizes have their turn."""

    def __init__(self, folder, chosen, seed):
        self.folder, self.chosen, self.seed = pathlib.Path(folder), chosen, seed
        self.source = self.folder / "k.hip"
        self.source.write_text(kernels.program(chosen))

    def build(self, program, *command):
        said = output([*command, "-std=c++17", "-w", "-I", HERE, self.source, "-o", program], 600)
        if "ended with" in said or "running" in said:
            raise SystemExit(f"random_kernels: cannot build {self.source}:\n{said}")
        return program

    # The device library's barriers that count do not compile for gfx1030 at -O0.
    def wave(self, level):
        return 64 if level == "-O0" else sorted(WAVES)[self.seed % len(WAVES)]

    def expected(self, level, limit=60):
        program = self.build(self.folder / f"reference{level}", "clang++-19", "-x", "c++", "-DREFERENCE",
                             f"-DWAVE={self.wave(level)}u", "-O1", "-ffp-contract=off")
        return output([program], limit)

    def found(self, level, form, limit=300):
        program = self.folder / f"k{level}"
        if not program.exists():
            wave = self.wave(level)
            self.build(program, BUILD / "bin" / "mneme-inject", "clang++-19", "-x", "hip", level, f"-DWAVE={wave}u",
                       f"--offload-arch={WAVES[wave]}")
        said = output([program], limit, MNEME_HOST_FORM=form, MNEME_KERNEL_CACHE="off",
                      LD_LIBRARY_PATH=str(BUILD / "lib" / "mneme" / "hostgpu"))
        return "".join(line for line in said.splitlines(True) if not REMARKS.match(line))


def differing(expected, found):
    """The kernels of which the two say different things, and the first such lines."""
    expected, found = expected.splitlines(), found.splitlines()
    if expected == found:
        return []
    for i, line in enumerate(expected):
        if i >= len(found) or found[i] != line:
            here = found[i] if i < len(found) else "(nothing)"
            rest = {line.split()[0] for line, other in zip(expected[i:], found[i:] + [""] * len(expected)) if line != other}
            return [f"{line}\n  but {here}\n  kernels: {' '.join(sorted(rest))}"]
    return ["more than expected: " + found[len(expected)]]


def run(seed, count, levels=LEVELS, forms=FORMS):
    """The number of failures among kernels seed … seed + count - 1."""
    failures = 0
    with tempfile.TemporaryDirectory(prefix="mneme-stress-") as folder:
        trial = Trial(folder, [kernels.Kernel(seed + i) for i in range(count)], seed)
        for level in levels:
            expected = trial.expected(level)
            if "ended with" in expected or "running" in expected:
                raise SystemExit(f"random_kernels: the reference of kernels {seed}…{seed + count - 1} failed:\n"
                                 f"{expected[-500:]}")
            for form in forms:
                for difference in differing(expected, trial.found(level, form)):
                    failures += 1
                    print(f"FAILED: kernels {seed}…{seed + count - 1}, built at {level}, {form}: {difference}", flush=True)
    return failures


class Reducer:
    """Takes out statements as long as some mode still differs from the reference."""

    def __init__(self, seed, keep):
        self.seed, self.kernel, self.keep = seed, kernels.Kernel(seed), keep
        self.level, self.form = next(((level, form) for level in LEVELS for form in FORMS if self.fails(level, form)),
                                     (None, None))
        # A form that is right stays right: what is left may mean nothing (lanes that race, loops without their braces).
        self.right = [form for form in FORMS if self.level and not self.fails(self.level, form)]

    def fails(self, level, form, right=()):
        with tempfile.TemporaryDirectory(prefix="mneme-stress-") as folder:
            trial = Trial(folder, [self.kernel], self.seed)
            try:
                expected = trial.expected(level, 5)
                return "running" not in expected and "ended with" not in expected and bool(
                    differing(expected, trial.found(level, form, 20))) and not any(
                        differing(expected, trial.found(level, other, 20)) for other in right)
            except SystemExit:
                return False

    def still_fails(self):
        return self.fails(self.level, self.form, self.right)

    def shrink(self, nodes):
        """True when something came out."""
        changed, size = False, max(1, len(nodes) // 2)
        while size:
            i = 0
            while i < len(nodes):
                taken = nodes[i:i + size]
                if any(node.fixed for node in taken) and size > 1:
                    i += 1
                    continue
                if not taken[0].fixed:
                    nodes[i:i + size] = []
                    if self.still_fails():
                        changed = True
                        continue
                    nodes[i:i] = taken
                i += size
            size //= 2
        for node in list(nodes):
            if node.body:
                changed |= self.shrink(node.body)
        return changed

    def unwrap(self, nodes):
        """A block's statements in its place."""
        changed = False
        for node in list(nodes):
            if node.body is None:
                continue
            i = nodes.index(node)
            nodes[i:i + 1] = node.body
            if self.still_fails():
                changed = True
            else:
                nodes[i:i + len(node.body)] = [node]
                changed |= self.unwrap(node.body)
        return changed

    def run(self):
        if self.level is None:
            raise SystemExit("random_kernels: this kernel does not fail")
        while self.shrink(self.kernel.nodes) | self.unwrap(self.kernel.nodes):
            pass
        self.keep.write_text(kernels.program([self.kernel]))
        print(f"{self.level} {self.form}: {self.keep}\n{self.kernel.text()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--reduce", type=int, metavar="SEED")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("reduced.hip"), help="where --reduce writes")
    options = parser.parse_args()
    if options.reduce is not None:
        Reducer(options.reduce, options.keep).run()
        return 0
    start, seed, failures = time.monotonic(), options.seed, 0
    while True:
        failures += run(seed, options.kernels)
        seed += options.kernels
        if time.monotonic() - start >= options.seconds:
            break
    print(f"{seed - options.seed} kernels in {len(LEVELS) * len(FORMS)} modes: {failures} failures "
          f"({time.monotonic() - start:.0f} s)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
