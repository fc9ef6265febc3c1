#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same as amdgpu_identity_test.py asks for gfx90a, for AMD's other processors and forms of their code: test programs
are built for each, recorded on the host device and compiled for it at the application's level, and kernel for kernel the
code is compared with the application's own. Prints a table of how many are the same, and which are not.

    amdgpu_processors.py [--only REGEX] [--sample N] [PROGRAM…]     forms whose name matches; each Nth program

All of it takes hours; `make amd-identity` does that. docs/amd_gpus.md has what came of it.

Exit status: 0 if no kernel differs but those that amdgpu_identity_test.py explains.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import sys

from amdgpu_identity_test import DIFFERS, MOST_REGISTERS, Identity
from code_objects import CodeObject, in_program
from support import PROGRAMS, run, tool

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


class Outcome:
    """What came of one program in one form."""

    def __init__(self):
        self.same, self.differing, self.not_built, self.failed = 0, {}, None, {}


class Forms(Identity):
    def outcome(self, form, name):
        found, processor = Outcome(), form.split()[0]
        program = self.folder / re.sub(r"\W", "_", f"{name} {form}")
        built = run([tool("inject"), "clang++-19", "-x", "hip", f"--offload-arch={processor}", "-O3", *FORMS[form],
                     PROGRAMS / f"{name}.hip", "-o", program])
        if built.status:
            said = [line for line in built.error.splitlines() if "error" in line]
            found.not_built = (said or ["?"])[0]
            return found
        recording = program.with_suffix(".tar")
        try:
            recorded = run([tool("capture"), "--device", "host", "-o", recording, program], timeout=120)
        except AssertionError:
            found.not_built = "still running after 120 s"
            return found
        if recorded.status:
            found.not_built = next(iter(line for line in recorded.error.splitlines() if "mneme-capture" in line), "?")
        else:
            self.compared(found, name, program, recording, processor)
        program.unlink()
        recording.unlink(missing_ok=True)
        return found

    def compared(self, found, name, program, recording, processor):
        variants = self.compiled(program.name, recording, [{"target": processor, "passes": "default<O3>"}])
        own = in_program(program)
        for (kernel, _), (_, variant) in variants.items():
            if "failed" in variant:
                found.failed[kernel] = variant["failed"]
                continue
            theirs = [[each.form(), *each.listing(kernel)] for each in own if kernel in each.kernels()]
            mine = CodeObject(variant["bytes"])
            mine = [mine.form(), *mine.listing(kernel)]
            if mine in theirs:
                found.same += 1
            elif theirs:
                pairs = zip([*theirs[0], "(end)"], [*mine, "(end)"])
                found.differing[kernel] = " <> ".join(next(pair for pair in pairs if pair[0] != pair[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=".")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    names = options.programs or sorted(source.stem for source in PROGRAMS.glob("*.hip"))[::options.sample]
    Forms.setUpClass()
    test, status = Forms("outcome"), 0
    print("| processor | kernels | the same | not the same | not compiled | programs not built or not recorded |")
    print("|---|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for form in [form for form in FORMS if re.search(options.only, form)]:
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
                print(f"{form}: {name}: {why}", file=sys.stderr, flush=True)
    Forms.doClassCleanups()
    return status


if __name__ == "__main__":
    sys.exit(main())
