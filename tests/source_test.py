#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source of kernels: embedded, recorded, written out, edited, compiled, and taken out again."""

import json
import os
import re
import shutil
import sys
import tarfile
import time
import unittest

import bundles
from support import TestCase, run, tool

TOOLKIT = next((path for path in (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda")
                if path and os.path.exists(path)), None)

HEADER = """#pragma once
// the factor that everybody asks for
constexpr float kFactor = 3.0f;
"""

SOURCE = """#include <hip/hip_runtime.h>
#include <factor.h>
#include "beside.h"
// a remark of the source's author
__global__ void scale(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * kFactor + kOffset;
}
__global__ void shift(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1.0f;
}
int main() {
  float values[512], *data;
  for (int i = 0; i < 512; ++i) values[i] = i;
  if (hipMalloc(&data, sizeof values) || hipMemcpy(data, values, sizeof values, hipMemcpyHostToDevice)) return 1;
  scale<<<4, 128>>>(data, 512);
  shift<<<4, 128>>>(data, 512);
  return hipDeviceSynchronize();
}
"""


class Source(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.app = cls.folder / "app"
        (cls.app / "include").mkdir(parents=True)
        (cls.app / "include" / "factor.h").write_text(HEADER)
        (cls.app / "beside.h").write_text("constexpr float kOffset = 0.5f;\n")
        (cls.app / "kernels.hip").write_text(SOURCE)
        cls.plain = cls.compiled("plain")
        cls.program = cls.compiled("program", inject=["--embed-source"])
        cls.recording = cls.record(cls.program)

    @classmethod
    def compiled(cls, name, *flags, inject=(), env=None, source="kernels.hip"):
        command = [tool("inject"), *inject, "clang++-19", "-x", "hip", "--offload-arch=gfx90a", "-O2", "-Iinclude",
                   *flags, source, "-o", cls.folder / name]
        result = run(command, cwd=cls.app, env={**os.environ, **env} if env else None)
        if result.status:
            raise AssertionError(result.text())
        return cls.folder / name

    def kernels(self, file):
        """Of a bundle: kernel.json by the kernel's name."""
        found = {}
        with tarfile.open(file) as archive:
            for member in archive:
                if re.fullmatch(r"kernels/.*/kernel\.json", member.name):
                    kernel = json.load(archive.extractfile(member))
                    found[kernel["demangled"].split("(")[0]] = kernel
        return found

    def written(self, name, *options, file=None):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        self.run_well([tool("extract-ir"), "--source", folder, *options, file or self.recording])
        return folder

    def verdicts(self, *options, bundle=None):
        """By kernel, whether the variant compiled with these options verified."""
        result = run([tool("compile"), *options, bundle or self.recording], [tool("run")],
                     [tool("verify"), "--format", "json"])
        self.assertEqual(result.statuses[:2], [0, 0], result.text())
        runs = [json.loads(line) for line in result.out.decode().splitlines()]
        names = {kernel["id"]: name for name, kernel in self.kernels(bundle or self.recording).items()}
        return {names[line["kernel"]]: line["status"] for line in runs}

    def test_ids_do_not_change(self):
        ids = [run([tool("extract-ir"), "--list", file]).out for file in (self.plain, self.program)]
        self.assertEqual(ids[0], ids[1])

    def test_the_command_is_always_there(self):
        kernels = self.kernels(self.record(self.plain, name="plain.tar"))
        for kernel in kernels.values():
            self.assertEqual(kernel["command"], [str(self.app), "clang++-19", "--offload-arch=gfx90a", "-O2", "-Iinclude",
                                                 "-x", "hip", "kernels.hip"])
            self.assertNotIn("source_text", kernel)

    def test_builds_in_two_folders_are_the_same(self):
        made = []
        for place in ("one", "two"):
            folder = self.folder / place
            shutil.copytree(self.app, folder)
            self.run_well([tool("inject"), "--embed-source", "clang++-19", "-x", "hip", "--offload-arch=gfx90a", "-O2", "-c",
                           "-fuse-cuid=none", f"-ffile-prefix-map={folder}=.", f"-I{folder}/include", "kernels.hip", "-o", "kernels.o"],
                          cwd=folder)
            made.append((folder / "kernels.o").read_bytes())
        self.assertEqual(made[0], made[1])
        self.assertNotIn(bytes(self.folder), made[0])
        written = self.written("mapped", file=self.folder / "one" / "kernels.o")
        self.assertEqual((written / "kernels.hip").read_text(), SOURCE)
        shutil.rmtree(self.folder / "one")
        verdicts = self.verdicts("--source", written / "kernels.hip",
                                 bundle=self.record(self.compiled("mapped.program", f"-ffile-prefix-map={self.app}=."),
                                                    name="mapped.tar"))
        self.assertEqual(verdicts, {"scale": "verified", "shift": "verified"})

    def test_bundle_says_that_it_has_source(self):
        with tarfile.open(self.recording) as archive:
            self.assertIs(json.load(archive.extractfile("bundle.json"))["has_source"], True)
            stored = [name for name in archive.getnames() if name.startswith("code/")]
        self.assertEqual(len(stored), 1, "once, for two kernels")
        texts = {kernel["source_text"] for kernel in self.kernels(self.recording).values()}
        self.assertEqual({f"code/{text}" for text in texts}, set(stored))
        plain = self.record(self.plain, name="no_source.tar")
        with tarfile.open(plain) as archive:
            self.assertNotIn("has_source", json.load(archive.extractfile("bundle.json")))
        by_variable = self.compiled("by_variable", env={"MNEME_EMBED_SOURCE": "1"})
        self.assertEqual(by_variable.read_bytes().count(b"source_text"), 2)

    def test_source_behind_a_kernel_without_is_left_out(self):
        (self.app / "first.hip").write_text("""#include <hip/hip_runtime.h>
__global__ void first(float* data) { data[threadIdx.x] = 1.0f; }
int second();
int main() {
  float* data;
  if (hipMalloc(&data, 512)) return 1;
  first<<<1, 128>>>(data);
  return hipDeviceSynchronize() || second();
}
""")
        (self.app / "second.hip").write_text(SOURCE.replace("int main", "int second"))
        objects = [self.compiled("first.o", "-c", source="first.hip"),
                   self.compiled("second.o", "-c", source="second.hip", inject=["--embed-source"])]
        program = self.folder / "two_files"
        self.run_well([tool("inject"), "clang++-19", "--hip-link", "--offload-arch=gfx90a", *objects, "-o", program])
        bundle = self.folder / "two_files.tar"
        result = run([tool("capture"), "--device", "host", "-o", bundle, program])
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual(result.error.count("the source of a kernel is left out: the bundle began with a kernel that has none"), 1,
                         result.text())
        with tarfile.open(bundle) as archive:
            self.assertNotIn("has_source", json.load(archive.extractfile("bundle.json")))
            self.assertFalse([name for name in archive.getnames() if name.startswith("code/")])
        self.assertEqual({"source_text" in kernel for kernel in self.kernels(bundle).values()}, {False})
        self.assertNotIn(b"kFactor", bundle.read_bytes())
        # Launched the other way round, what there is stays.
        result = run([tool("extract-ir"), "--source", self.folder / "of_two", program])
        self.assert_refused(result, 2, "kernel 'first.*' has no source")
        self.written("of_two", "--kernel", "scale", file=program)

    def test_standard_input_has_no_source(self):
        program = self.folder / "standard_input.o"
        self.run_well([tool("inject"), "--embed-source", "clang++-19", "-x", "hip", "--offload-arch=gfx90a", "-O2", "-Iinclude",
                       "-I.", "-c", "-", "-o", program], cwd=self.app, input=SOURCE.encode())
        self.assertNotIn(b"source_text", program.read_bytes())

    def test_source_is_written(self):
        for file in (self.recording, self.program):
            folder = self.written("written", file=file)
            self.assertEqual((folder / "kernels.hip").read_text(), SOURCE)
            overlay = {entry["name"]: entry["external-contents"]
                       for entry in json.loads((folder / "overlay.json").read_text())["roots"]}
            self.assertEqual((folder / overlay[str(self.app / "include" / "factor.h")]).read_text(), HEADER)
            self.assertIn(str(self.app / "beside.h"), overlay)
            self.assertRegex((folder / "command").read_text(), f"^cd {self.app} && clang")
        result = run([tool("extract-ir"), "--source", self.folder / "written", self.recording])
        self.assert_refused(result, 2, "is there already: name a new folder")
        result = run([tool("extract-ir"), "--source", self.folder / "none", self.plain])
        self.assert_refused(result, 2, "has no source: build the application with mneme-inject --embed-source; it was "
                            "compiled by: cd .* && clang\\+\\+-19 ")
        result = run([tool("extract-ir"), "--source", self.folder / "none", "-S", self.program])
        self.assert_refused(result, 2, "--source excludes --list, -S and -o")

    def test_edit_compile_validate(self):
        file = self.written("edited") / "kernels.hip"
        headers = self.folder / "edited" / "headers"
        hidden = self.app.rename(self.folder / "elsewhere")  # nothing but what was written is needed
        try:
            self.assertEqual(self.verdicts("--source", file), {"scale": "verified", "shift": "verified"})
            file.write_text(SOURCE.replace("data[i] * kFactor + kOffset", "kOffset + kFactor * data[i]"))
            self.assertEqual(self.verdicts("--source", file), {"scale": "verified", "shift": "verified"})
            file.write_text(SOURCE.replace("+ kOffset", "- kOffset"))
            self.assertEqual(self.verdicts("--source", file), {"scale": "not verified", "shift": "verified"})
            file.write_text(SOURCE)
            header = next(headers.glob("*-factor.h"))
            header.write_text(HEADER.replace("3.0f", "4.0f"))
            self.assertEqual(self.verdicts("--source", file, "--kernel", "scale"), {"scale": "not verified"})
        finally:
            hidden.rename(self.app)

    def test_unedited_source_is_the_recorded_kernel(self):
        file = self.written("unedited") / "kernels.hip"
        compiled = self.folder / "unedited.tar"
        self.run_well([tool("compile"), "--source", file, "-o", compiled, self.recording])
        with tarfile.open(compiled) as archive:
            variants = [json.load(archive.extractfile(m)) for m in archive if m.name.endswith("variant.json")]
        bitcode = {kernel["id"]: kernel["bitcode"] for kernel in self.kernels(self.recording).values()}
        self.assertEqual({v["kernel"]: v["configuration"]["ir"] for v in variants}, bitcode)

    def test_what_is_wrong_with_a_source(self):
        folder = self.written("wrong")
        file = folder / "kernels.hip"

        def refused(text, pattern, *options, status=2):
            file.write_text(text)
            return self.assert_refused(run([tool("compile"), "--source", file, "--kernel", "scale", *options,
                                            self.recording]), status, pattern)

        refused(SOURCE.replace("scale(float* data, int n)", "scale(float* data, int n, int more)")
                .replace("(data, 512)", "(data, 512, 1)", 1),
                r"kernel 'scale\(float\*, int\)' takes other arguments in '.*', as 'scale\(float\*, int, int\)'")
        refused(SOURCE.replace("scale", "other"), r"has no kernel 'scale\(float\*, int\)', only 'other.*', 'shift.*'")
        refused("", "has no kernel")
        refused(SOURCE.replace("factor.h", "gone.h"), "needs the header 'gone.h', which is not on this machine")
        refused(SOURCE.replace("int i =", "in i ="), "is not compiled: .*kernels.hip:6:3: error: unknown type name 'in'")
        file.write_text(SOURCE.replace("__global__ void shift", "__global__ void lift").replace("shift<<<", "lift<<<"))
        result = run([tool("compile"), "--source", file, self.recording])
        self.assertEqual(result.status, 0, result.text())
        self.assertRegex(result.error, r"warning: '.*' has no kernel 'shift\(float\*, int\)', only .*; it gets no variant")
        result = run([tool("compile"), "--source", folder / "none.hip", self.recording])
        self.assert_refused(result, 2, "none.hip' is not there")
        result = run([tool("compile"), "--source", file, "--ir", file, self.recording])
        self.assert_refused(result, 2, "--ir and --source exclude each other")
        result = run([tool("compile"), "--compiler", "clang++-19", self.recording])
        self.assert_refused(result, 2, "are for --source")

    def with_command(self, change):
        """The recording with other commands."""
        members = bundles.read(self.recording.read_bytes())
        changed = []
        for member in members:
            if member.name.endswith("kernel.json"):
                kernel = bundles.parsed(member)
                kernel["command"] = change(kernel["command"])
                member = bundles.Member(member.name, bundles.compact(kernel))
            changed.append(member)
        path = self.folder / "changed.tar"
        path.write_bytes(bundles.write(changed))
        return path

    def test_a_strangers_command(self):
        file = self.written("stranger") / "kernels.hip"
        evil = self.folder / "evil"
        evil.write_text(f"#!/bin/sh\ntouch {self.folder}/ran\n")
        evil.chmod(0o755)

        def refused(change, pattern, status=2):
            result = run([tool("compile"), "--source", file, self.with_command(change)])
            self.assert_refused(result, status, pattern)
            self.assertFalse((self.folder / "ran").exists())

        refused(lambda c: [c[0], str(evil), *c[2:]], "which is no clang by its name: give --compiler PATH")
        refused(lambda c: [c[0], "/nowhere/clang-99.9", *c[2:]], "'clang-99.9' of kernel .* is not found: give --compiler", 3)
        for option in ("-fplugin=x.so", "-fpass-plugin=x.so", "-load", "--config=x.cfg", "@words", "-B/x", "-ccc-install-dir"):
            refused(lambda c, option=option: [*c[:2], option, *c[2:]], f"has '{re.escape(option)}', by which other code runs")
        # A path to a clang is that of another machine.
        bundle = self.with_command(lambda c: [c[0], "/nowhere/bin/clang++-19", *c[2:]])
        self.run_well([tool("compile"), "--source", file, "-o", "/dev/null", bundle])
        # What it writes, it cannot.
        bundle = self.with_command(lambda c: [*c[:2], "-Xclang", "-dependency-file", "-Xclang", f"{self.folder}/ran", "-Xclang",
                                              "-MT", "-Xclang", "x", *c[2:]])
        run([tool("compile"), "--source", file, "-o", "/dev/null", bundle])
        self.assertFalse((self.folder / "ran").exists())
        # Trust is the user's decision.
        bundle = self.with_command(lambda c: [*c[:2], "-fplugin=/nowhere.so", *c[2:]])
        result = run([tool("compile"), "--source", file, "--allow-plugins", bundle])
        self.assert_refused(result, 2, "is not compiled")

    def test_ir_of_a_file_that_was_built_anew(self):
        (self.app / "changed.hip").write_text(SOURCE.replace("+ kOffset", "- kOffset"))
        program = self.compiled("changed", source="changed.hip")
        self.assertEqual(self.verdicts("--from", program), {"scale": "not verified", "shift": "verified"})
        self.assertEqual(self.verdicts("--from", self.program), {"scale": "verified", "shift": "verified"})
        variants = self.folder / "lines.jsonl"
        variants.write_text('{"passes":"default<O1>"}\n{"passes":"default<O3>","ir":""}\n')
        compiled = self.folder / "lines.tar"
        self.run_well([tool("compile"), "--from", program, "--kernel", "scale", "--variants", variants, "-o", compiled,
                       self.recording])
        with tarfile.open(compiled) as archive:
            irs = [json.load(archive.extractfile(m))["configuration"]["ir"] for m in archive
                   if m.name.endswith("variant.json")]
        self.assertEqual([bool(ir) for ir in irs], [True, False])
        result = run([tool("compile"), "--from", self.app / "kernels.hip", self.recording])
        self.assert_refused(result, 2, "is no executable, object file or library")
        (self.app / "longer.hip").write_text(SOURCE.replace("int n", "long n"))
        result = run([tool("compile"), "--from", self.compiled("longer", source="longer.hip"), self.recording])
        self.assert_refused(result, 2, r"takes other arguments in '.*', as 'scale\(float\*, long\)'")

    def test_relocatable_code_has_it(self):
        (self.app / "main.hip").write_text(SOURCE)
        program = self.compiled("rdc", "-fgpu-rdc", "--hip-link", inject=["--embed-source"])
        plain = self.compiled("rdc.plain", "-fgpu-rdc", "--hip-link")
        self.assertEqual(run([tool("extract-ir"), "--list", program]).out, run([tool("extract-ir"), "--list", plain]).out)
        file = self.written("rdc.source", file=program) / "kernels.hip"
        self.assertEqual(self.verdicts("--source", file, bundle=self.record(plain, name="rdc.tar")),
                         {"scale": "verified", "shift": "verified"})

    @unittest.skipUnless(TOOLKIT, "there is no CUDA toolkit")
    def test_cuda(self):
        (self.app / "kernels.cu").write_text(re.sub(r"hip(Malloc|Memcpy|MemcpyHostToDevice|DeviceSynchronize)", r"cuda\1", SOURCE)
                                             .replace("hip/hip_runtime.h", "cstdio"))
        for name, *flags in (("cuda",), ("cuda.rdc", "-fgpu-rdc", "--offload-new-driver")):
            program = self.folder / name
            self.run_well([tool("inject"), "--embed-source", "clang++-19", "--offload-arch=sm_90", "-O2", "-Iinclude", *flags,
                           "kernels.cu", "-o", program], cwd=self.app)
            file = self.written(f"{name}.source", file=program) / "kernels.cu"
            self.assertEqual(file.read_text(), (self.app / "kernels.cu").read_text())
            recording = self.record(program, name=f"{name}.tar")
            self.assertEqual(self.verdicts("--source", file, bundle=recording), {"scale": "verified", "shift": "verified"})
            file.write_text(file.read_text().replace("+ kOffset", "- kOffset"))
            self.assertEqual(self.verdicts("--source", file, bundle=recording), {"scale": "not verified", "shift": "verified"})

    def test_source_is_taken_out(self):
        stripped = self.folder / "stripped.tar"
        self.run_well([tool("restore"), "--strip", "source", "-o", stripped, self.recording])
        raw = stripped.read_bytes()
        for text in (b"a remark of the source", b"kFactor", b"-Iinclude", b"clang++-19", b"source_text", b"has_source", b"code/"):
            self.assertNotIn(text, raw)
        self.assertEqual(run([tool("extract-ir"), "--list", stripped]).out, run([tool("extract-ir"), "--list", self.recording]).out)
        self.assertEqual(self.verdicts(bundle=stripped), {"scale": "verified", "shift": "verified"})
        merged = self.folder / "merged.tar"
        self.run_well([tool("restore"), "-o", merged, stripped, self.recording])
        with tarfile.open(merged) as archive:
            self.assertIs(json.load(archive.extractfile("bundle.json"))["has_source"], True)
        restored = self.folder / "restored.tar"
        self.run_well([tool("restore"), "-o", restored, self.recording])
        self.assertEqual(self.kernels(restored), self.kernels(self.recording))

    def test_damaged_bundles(self):
        members = bundles.read(self.recording.read_bytes())
        path = self.folder / "damaged.tar"
        path.write_bytes(bundles.write([m for m in members if not m.name.startswith("code/")]))
        self.assert_refused(run([tool("compile"), path]), 2, "its source did not come before it")
        result = run([tool("extract-ir"), "--source", self.folder / "none", self.with_command(lambda c: c[:2])])
        self.assert_refused(result, 2, "'command' has no directory, compiler and file")
        damaged = []
        digest = bundles.digest(b"no frame")
        for member in members:
            if member.name.startswith("code/"):
                member = bundles.Member(f"code/{digest}", b"no frame")
            elif member.name.endswith("kernel.json"):
                member = bundles.Member(member.name, bundles.compact({**bundles.parsed(member), "source_text": digest}))
            damaged.append(member)
        path.write_bytes(bundles.write(damaged))
        self.assert_refused(run([tool("extract-ir"), "--source", self.folder / "none", path]), 2, "its source is no zstd frame")

    @unittest.skipUnless(os.environ.get("MNEME_TIMES"), "an idle machine is needed: set MNEME_TIMES")
    def test_takes_less_than_two_seconds(self):
        file = self.written("times") / "kernels.hip"
        begin = time.monotonic()
        self.verdicts("--source", file, "--kernel", "scale")
        self.assertLess(time.monotonic() - begin, 2)


if __name__ == "__main__":
    unittest.main()
