#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares exports.list with a CUDA toolkit's headers: the functions that the driver's library exports, and the versions of
CUDA since which cuGetProcAddress gives them. --write writes the list. Without a toolkit the test is skipped."""

import collections
import os
import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).resolve().parent / "exports.list"
HEADER = """\
# The exports of CUDA 13.0's libcuda.so.1, one symbol a line, and the version of CUDA since which cuGetProcAddress gives it.
# Made by exports_test.py --write from a toolkit's headers.
"""
OTHERS = ["GL", "EGL", "VDPAU"]  # whose headers need more than the toolkit: they are read as text


def declared(include):
    """Every function, in all its versions."""
    command = ["clang++-19", "-E", "-x", "c++", "-D__CUDA_API_VERSION_INTERNAL", "-I", include, "-include", "cuda.h",
               "-include", "cudaProfiler.h", "/dev/null"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(", text))
    for other in OTHERS:
        text = (include / f"cuda{other}.h").read_text()
        names.update(re.findall(r"\bCUresult CUDAAPI (cu[A-Z]\w*)\s*\(", text))
        names.update(re.findall(r"^ *#define cu\w+ +(cu\w+_v\d)$", text, re.M))
        for suffix, name in re.findall(r"__CUDA_API_(PT[DS][SZ])\((cu\w+)\)", text):
            names.update([name, f"{name}_{suffix.lower()}"])
    return names


def versions(include):
    """By a function's name without its own version, and what it ends in for streams of a thread: in ascending order."""
    found = collections.defaultdict(set)
    for header in ["", "Profiler", *OTHERS]:
        text = (include / f"cuda{header}Typedefs.h").read_text()
        for name, version, suffix in re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)", text):
            found[name, suffix].add(int(version))
    return {name: sorted(numbers) for name, numbers in found.items()}


def lines(include):
    groups = collections.defaultdict(list)
    for name in declared(include):
        base, version, suffix = re.fullmatch(r"(cu\w+?)(_v\d)?(_pt[ds][sz])?", name).groups("")
        groups[base, suffix].append((version, name))
    since = versions(include)
    result = []
    for group, names in groups.items():
        known = since.get(group, [])
        if len(known) != len(names):
            raise AssertionError(f"{sorted(names)} in versions {known}")
        result += [f"{name} {version}" for (_, name), version in zip(sorted(names), known)]
    return sorted(line for line in result if not line.startswith("cuWGL"))  # Windows has that one


def main():
    include = pathlib.Path(os.environ.get("CUDA_PATH", "/usr/local/cuda")) / "include"
    if not (include / "cudaTypedefs.h").exists():
        print("the driver's list of exports was not compared: there is no CUDA toolkit")
        return 77
    wanted = HEADER + "".join(f"{line}\n" for line in lines(include))
    if sys.argv[1:] == ["--write"]:
        LIST.write_text(wanted)
    elif LIST.read_text() != wanted:
        have, want = set(LIST.read_text().splitlines()), set(wanted.splitlines())
        print(f"exports.list lacks {sorted(want - have)} and has {sorted(have - want)} too many")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
