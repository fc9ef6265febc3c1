#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without IR: code, applications and bundles that are not what they should be."""

import struct
import sys
import unittest

import bundles
from support import ROOT, run, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "mneme-inject")]

import code_only  # noqa: E402
import cuda_binaries  # noqa: E402
import toolkit  # noqa: E402
from code_only_recordings import Recordings  # noqa: E402

KERNELS = (toolkit.PROGRAMS / "module_kernels.cu").read_text()


class CodeOnlyBadInput(Recordings):
    def test_code_that_does_not_fit(self):
        right, ptx = self.code("fits", KERNELS)
        _, bundle = self.capture(self.program("modules"), right)
        other, other_ptx = self.code("other", KERNELS.replace("int by", "long by"))
        renamed, renamed_ptx = self.code("renamed", KERNELS.replace("scale", "stale"))
        older = self.folder / "older.cubin"
        older.write_bytes(code_only.for_processor(right.read_bytes(), "sm_80"))
        damaged = self.folder / "damaged.ptx"
        damaged.write_bytes(ptx.read_bytes().replace(b".target", b".tarmac"))
        cut = self.folder / "cut.cubin"
        cut.write_bytes(right.read_bytes()[:300])
        text = self.folder / "text"
        text.write_text("no code")
        scale = ["--kernel", "scale"]
        for given, options, message in [
                (other, scale, "other parameters for 'scale' than were recorded: 8 bytes at 0, 8 bytes at 8, "
                               "4 bytes at 16, in place of 8 bytes at 0, 4 bytes at 8, 4 bytes at 12"),
                (other_ptx, scale, "other parameters for 'scale' than were recorded"),
                (renamed, scale, "the code given by --code has no kernel 'scale'"),
                (renamed_ptx, scale, "the code given by --code has no kernel 'scale'"),
                (older, scale, "the code of --code is for sm_80, and does not run on sm_90"),
                (damaged, scale, "cannot assemble it"),
                (cut, scale, "malformed ELF file"),
                (text, scale, "is neither a cubin nor PTX"),
                (right, [*scale, "--max-registers", "32"],
                 "--max-registers is for PTX, and --code gives a cubin"),
                (right, [*scale, "-O1"], "--code and -O exclude each other"),
                (right, [*scale, "--target", "host"],
                 "--code is for NVIDIA's GPUs, and kernel 'scale.*' is to be compiled for host"),
                (right, ["--ir", text], "--ir and --code exclude each other"),
        ]:
            with self.subTest(given=given.name, options=options):
                self.assertRegex(self.compile("--code", given, *options, bundle=bundle, status=2).error, message)

    def test_ptx_with_other_parameters(self):
        """Beside a cubin that has the recorded ones."""
        def change(text):
            own = text[text.index(b"\n") + 1:]  # the PTX, without the fake's code
            return own.replace(b"_Z7combinePiPKiS1_S1_(", b"_Z7combinePiPKiS1_S1_(\n.param .u32 extra,")
        bundle = self.with_other_ptx(self.recorded(), change)
        self.compile(bundle=bundle)
        self.assertEqual(["stores" in variant for variant in self.variants()], [False, True])
        self.assertEqual({line["status"] for line in self.replay()}, {"verified"})
        for options in [["--ptxas-level", "1"], ["-O2"], ["-O2", "--target", "host"]]:
            result = self.compile(*options, "--kernel", "combine", bundle=bundle, status=2)
            self.assertRegex(result.error, "PTX has other parameters for 'combine.* than were recorded: 4 bytes at 0, 8 bytes at 8")

    def test_code_of_an_application(self):
        """For another GPU, with sizes that lie, and with PTX that is damaged: it runs, and is counted or recorded."""
        elsewhere = self.program("elsewhere", "--offload-arch=sm_80", "--no-offload-arch=sm_90",
                                 "--no-cuda-include-ptx=all", source="memory")
        result, _ = self.capture(elsewhere, status=2)
        self.assertRegex(result.error, "combine.*: 3 launches, 0 recorded, 3 not: it carries no IR, and no code for sm_90 was found")
        damaged = self.folder / "damaged_ptx"
        damaged.write_bytes(self.program("memory").read_bytes().replace(b".visible .entry", b".visible .exit!"))
        damaged.chmod(0o755)
        result, bundle = self.capture(damaged)
        self.assertEqual([("ptx" in kernel, kernel["code"]) for kernel in self.kernels(bundle).values()],
                         [(False, "kernel.cubin")] * 2, result.error)
        right, _ = self.code("application", KERNELS)
        image = right.read_bytes()
        info = next(name for name in cuda_binaries.Cubin(image).sections() if name == ".nv.info.scale")
        layout = cuda_binaries.Cubin(image).sections()[info]
        overlapping = layout.replace(struct.pack("<HH", 1, 8), struct.pack("<HH", 1, 4))
        self.assertNotEqual(layout, overlapping)
        lying = self.folder / "lying.cubin"
        lying.write_bytes(image.replace(layout, overlapping))
        result, _ = self.capture(self.program("modules"), lying)
        self.assertRegex(result.error, "scale: .*the parameters that its code says it has overlap")
        # The driver says where they are, where the code does not.
        silent = self.folder / "silent.cubin"
        silent.write_bytes(image.replace(layout, layout.replace(b"\4\x17\x0c\0", b"\4\x16\x0c\0")))
        result, bundle = self.capture(self.program("modules"), silent)
        self.assertEqual([(a["offset"], a["size"]) for a in self.kernels(bundle)["scale"]["arguments"]],
                         [(0, 8), (8, 4), (12, 4)])

    def test_damaged_bundles(self):
        members = bundles.read(self.recorded().read_bytes())
        kernel = next(iter(self.kernels(self.recorded()).values()))
        name = f"kernels/{kernel['id']}/kernel.json"

        def refuse(message, change=None, drop=None):
            changed = {k: v for k, v in {**kernel, **(change or {})}.items() if v is not None and k != "digest"}
            damaged = self.folder / "damaged.tar"
            damaged.write_bytes(bundles.write([(m.name, bundles.compact(changed) if m.name == name else m.data)
                                               for m in members if m.name != drop]))
            self.assert_refused(run([tool("compile"), damaged]), 2, message)

        refuse("'code'.*", {"code": "kernel.exe"})
        refuse("kernel.json, whose code did not come before it, is followed by .*, not by .*kernel.cubin",
               {"code_digest": "0" * 31 + "1"})
        refuse("code_digest", {"code_digest": None})
        refuse("'ptx'.*is there twice", {"code": "kernel.ptx"})
        refuse("whose code did not come before it.* not by .*kernel.cubin", drop=f"code/{kernel['code_digest']}")
        refuse("whose code did not come before it.* not by .*kernel.ptx", drop=f"code/{kernel['ptx']}")
        refuse("not by .*kernel.bc", {"code": None, "bitcode": kernel["code_digest"]})
        newer = [(m.name, m.data.replace(b'"version":6,', b'"version":7,', 1) if m.name == "bundle.json" else m.data)
                 for m in members]
        text = self.folder / "newer.tar"
        text.write_bytes(bundles.write(newer))
        self.assert_refused(run([tool("compile"), text]), 2, "version 7")


if __name__ == "__main__":
    unittest.main(verbosity=2)
