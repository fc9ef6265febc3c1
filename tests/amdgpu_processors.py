#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same as amdgpu_identity_test.py asks for gfx90a, for AMD's other processors and forms of their code: test programs
are built for each and all of their kernels compiled for it at the application's level, and kernel for kernel the code is
compared with the application's own. Prints a table of how many are the same, and which are not.

    amdgpu_processors.py [--only REGEX] [--sample N] [PROGRAM…]     forms whose name matches; each Nth program
    amdgpu_processors.py --retarget FORM [--sample N] [PROGRAM…]    what is built for FORM, compiled for the others

The kernels' IR is taken out of the code object, which is all that is built, and nothing runs: what is recorded is that IR,
byte for byte (amdgpu_identity_test.py has a test for it), and a variant's code depends on nothing else of a recording.

With --retarget nothing is compared: it prints how many kernels become code for each other processor, whose instructions
it has to know, and why others do not.

A form takes a minute or two, all of them an hour; `make amd-identity` does that. docs/amd_gpus.md has what came of it.

Exit status: 0 if no kernel differs, or is refused, but those that amdgpu_identity_test.py explains.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import sys

from amdgpu_identity_test import DIFFERS, MOST_REGISTERS, REFUSED, Identity
from code_objects import CodeObject
from support import BUILD, PROGRAMS, run, tool

# What clang is told, besides the processor in front of the name's first space.
VERSION_4, WAVES_OF_64 = "-mcode-object-version=4", "-mwavefrontsize64"  # by default: 5, and 32 where there are both
PROCESSORS = ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx940", "gfx942", "gfx1030", "gfx1100"]
GENERIC = ["gfx9-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic"]
FORMS = {
    **{name: [] for name in PROCESSORS},
    **{f"{name} version 4": [VERSION_4] for name in PROCESSORS},
    "gfx1100 waves of 64": [WAVES_OF_64],  # which HIP refuses for gfx10
    **{f"{name} version 6": ["-mcode-object-version=6"] for name in GENERIC},  # which generic ones need
    **{name: [] for name in ["gfx900:xnack-", "gfx900:xnack+", "gfx906:sramecc+:xnack-", "gfx906:sramecc-:xnack+",
                             "gfx908:sramecc+:xnack+", "gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+",
                             "gfx90a:sramecc-:xnack-", "gfx942:xnack-", "gfx942:xnack+"]},
}


# What differs on these only, and not on gfx90a.
DIFFERS_ELSEWHERE = {"virtual_functions": {"_Z5stepsPi": MOST_REGISTERS}}

# Why clang itself cannot make code of some programs for some processors; rocPRIM 5.2 does not know all of them.
NOT_BUILT = "The image/texture API not supported on the device|needs target feature|broadcasts are not supported on GFX10"


class Outcome:
    """What came of one program in one form."""

    def __init__(self):
        self.same, self.differing, self.not_built = 0, {}, None
        self.failed = {}  # {kernel, or (processor, kernel): why it has no code, or none that the processor knows}
        self.refused = {}  # {(processor, kernel): why, or nothing}


class Forms(Identity):
    def compiler(self, form):
        return [tool("inject"), "clang++-19", "-x", "hip", f"--offload-arch={form.split()[0]}", "-O3", *FORMS[form],
                "--offload-device-only", "-c"]

    def precompile_headers(self, form):
        """Reading HIP's headers is most of what compiling a program takes."""
        for header in [PROGRAMS / "check.h", PROGRAMS.parent / "hip.h"]:
            self.run_well([*self.compiler(form), "-emit-llvm", "-Xclang", "-emit-pch", header, "-o",
                           self.folder / f"{header.name}.pch"])

    def kernels_of(self, form, name, found):
        """The program's code object, and its kernels as a bundle without instances; nothing where it is not built."""
        source = PROGRAMS / f"{name}.hip"
        code = self.folder / re.sub(r"\W", "_", f"{name} {form}")
        header = self.folder / ("check.h" if 'check.h"' in source.read_text() else "hip.h")
        built = run([*self.compiler(form), "--no-gpu-bundle-output", "-include", header, source, "-o", code])
        if built.status:
            said = [line for line in built.error.splitlines() if "error" in line]
            found.not_built = (said or ["?"])[0]
            return None, None
        own = CodeObject(code.read_bytes())
        code.unlink()
        kernels = code.with_suffix(".tar")
        kernels.write_bytes(self.run_well([BUILD / "tests" / "kernel_bundle"], input=own.data).out)
        return own, kernels

    def outcome(self, form, name):
        found = Outcome()
        own, kernels = self.kernels_of(form, name, found)
        if own:
            self.compared(found, kernels.stem, own, kernels, form.split()[0])
            kernels.unlink()
        return found

    def retargeted(self, form, name):
        found, others = Outcome(), [other for other in PROCESSORS if other != form]
        _, kernels = self.kernels_of(form, name, found)
        if kernels:
            lines = [{"target": other, "passes": "default<O3>"} for other in others]
            for (kernel, number), (_, variant) in self.compiled(kernels.stem, kernels, lines).items():
                found.refused[others[number], kernel] = variant.get("failed")
                if "failed" not in variant and (unknown := CodeObject(variant["bytes"]).unknown()):
                    found.failed[others[number], kernel] = unknown
            kernels.unlink()
        return found

    def compared(self, found, name, own, kernels, processor):
        variants = self.compiled(name, kernels, [{"target": processor, "passes": "default<O3>"}])
        for kernel in set(own.kernels()) - {kernel for kernel, _ in variants}:
            found.failed[kernel] = "its IR is not in the code object"
        for (kernel, _), (_, variant) in variants.items():
            if "failed" in variant:
                found.failed[kernel] = variant["failed"]
                continue
            names = own.exported()
            theirs, mine = ([code.form(), *code.listing(kernel, names)] for code in (own, CodeObject(variant["bytes"])))
            if mine == theirs:
                found.same += 1
            else:
                pairs = zip([*theirs, "(end)"], [*mine, "(end)"])
                found.differing[kernel] = " <> ".join(next(pair for pair in pairs if pair[0] != pair[1]))


