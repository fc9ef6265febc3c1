#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-compile --target gfx90a and the like: what is in the bundle then, and what mneme-run makes of it where there is
no AMD GPU."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import bundles  # noqa: E402
from support import ROOT, TestCase, run, tool  # noqa: E402

TARGETS = ["gfx900", "gfx906", "gfx908", "gfx90a:xnack+", "gfx940", "gfx942", "gfx1030", "gfx1100", "gfx11-generic"]

CROWDED = """
#include <hip/hip_runtime.h>

__global__ void plain(float* data) { data[threadIdx.x] += 1; }

__global__ void __launch_bounds__(1024) crowded(float* data, int n) {
  __shared__ float shared[256];
  float values[160];
  for (int i = 0; i < 160; ++i) values[i] = data[threadIdx.x + i * 64];
  shared[threadIdx.x] = values[n];
  __syncthreads();
  for (int round = 0; round < n; ++round)
#pragma unroll
    for (int i = 0; i < 160; ++i) values[i] = values[i] * values[(i * 7 + 1) % 160] + 1;
  for (int i = 0; i < 160; ++i) data[threadIdx.x + i * 64] = values[i] + shared[63 - threadIdx.x];
}

int main() {
  float* data = nullptr;
  if (hipMalloc(&data, 161 * 64 * sizeof(float)) || hipMemset(data, 0, 161 * 64 * sizeof(float))) return 1;
  plain<<<1, 64>>>(data);
  crowded<<<1, 64>>>(data, 3);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


ACROSS = """
#include <hip/hip_runtime.h>

__global__ void within(int* data) { data[threadIdx.x] += 1; }
__global__ void across(int* data) { data[threadIdx.x] = __shfl_xor(data[threadIdx.x], 32); }

