#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-compile --target gfx90a and the like: what is in the bundle then, and what mneme-run makes of it where there is
no AMD GPU."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import bundles  # noqa: E402
from support import ROOT, TestCase, run, tool  # noqa: E402

TARGETS = ["gfx900", "gfx906", "gfx908", "gfx90a:xnack+", "gfx940", "gfx942", "gfx1030", "gfx1100", "gfx11-generic"]


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
        return [(bundles.parsed(member), codes.get(member.name.split("/")[2])) for member in members
                if member.name.endswith("/variant.json")]

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
            self.assert_refused(ran, 3, "no AMD GPU .*--target host compiles the same")
        on_host = run([tool("run"), "--device", "host"], [tool("verify")], input=compiled)
        self.assertEqual(on_host.statuses, [0, 1], on_host.text())
        self.assertIn("it was compiled for hip:gfx90a, not for the device host", on_host.errors[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
