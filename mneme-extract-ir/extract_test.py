#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-extract-ir gives the IR in executables and bundles, and says clearly why it cannot."""

import json
import os
import pathlib
import pty
import struct
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["MNEME_BUILD"])
INJECT = BUILD / "bin" / "mneme-inject"
EXTRACT = BUILD / "bin" / "mneme-extract-ir"

PROGRAM = """
#include <hip/hip_runtime.h>
namespace space { template <class T, int N> __global__ void scale(T* data) { data[0] *= N; } }
__global__ void fill(float* data, float value) { data[threadIdx.x] = value; }
int main() { fill<<<1, 1>>>(nullptr, 1.0f); space::scale<float, 3><<<1, 1>>>(nullptr); }
"""


def record(path):
    """The json and the bitcode of each kernel embedded in a file."""
    contents, found, at = path.read_bytes(), [], 0
    while (at := contents.find(b"MNEMEIR1", at)) >= 0:
        size, bitcode = struct.unpack_from("<QQ", contents, at + 8)
        found.append((contents[at + 24:at + 24 + size], contents[at + 24 + size:at + 24 + size + bitcode]))
        at += 24 + size + bitcode
    return found


def bundle_of(*arguments, code=b""):
    """A bundle of the kernels in a device code object, or of one kernel with a name and bitcode given."""
    return subprocess.run([BUILD / "tests" / "kernel_bundle", *arguments], input=code, capture_output=True,
                          check=True).stdout


