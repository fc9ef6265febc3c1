#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-compile --target sm_…: what the options for assemblers do, with and without one. It needs no CUDA toolkit: one
with a ptxas of ours, or none, is put where toolkits are looked for first."""

import json
import pathlib
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import bundles  # noqa: E402
from support import TestCase, run, tool  # noqa: E402

SOURCE = """
__attribute__((nvptx_kernel)) void copy(int *to, const int *from) { to[__nvvm_read_ptx_sreg_tid_x()] = *from; }
"""
PTXAS = """#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 12.3, V12.3.45"; exit; fi
case "$*" in *maxrregcount=99*) /usr/bin/sleep 1234;; esac
echo "$@" >&2
exit 1
"""


class Assembler(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        bitcode = subprocess.run(["clang-19", "-x", "c", "--target=nvptx64-nvidia-cuda", "-march=sm_80", "-O1", "-c",
                                  "-emit-llvm", "-", "-o", "-"], input=SOURCE.encode(), capture_output=True, check=True)
        kernel = bundles.digest(bitcode.stdout)
        info = {"id": kernel, "name": "copy", "demangled": "copy", "target": "nvptx64-nvidia-cuda--sm_80", "wave_size": 32,
                "argument_bytes": 16, "arguments": [
                    {"offset": at, "size": 8, "kind": "pointer", "type": "ptr", "padding": []} for at in (0, 8)],
                "globals": [], "functions": [], "source": "", "bitcode": kernel}
        start = {"version": 1, "device": "cuda", "ranges": [], "memory": "packs", "provenance": []}
        cls.bundle = cls.folder / "kernel.tar"
        cls.bundle.write_bytes(bundles.write([
            ("bundle.json", bundles.compact(start)), (f"kernels/{kernel}/kernel.json", bundles.compact(info)),
            (f"kernels/{kernel}/kernel.bc", bitcode.stdout),
            ("summary.json", bundles.compact({"occurrences": [], "skipped": [], "application": "", "truncated": False}))]))
        cls.toolkit = cls.folder / "toolkit"
        for folder in ["nvvm/libdevice", "include", "bin"]:
            (cls.toolkit / folder).mkdir(parents=True)
        (cls.toolkit / "include/cuda.h").write_text("#define CUDA_VERSION 12030\n")
        cls.no_libraries = cls.folder / "no_libraries"
        cls.no_libraries.mkdir()
        for version in [12, 13]:  # the loader finds these, and gives up
            (cls.no_libraries / f"libnvJitLink.so.{version}").touch()

    def compile(self, *options, ptxas):
        program = self.toolkit / "bin/ptxas"
        program.unlink(missing_ok=True)
        if ptxas:
            program.write_text(PTXAS)
            program.chmod(stat.S_IRWXU)
        place = {"CUDA_PATH": str(self.toolkit), "PATH": str(self.no_libraries), "LD_LIBRARY_PATH": str(self.no_libraries)}
        return run([tool("compile"), "--target", "sm_90", *options, self.bundle], env=place)

    def variant(self, result):
        self.assertEqual(result.status, 0, result.text())
        members = bundles.read(result.out)
        [variant] = [bundles.parsed(member) for member in members if member.name.endswith("/variant.json")]
        self.assertTrue(any(member.name.endswith("/" + variant["code"]) for member in members))
        return variant

    def test_without_an_assembler_the_code_is_ptx(self):
        for options, ptxas in [([], False), (["--assembler", "none"], True)]:
            variant = self.variant(self.compile(*options, ptxas=ptxas))
            self.assertEqual(variant["code"], "code.ptx")
            for key in ["assembled_by", "resources"]:
                self.assertNotIn(key, variant)
            self.assertNotIn("assembler", variant["configuration"])

    def test_what_is_named_has_to_be_there(self):
        self.assert_refused(self.compile("--assembler", "ptxas", ptxas=False), 3, "no ptxas in a CUDA toolkit")
        self.assert_refused(self.compile("--assembler", "nvjitlink", ptxas=True), 3, "no libnvJitLink.so.13 or .12")

    def test_the_assembler_is_told_what_is_asked_for(self):
        for options, words in [([], "-O3 -v"), (["-O1"], "-O1 -v"), (["-O2", "--ptxas-level", "0"], "-O0 -v"),
                               (["--max-registers", "64"], "-maxrregcount=64 -O3")]:
            self.assert_refused(self.compile(*options, ptxas=True), 2,
                                f"'copy': ptxas 12.3.45 cannot assemble it for cuda:sm_90: -arch=sm_90 {words}.*--assembler none")

    def test_one_that_hangs_costs_one_variant(self):
        lines = [{"max_registers": 32}, {"max_registers": 99}, {"ptxas_level": 0}, {"codegen_opt": 1}, {"assembler": "none"}]
        file = self.folder / "variants.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        result = self.compile("--variants", file, "--compile-timeout", "5", ptxas=True)
        self.assertEqual(result.status, 0, result.text())
        variants = [bundles.parsed(member) for member in bundles.read(result.out) if member.name.endswith("/variant.json")]
        self.assertEqual([v["configuration"].get("ptxas_level") for v in variants], [3, 3, 0, 1, None])
        for variant, reason in zip(variants, ["-maxrregcount=32 -O3", "took longer than 5 s", "-O0 -v", "-O1 -v"]):
            self.assertRegex(variant["failed"], reason)
        self.assertEqual(variants[4]["code"], "code.ptx")

    def test_what_no_assembler_is_to_do_is_refused(self):
        for option, value in [("--ptxas-level", "2"), ("--max-registers", "64")]:
            self.assert_refused(self.compile(option, value, ptxas=False), 2, f"{option} is for an assembler.*there is none")
            self.assert_refused(self.compile(option, value, "--assembler", "none", ptxas=True), 2,
                                f"{option} is for an assembler.*asks for none")
            self.assert_refused(self.compile(option, value, "--target", "host:x86-64-v3", ptxas=True), 2,
                                f"{option} is for NVIDIA's GPUs")
        self.assert_refused(self.compile("--assembler", "ptxas", "--target", "host:x86-64-v3", ptxas=True), 2,
                            "--assembler ptxas is for NVIDIA's GPUs")

    def test_numbers_out_of_range(self):
        self.assert_refused(self.compile("--ptxas-level", "4", ptxas=True), 2, "a level from 0 to 3, not 4")
        for number in ["0", "15", "256"]:
            self.assert_refused(self.compile("--max-registers", number, ptxas=True), 2, f"from 16 to 255, not {number}")
        self.assert_refused(self.compile("--as-recorded", "--max-registers", "64", ptxas=True), 2, "--as-recorded and --max-registers exclude")


if __name__ == "__main__":
    unittest.main(verbosity=2)