def compare(test, pool, forms, names):
    status = 0
    print("| processor | kernels | the same | not the same | not compiled | programs not built |")
    print("|---|---|---|---|---|---|", flush=True)
    for form in forms:
        test.precompile_headers(form)
        found = dict(zip(names, pool.map(lambda name: test.outcome(form, name), names)))
        same = sum(each.same for each in found.values())
        differing = {(name, kernel): how for name, each in found.items() for kernel, how in each.differing.items()}
        failed = {(name, kernel): why for name, each in found.items() for kernel, why in each.failed.items()}
        left_out = {name: each.not_built for name, each in found.items() if each.not_built}
        print(f"| {form} | {same + len(differing) + len(failed)} | {same} | {len(differing)} | {len(failed)} | "
              f"{len(left_out)} |", flush=True)
        for (name, kernel), how in differing.items():
            known = DIFFERS.get(name, {}).get(kernel) or DIFFERS_ELSEWHERE.get(name, {}).get(kernel)
            status = status if known else 1
            print(f"{form}: {name}: {kernel} differs: {known or 'NOT EXPLAINED'}: {how}", file=sys.stderr)
        for (name, kernel), why in failed.items():
            status = 1
            print(f"{form}: {name}: {kernel} is not compiled: {why}", file=sys.stderr)
        for name, why in left_out.items():
            known = re.search(NOT_BUILT, why)
            status = status if known else 1
            print(f"{form}: {name} is not built: {'' if known else 'NOT EXPLAINED: '}{why}", file=sys.stderr, flush=True)
    return status


def retarget(test, pool, form, names):
    status, others = 0, [other for other in PROCESSORS if other != form]
    test.precompile_headers(form)
    found = dict(zip(names, pool.map(lambda name: test.retargeted(form, name), names)))
    reasons = {}  # {reason: {processor: number of kernels}}
    print(f"| {form}'s for | kernels | compiled | refused |\n|---|---|---|---|")
    for processor in others:
        all_of = [(name, why) for name, each in found.items() for (other, _), why in each.refused.items()
                  if other == processor]
        refused = [(name, why) for name, why in all_of if why]
        print(f"| {processor} | {len(all_of)} | {len(all_of) - len(refused)} | {len(refused)} |")
        for name, why in refused:
            if not re.search(REFUSED.get(name, "(?!)"), why):
                status = 1
                print(f"{name}: NOT EXPLAINED: {why}", file=sys.stderr)
            counts = reasons.setdefault(re.split(rf"(?<=\b{processor}): ", why)[-1], dict.fromkeys(others, 0))
            counts[processor] += 1
    for name, each in found.items():
        for (processor, kernel), words in each.failed.items():
            status = 1
            print(f"{name}: {kernel} for {processor} has what is no instruction there: {words}", file=sys.stderr)
    print(f"\n| refused, since | {' | '.join(others)} |\n|---|{'---|' * len(others)}")
    for reason, counts in sorted(reasons.items()):
        print(f"| {reason} | {' | '.join(str(count or '') for count in counts.values())} |")
    return status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=".")
    parser.add_argument("--retarget", metavar="FORM")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    names = options.programs or sorted(source.stem for source in PROGRAMS.glob("*.hip"))[::options.sample]
    Forms.setUpClass()
    test = Forms("outcome")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        if options.retarget:
            status = retarget(test, pool, options.retarget, names)
        else:
            status = compare(test, pool, [form for form in FORMS if re.search(options.only, form)], names)
    Forms.doClassCleanups()
    return status


if __name__ == "__main__":
    sys.exit(main())
