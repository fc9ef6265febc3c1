#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function that HIP's headers declare for the device is called by a kernel of a test program, or stands in
untested.list with the reason why not. (Arithmetic rounded up, down or to zero is declared when a macro asks for it;
the device library of ROCm 5.2 does not define it.)"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
COMPILE = ["clang++-19", "-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-std=c++17", "-w",
           "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"]
INCLUDES = ["hip_runtime", "hip_fp16", "hip_bfloat16", "hip_complex", "hip_cooperative_groups"]
# What the compiler's and HIP's headers declare for each other's use.
INTERNAL = re.compile(r"__(ocml|ockl|llvm|clang|builtin|cxa)_")
# Words of the language, and types, where a name is looked for.
NO_NAMES = {"operator", "decltype", "sizeof", "__attribute", "R", "T"}
# Programs that together call every function that any does.
PROGRAMS = ["math/accuracy.hip"] + [f"programs/{name}.hip" for name in """
    assert_holds atomic_types barrier_count bfloat16 bit_functions clock_rates complex_numbers conversions
    cooperative_groups device_heap half_operators half_pairs host_atomics lane_functions launch_intrinsics math_exact
    multi_grid shuffle_forms surfaces texture_formats texture_levels texture_volumes vector_types
    wave_shuffles""".split()]


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def declared():
    """Names by header."""
    source = "".join(f"#include <hip/{name}.h>\n" for name in INCLUDES)
    lines = {}
    header = None
    for line in output(*COMPILE, "-E", "-", input=source).splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            header = marker.group(1)
        elif "/include/hip/" in header or "__clang_hip" in header:
            lines.setdefault(pathlib.Path(header).name, []).append(line)
    names = {}
    for header, text in lines.items():
        # After the attribute: the first name before a parenthesis, within the declaration.
        for part in " ".join(text).split("__attribute__((device))")[1:]:
            part = re.sub(r"__attribute__\s*\(\(.*?\)\)+", " ", part)
            found = re.match(r"[^;{}]*?\b([A-Za-z_]\w*)\s*\(", part)
            if found and not INTERNAL.match(found[1]) and found[1] not in NO_NAMES:
                names.setdefault(header, set()).add(found[1])
    return names


def called(program):
    """Names, without types and scopes, of the functions that a program's device code calls."""
    ir = output(*COMPILE, "-O0", "-Xclang", "-disable-llvm-passes", "-nogpulib", "-emit-llvm", "-S", "-o", "-",
                str(TESTS / program))
    symbols = re.findall(r'^(?:define|declare) [^@]*@"?([\w.$]+)', ir, re.MULTILINE)
    names = set()
    for name in output("llvm-cxxfilt-19", "--no-params", *symbols).splitlines():
        while True:  # template arguments
            shorter = re.sub(r"<[^<>]*>", "", name)
            if shorter == name:
                break
            name = shorter
        names.add(re.search(r"(\w*)\W*$", name)[1])
    return names


def reasons():
    """Regular expressions with their reasons, in order."""
    lines = (pathlib.Path(__file__).resolve().parent / "untested.list").read_text().splitlines()
    return [line.split(" ", 1) for line in lines if line and not line.startswith("#")]


class Declared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.declared = declared()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            cls.called = set().union(*pool.map(called, PROGRAMS))

    def test_there_are_such_functions(self):
        names = set().union(*self.declared.values())
        self.assertGreater(len(names), 600)
        for name in ["acosf", "__fadd_rn", "__hadd2", "__shfl_xor", "atomicAdd", "tex2D", "__syncthreads"]:
            self.assertIn(name, names)
            self.assertIn(name, self.called)

    def test_each_is_called_or_has_a_reason(self):
        excused = [re.compile(expression) for expression, _ in reasons()]
        for header, names in sorted(self.declared.items()):
            missing = sorted(name for name in names - self.called
                             if not any(expression.fullmatch(name) for expression in excused))
            with self.subTest(header):
                self.assertEqual(missing, [])

    def test_reasons_are_needed(self):
        uncalled = set().union(*self.declared.values()) - self.called
        for expression, reason in reasons():
            with self.subTest(expression):
                self.assertTrue(reason)
                self.assertTrue(any(re.fullmatch(expression, name) for name in uncalled))


if __name__ == "__main__":
    unittest.main()