int main() {
  int* data = nullptr;
  if (hipMalloc(&data, 256) || hipMemset(data, 1, 256)) return 1;
  within<<<1, 64>>>(data);
  across<<<1, 64>>>(data);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


def notes(code, file):
    """The figures that a code object's metadata has of its one kernel, by llvm-readelf."""
    file.write_bytes(code)
    text = subprocess.run(["llvm-readelf-19", "--notes", file], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in re.findall(r"^ +(?:- )?\.(\w+): +(\d+)$", text, re.MULTILINE)}


class Amdgpu(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))

    def compile(self, *options):
        return run([tool("compile"), "--kernel", "^add", *options, self.recording])

    def variants(self, bundle):
        members = bundles.read(bundle)
        codes = {member.name.split("/")[2]: member for member in members
                 if member.name.startswith("variants/") and "/code." in member.name}
        found = [bundles.parsed(member) for member in members if member.name.endswith("/variant.json")]
        return [(variant, codes.get(variant.get("same_as", variant["id"]))) for variant in found]

    def test_each_target(self):
        lines = self.folder / "targets.jsonl"
        lines.write_text("".join(f'{{"target":"{target}"}}\n' for target in TARGETS))
        result = self.compile("--variants", lines)
        self.assertEqual(result.status, 0, result.text())
        found = self.variants(result.out)
        self.assertEqual([variant["configuration"]["target"] for variant, _ in found], ["hip:" + name for name in TARGETS])
        for variant, code in found:
            self.assertEqual(variant["code"], "code.hsaco")
            self.assertEqual((code.data[:4], code.data[18]), (b"\x7fELF", 224))
            self.assertEqual(variant["resources"]["amd"]["wave_size"], 64)
            self.assertGreater(variant["resources"]["registers"], 0)
            self.assertEqual(variant["stores"], [{"argument": 0, "type": "f32"}])
        self.assertEqual(self.compile("--variants", lines).out, result.out)

    def test_resources_are_those_of_the_notes(self):
        """What variant.json says that a kernel takes is what llvm-readelf reads in the code object; of the ones here, one
        has shared memory, a stack and more values than registers."""
        source = self.folder / "crowded.hip"
        source.write_text(CROWDED)
        recording = self.record(self.build(source), name="crowded.tar")
        lines = [{"target": target} for target in [*TARGETS, "gfx906:sramecc+:xnack-", "gfx908:sramecc-:xnack+"]]
        for processor in ["gfx1030", "gfx1100"]:
            lines += [{"target": processor, "features": f"+wavefrontsize{size}"} for size in (32, 64)]
        lines += [{"target": "gfx90a", "code_object": version} for version in (4, 5)]
        file = self.folder / "crowded.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        result = run([tool("compile"), "--variants", file, recording])
        self.assertEqual(result.status, 0, result.text())
        found = self.variants(result.out)
        self.assertEqual(len(found), 2 * len(lines))
        spilled, shared, sizes = 0, 0, set()
        for variant, code in found:
            with self.subTest(variant["configuration"]):
                told, noted = variant["resources"], notes(code.data, self.folder / "code")
                amd = told["amd"]
                self.assertEqual(
                    [told["registers"], told["stack"], told["shared"], amd["scalar_registers"], amd["spilled_registers"],
                     amd["spilled_scalar_registers"], amd["wave_size"], amd["accumulation_registers"]],
                    [noted["vgpr_count"], noted["private_segment_fixed_size"], noted["group_segment_fixed_size"],
                     noted["sgpr_count"], noted["vgpr_spill_count"], noted["sgpr_spill_count"], noted["wavefront_size"],
                     noted.get("agpr_count", 0)])
                self.assertGreater(amd["occupancy"], 0)
                spilled, shared = spilled + amd["spilled_registers"], shared + told["shared"]
                sizes.add(amd["wave_size"])
        self.assertGreater(spilled, 0)
        self.assertGreater(shared, 0)
        self.assertEqual(sizes, {32, 64})

    def test_a_kernel_that_cannot_be_had(self):
        """It keeps the others back no more, and is named; if there is no other, nothing was made."""
        source = self.folder / "across.hip"
        source.write_text(ACROSS)
        recording = self.record(self.build(source), name="across.tar")
        why = r"kernel 'across\(int\*\)' was compiled for gfx90a and cannot become one for gfx1100"
        result = run([tool("compile"), "--target", "gfx1100", recording])
        self.assertEqual(result.status, 2, result.text())
        self.assertRegex(result.error, f"warning: {why}")
        self.assertIn("error: 1 of 2 kernels were not compiled", result.error)
        failed = [variant.get("failed", "") for variant, _ in self.variants(result.out)]
        self.assertEqual([bool(reason) for reason in failed], [False, True])
        self.assertRegex(failed[1], why)
        result = run([tool("compile"), "--target", "gfx1100", "--kernel", "across", recording])
        self.assertEqual(result.status, 2, result.text())
        self.assertRegex(result.error, f"error: {why}")

    def test_options(self):
        texts = self.folder / "texts"
        result = self.compile("--target", "gfx1100", "--features", "+wavefrontsize32", "--code-object", "4", "-v",
                              "--save-ir", texts)
        self.assertEqual(result.status, 0, result.text())
        self.assertRegex(result.error, r"takes \d+ vector registers, .* of waves of 32, a SIMD can hold 16 \(hip:gfx1100\)")
        (variant, code), = self.variants(result.out)
        self.assertEqual(variant["configuration"]["code_object"], 4)
        self.assertEqual(code.data[8], 2, "version 4 in an ELF header")
        assembly, = texts.glob("*.s")
        self.assertIn(".amdgcn_target \"amdgcn-amd-amdhsa--gfx1100\"", assembly.read_text())
        self.assertIn("s_endpgm", assembly.read_text())
        self.assertIn("amdgpu_kernel", next(texts.glob("*.ll")).read_text())

    def test_what_was_recorded_on_a_gpu_is_compiled_for_that_gpu(self):
        """With what the application was built for besides the processor."""
        for target in ["gfx90a", "gfx90a:xnack+", "gfx90a:sramecc-:xnack-"]:
            program = self.build(ROOT / "tests" / "small.hip", "for_" + target.replace(":", "_"),
                                 "--no-offload-arch=gfx90a", f"--offload-arch={target}")
            members = bundles.read(self.record(program).read_bytes())
            about = json.loads(members[0].data)
            about["device"] = "hip"
            members[0].data = bundles.compact(about)
            result = run([tool("compile"), "--kernel", "^add"], input=bundles.write(members))
            self.assertEqual(result.status, 0, result.text())
            self.assertEqual([variant["configuration"]["target"] for variant, _ in self.variants(result.out)],
                             ["hip:" + target])

    def test_refusals(self):
        for options, pattern in [
                (["--target", "gfx1"], "'gfx1' is no target: of AMD's GPUs there are"),
                (["--target", "gfx90a", "--code-object", "3"], "--code-object takes a version from 4 to 6, not 3"),
                (["--target", "host", "--code-object", "5"], "--code-object is for AMD's GPUs"),
                (["--target", "gfx90a", "--form", "fiber"], "--form is for the host device"),
                (["--target", "gfx90a", "--max-registers", "64"], "--max-registers is for NVIDIA's GPUs"),
                (["--target", "gfx90a", "--shared-mem", "65K"], "more than a block may have on hip:gfx90a: 65536 bytes"),
                (["--target", "gfx90a", "--features", "+avx2"], "features that LLVM knows of hip:gfx90a"),
                (["--target", "gfx908", "--features", "+wavefrontsize32"], "gfx908 has only waves of 64"),
                (["--target", "gfx11-generic", "--code-object", "5"], "only be named in code objects of version 6")]:
            with self.subTest(options):
                self.assert_refused(self.compile(*options), 2, pattern)

    def test_what_a_line_cannot_be_is_a_failed_variant(self):
        lines = self.folder / "failing.jsonl"
        lines.write_text('{"target":"gfx90a","features":"+wavefrontsize32"}\n{"target":"gfx90a"}\n')
        result = self.compile("--variants", lines)
        self.assertEqual(result.status, 0, result.text())
        (failed, none), (good, _) = self.variants(result.out)
        self.assertIn("gfx90a has only waves of 64", failed["failed"])
        self.assertIsNone(none)
        self.assertNotIn("failed", good)

    def test_running_it_ends_with_a_sentence(self):
        compiled = self.compile("--target", "gfx90a").out
        ran = run([tool("run")], input=compiled)
        if ran.status:  # else there is such a GPU
            self.assert_refused(ran, 3, "no AMD GPU .*mneme-compile --target host run on the CPU")
        on_host = run([tool("run"), "--device", "host"], [tool("verify")], input=compiled)
        self.assertEqual(on_host.statuses, [0, 1], on_host.text())
        self.assertIn("it was compiled for hip:gfx90a, not for the device host", on_host.error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
