#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On a machine with an NVIDIA GPU, or a fake of one: variants in place of kernels (mneme-capture --apply), by every way to
launch one.

    applied_check.py [--tools BIN] FOLDER    a line for each way; exit status 0 if all is as it should be

FOLDER has `applied` (tests/fake_cuda/programs/applied.cu), `same.cubin`, and two bundles: `same.tar` chooses the
application's own code, `more.tar` code that adds one more. tests/gpu/cuda_bundle.py makes them with a CUDA toolkit.
"""

import argparse
import json
import pathlib
import subprocess
import sys

LAUNCHED = ["kernel 11", "extended 22", "cooperative attribute 33", "cooperative 44"]
DRIVER = [f"{name} {value}" for name, value in zip(["list", "packed", "clusters", "cooperative"] * 2, range(11, 99, 11))]
SCALED = ["scaled 1001", "scaled 4003", "scaled 15010"]
# What the application does; what it writes with more.tar, and how many launches are of the variant.
WAYS = [
    (["runtime"], [*LAUNCHED, "clusters 55"], 5),
    (["by-thread"], LAUNCHED, 4),
    (["contexts", "same.cubin"], DRIVER * 3, 24),
    (["variables"], SCALED, 3),
    (["written"], ["counted 3"], 0),
    (["captured"], ["captured 11", "captured 22", "updated 122"], 2),
    (["built"], ["built 33", "built 66", "changed 188"], 8),
    (["reset"], ["repeated 22", *SCALED] * 2, 10),
    (["fork"], ["repeated 22", "repeated 33"], 5),
]
CHECKED = [["repeated", "5"], ["captured"], ["built"], ["contexts", "same.cubin"]]


class Folder:
    def __init__(self, folder, tools):
        self.folder, self.tools = folder, tools

    def run(self, *command):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, cwd=self.folder)

    def own(self, arguments):
        result = self.run("./applied", *arguments)
        return result.stdout.splitlines() if result.returncode == 0 else None

    def apply(self, bundle, arguments, *options):
        """Exit status, lines, and the report; and what was said."""
        (self.folder / "report.json").unlink(missing_ok=True)
        result = self.run(self.tools / "mneme-capture", "--device", "cuda", "--apply", bundle, "--report", "report.json",
                          *options, "./applied", *arguments)
        report = self.folder / "report.json"
        report = json.loads(report.read_text()) if report.exists() else {"applied": None, "choices": []}
        return result.returncode, result.stdout.splitlines(), report, result.stderr

    def checks(self):
        """What is tried, what came of it, what should have, and what was said."""
        for arguments, expected, applied in WAYS:
            own = self.own(arguments)
            status, lines, report, said = self.apply("more.tar", arguments)
            yield f"{arguments[0]}", (status, lines, report["applied"]), (0, expected, applied), said
            status, lines, report, said = self.apply("same.tar", arguments)
            yield f"{arguments[0]}, the same code", (status, lines, report["applied"]), (0, own, applied), said
        for arguments in CHECKED:
            own = self.own(arguments)
            for bundle, differs in (("same.tar", 0), ("more.tar", 1)):
                status, lines, report, said = self.apply(bundle, arguments, "--check", "1")
                yield f"{arguments[0]}, {bundle} checked", (status, lines), (differs, own), said
        status, lines, report, said = self.apply("more.tar", ["repeated", "40"], "--measure")
        found = [(one["applied"], one["own"], one["rounds"]) for one in report["choices"] if one["applied"]]
        yield "repeated, measured", (status, lines, found), (0, ["repeated 420"], [(20, 20, 20)]), said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    options = parser.parse_args()
    right = []
    for name, found, expected, said in Folder(options.folder.resolve(), options.tools.resolve()).checks():
        right.append(found == expected)
        print(("ok   " if right[-1] else "FAIL ") + name, flush=True)
        if not right[-1]:
            print(f"       found    {found}\n       expected {expected}\n       {said[-1500:]}", flush=True)
    print(f"{sum(right)} of {len(right)}")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