class Extract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mneme-extract-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "app.hip").write_text(PROGRAM)
        subprocess.run([INJECT, "clang++-19", "-O2", "--offload-arch=gfx90a", "--offload-arch=gfx906", "app.hip", "-o",
                        "app"], cwd=cls.folder, check=True)
        subprocess.run([INJECT, "clang++-19", "-O2", "--offload-arch=gfx90a", "app.hip", "-o", "single"], cwd=cls.folder,
                       check=True)
        subprocess.run([INJECT, "clang++-19", "-O2", "--offload-arch=gfx90a", "--cuda-device-only",
                        "--no-gpu-bundle-output", "app.hip", "-o", "single.co"], cwd=cls.folder, check=True)
        cls.kernels = record(cls.folder / "single")
        cls.bundle = bundle_of(code=(cls.folder / "single.co").read_bytes())

    def extract(self, *arguments, input=b"", status=0, **how):
        result = subprocess.run([EXTRACT, *arguments], input=input, capture_output=True, cwd=self.folder, **how)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return result

    def refused(self, sentence, *arguments, status=2, **how):
        result = self.extract(*arguments, status=status, **how)
        self.assertEqual(result.stdout, b"")
        self.assertRegex(result.stderr.decode(), f"^mneme-extract-ir: error: .*{sentence}")

    def bitcode(self, name):
        return next(code for text, code in self.kernels if json.loads(text)["demangled"].startswith(name))

    # ---- executables ---------------------------------------------------------------------------

    def test_list(self):
        lines = [line.split("\t") for line in self.extract("--list", "app").stdout.decode().splitlines()]
        self.assertEqual(sorted((name, target) for _, name, _, target in lines), [
            ("fill(float*, float)", "amdgcn-amd-amdhsa--gfx906"), ("fill(float*, float)", "amdgcn-amd-amdhsa--gfx90a"),
            ("void space::scale<float, 3>(float*)", "amdgcn-amd-amdhsa--gfx906"),
            ("void space::scale<float, 3>(float*)", "amdgcn-amd-amdhsa--gfx90a")])
        expected = {json.loads(text)["id"]: str(len(code)) for text, code in self.kernels}
        self.assertEqual({digest: size for digest, _, size, target in lines if target.endswith("90a")}, expected)

    def test_bitcode(self):
        for arguments in (["single"], []):  # by name, and from standard input, a file and a pipe
            contents = b"" if arguments else (self.folder / "single").read_bytes()
            out = self.extract("--kernel", "^fill", *arguments, input=contents).stdout
            self.assertEqual(out, self.bitcode("fill"))
        with open(self.folder / "single") as file:
            out = subprocess.run([EXTRACT, "--kernel", "^fill"], stdin=file, capture_output=True, check=True).stdout
        self.assertEqual(out, self.bitcode("fill"))

    def test_text(self):
        text = self.extract("-S", "--kernel", "fill", "--target", "gfx906", "app").stdout
        self.assertIn(b"define protected amdgpu_kernel void @_Z4fillPff", text)
        self.assertIn(b'"target-cpu"="gfx906"', text)
        subprocess.run(["llvm-as-19", "-o", "/dev/null"], input=text, check=True)

    def test_files(self):
        self.extract("--kernel", "fill", "single", "-o", "one.bc")
        self.assertEqual((self.folder / "one.bc").read_bytes(), self.bitcode("fill"))
        self.extract("single", "-o", "new/")
        names = sorted(path.name for path in (self.folder / "new").iterdir())
        self.assertRegex(" ".join(names), r"^fill-[0-9a-f]{12}\.bc space_scale_float_3-[0-9a-f]{12}\.bc$")
        self.extract("single", "-S", "-o", "new")  # it exists by now
        self.assertEqual(len(list((self.folder / "new").glob("*.ll"))), 2)

    def test_object_files_and_libraries(self):
        for kind in (["-c"], ["-shared", "-fPIC"], ["--cuda-device-only"],
                     ["--cuda-device-only", "--no-gpu-bundle-output"]):
            subprocess.run([INJECT, "clang++-19", "-O2", "--offload-arch=gfx90a", *kind, "app.hip", "-o", "other"],
                           cwd=self.folder, check=True)
            self.assertEqual(self.extract("--list", "other").stdout.count(b"\n"), 2, kind)

    # ---- bundles -------------------------------------------------------------------------------

    def test_static_libraries(self):
        other = PROGRAM[:PROGRAM.index("int main")].replace("fill", "clear")
        (self.folder / "other.hip").write_text(other)
        for source in ("app", "other"):
            subprocess.run([INJECT, "clang++-19", "-O2", "--offload-arch=gfx90a", "-c", f"{source}.hip", "-o", f"{source}.o"],
                           cwd=self.folder, check=True)
        (self.folder / "text.o").write_text("no object")
        for kind in ("", "T"):
            archive = f"lib{kind}.a"
            subprocess.run(["ar", f"qc{kind}", archive, "app.o", "text.o", "other.o"], cwd=self.folder, check=True)
            listed = self.extract("--list", archive).stdout.decode().splitlines()
            self.assertEqual(sorted(line.split("\t")[1].split("(")[0] for line in listed),
                             ["clear", "fill", "void space::scale<float, 3>"])
        damaged = self.folder / "damaged.a"
        damaged.write_bytes((self.folder / "lib.a").read_bytes()[:3000])
        self.assertRegex(self.extract("--list", damaged, status=2).stderr.decode(), "damaged.a")

    def test_device_code_without_kernels(self):
        (self.folder / "none.hip").write_text("#include <hip/hip_runtime.h>\n__device__ int variable = 3;\n")
        for command in ([INJECT, "clang++-19"],
                        ["clang++-19", "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"]):
            subprocess.run([*command, "-O2", "--offload-arch=gfx90a", "-c", "none.hip", "-o", "none.o"], cwd=self.folder,
                           check=True)
            self.assertIn("'none.o' has device code, and no kernels in it", self.extract("none.o", status=2).stderr.decode())

    def test_bundle(self):
        self.assertEqual(self.extract("--list", input=self.bundle).stdout, self.extract("--list", "single").stdout)
        self.assertEqual(self.extract("--kernel", "scale", input=self.bundle).stdout, self.bitcode("void space::scale"))

    def test_bundle_cut_short(self):
        cut = self.bundle[:self.bundle.rindex(b"summary.json") - 100]
        result = self.extract("--list", input=cut, status=2)
        self.assertEqual(result.stdout.count(b"\n"), 2, "what came before the cut is there")
        self.assertIn(b"mneme-extract-ir: error: ", result.stderr)

    # ---- what is refused -----------------------------------------------------------------------

    def test_several_kernels(self):
        result = self.extract("single", status=2)
        self.assertEqual(result.stdout, b"")
        message = result.stderr.decode()
        for part in ["2 kernels are selected", "-o DIR/", "fill(float*, float)", "void space::scale<float, 3>(float*)"]:
            self.assertIn(part, message)
        self.extract("single", "-o", "file.bc", status=2)
        self.assertFalse((self.folder / "file.bc").exists())

    def test_nothing_there(self):
        self.refused("no embedded kernel IR and no device code", "/bin/true")
        self.refused("no kernel matches --kernel 'absent'", "--kernel", "absent", "single")
        self.refused("no kernel is for --target 'gfx1030'", "--target", "gfx1030", "single")
        self.refused("holds no instances", "--instance", "abc", "single")
        self.refused("no instance", "--instance", "abc", input=self.bundle)
        self.refused("holds no kernels", input=bundle_of())
        self.refused("/no/such/file", "/no/such/file")
        self.refused("", input=b"")
        self.refused("", input=b"not a bundle" * 1000)

    def test_without_injection(self):
        subprocess.run(["clang++-19", "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                        "--offload-arch=gfx90a", "app.hip", "-o", "plain"], cwd=self.folder, check=True)
        self.refused("no embedded kernel IR; build it with mneme-inject", "plain")

    def test_damaged_executables(self):
        whole = (self.folder / "single").read_bytes()
        bad = bytearray(whole)
        bad[whole.index(b"MNEMEIR1") + 24 + len(self.kernels[0][0]) + 40] ^= 1
        self.refused("damaged", "--list", input=bytes(bad))
        self.refused("malformed", "--list", input=whole[:len(whole) // 2])

    def test_bitcode_that_llvm_rejects(self):
        bundle = bundle_of("fill(float*)", "BC garbage that is no bitcode")
        self.assertEqual(self.extract(input=bundle).stdout, b"BC garbage that is no bitcode", "it is given unread")
        self.refused("fill", "-S", input=bundle)

    def test_names_do_not_drive_the_terminal(self):
        listed = self.extract("--list", input=bundle_of("evil\x1b[2J\nname()", "BC")).stdout
        self.assertEqual(listed.count(b"\n"), 1)
        self.assertNotIn(b"\x1b", listed)

    def test_names_do_not_choose_the_folder(self):
        self.extract("-o", "safe/", input=bundle_of("../../escape", "BC"))
        self.assertRegex(next((self.folder / "safe").iterdir()).name, r"^escape-[0-9a-f]{12}\.bc$")

    def test_terminal(self):
        leader, follower = pty.openpty()
        result = subprocess.run([EXTRACT, "--kernel", "fill", "single"], stdout=follower, stderr=subprocess.PIPE,
                                cwd=self.folder)
        os.close(follower)
        os.close(leader)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"not written to a terminal", result.stderr)

    def test_failed_writes(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([EXTRACT, "--list", "single"], stdout=full, stderr=subprocess.PIPE, cwd=self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"No space left", result.stderr)
        self.refused("is also the input", "--kernel", "fill", "single", "-o", "./single")
        self.refused("one.bc", "--kernel", "fill", "single", "-o", "/no/such/folder/one.bc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
