#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without IR: recorded as the code that ran, and replayed as that, or as what their PTX becomes. Where there is
no GPU and no toolkit: tests/fake_cuda plays the libraries, the driver and the toolkit."""

import json
import re
import struct
import sys
import unittest

import bundles
from support import BUILD, ROOT, run, tool

sys.path[:0] = [str(ROOT / "tests" / "fake_cuda"), str(ROOT / "mneme-inject")]

import cuda_binaries  # noqa: E402
import toolkit  # noqa: E402
from code_only_recordings import LIBRARIES, Recordings  # noqa: E402

NO_IR = "has no IR, which {} needs: the application was not built with mneme-inject"
KERNELS = (toolkit.PROGRAMS / "module_kernels.cu").read_text()


class CodeOnly(Recordings):
    # ---- recorded, and replayed as recorded ----

    def test_as_recorded(self):
        result, bundle = self.capture(self.program("memory"))
        self.assertNotIn("not recorded", result.error)
        kernels = self.kernels(bundle)
        self.assertEqual({name: len(k["arguments"]) for name, k in kernels.items()},
                         {"_Z7combinePiPKiS1_S1_": 4, "_Z7advancePiS_": 2})
        for kernel in kernels.values():
            self.assertEqual(kernel["code"], "kernel.cubin")
            self.assertNotIn("bitcode", kernel)
            self.assertEqual(kernel["target"], "nvptx64-nvidia-cuda--sm_90")
            self.assertEqual({a["kind"] for a in kernel["arguments"]}, {"pointer"})
            self.assertEqual([(g["name"], g["size"], g["constant"]) for g in kernel["globals"]],
                             [("calls", 4, False), ("factor", 4, True)])
        names = [m.name for m in bundles.read(bundle.read_bytes())]
        for kernel in kernels.values():
            at = names.index(f"kernels/{kernel['id']}/kernel.json")
            for code in (kernel["code_digest"], kernel["ptx"]):
                self.assertLess(names.index(f"code/{code}"), at)
        self.assertEqual(sum(name.startswith("code/") for name in names), 2, "a cubin, and its PTX, of both kernels")
        info = bundles.parsed(bundles.read(bundle.read_bytes())[0])
        self.assertEqual((info["device"], info["version"]), ("cuda", 6))
        self.assertRegex(self.compile("-v", bundle=bundle).error, r"'combine.*' takes 24 registers.*\(as recorded\)")
        for variant in self.variants():
            self.assertEqual((variant["configuration"]["passes"], variant["code"]), ("as recorded", "code.cubin"))
            self.assertEqual(variant["resources"]["registers"], 24)
        lines = self.replay()
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertEqual((line["passes"], line["clock"]), ("as recorded", "events"))
            self.assertTrue(line["changed_bytes"], line)

    def test_pipe(self):
        """All tools at once, as for kernels with IR. What `combine` does depends on a variable."""
        result = run([tool("capture"), "--device", "cuda", self.program("memory")], [tool("compile")],
                     [tool("run"), "--device", "cuda"], [tool("verify"), "--format", "table"], env=self.environment)
        self.assertEqual(result.statuses, [0, 0, 0, 0], result.text())
        self.assertEqual(result.out.decode().count("as recorded"), 2, result.out)

    def test_modules_that_the_application_loads(self):
        cubin, ptx = self.code("module", KERNELS)
        fat_binary = self.folder / "module.fatbin"
        fat_binary.write_bytes(cuda_binaries.fatbin([(cuda_binaries.CUBIN, 90, cubin.read_bytes()),
                                                     (cuda_binaries.PTX, 90, ptx.read_bytes())]))
        for image, options in [(cubin, []), (ptx, []), (cubin, ["-DDATA"]), (ptx, ["-DDATA"]), (fat_binary, ["-DFAT_BINARY"]),
                               (cubin, ["-DLIBRARY"])]:
            with self.subTest(image=image, options=options):
                program = self.program("modules" + "".join(options), *options, source="modules")
                result, bundle = self.capture(program, image)
                self.assertNotIn("not recorded", result.error)
                kernels = self.kernels(bundle)
                self.assertEqual(sorted(kernels), ["scale", "shift"])
                for kernel in kernels.values():
                    self.assertEqual(kernel["code"], "kernel.ptx" if image == ptx else "kernel.cubin")
                    self.assertEqual("ptx" in kernel, image == fat_binary)
                    count = {"scale": 3, "shift": 2}[kernel["name"]]
                    self.assertEqual([(a["offset"], a["size"], a["kind"]) for a in kernel["arguments"]],
                                     [(0, 8, "pointer"), (8, 4, "scalar"), (12, 4, "scalar")][:count])
                    self.assertEqual([g["name"] for g in kernel["globals"]], ["offset"])
                self.compile(bundle=bundle)
                self.assertEqual({v["code"] for v in self.variants()}, {"code.ptx" if image == ptx else "code.cubin"})
                self.assertTrue(all(line["changed_bytes"] for line in self.replay()))

    def test_modules_that_go_before_the_end(self):
        """Each kernel has the code of its own module, though the handles may be the same."""
        one, other = (self.code(name, text)[0] for name, text in [("one", KERNELS), ("other", KERNELS.replace("*= by", "+= by"))])
        program = self.program("unloaded", "-L", LIBRARIES, "-lcuda")
        result, bundle = self.capture(program, one, other, one)
        self.assertRegex(result.error, r"scale: 3 launches, 2 recorded, 1 like those")
        members = [bundles.parsed(m) for m in bundles.read(bundle.read_bytes()) if m.name.endswith("/kernel.json")]
        self.assertEqual(sorted(kernel["code_digest"] for kernel in members),
                         sorted(bundles.digest(path.read_bytes()) for path in (one, other)))
        self.compile(bundle=bundle)
        self.assertEqual([line["status"] for line in self.replay()], ["verified"] * 2)

    def test_one_launch_of_many(self):
        """By the options that choose; the others are counted."""
        bundle = self.folder / "one_of_many.tar"
        result = self.run_well([tool("capture"), "--device", "cuda", "--summary", "--kernel", "combine", "--skip", "1",
                                "--max-instances", "1", "-o", bundle, self.program("memory")], env=self.environment)
        self.assertRegex(result.error, r"1 kernel, 5 launches, 1 recorded|combine.*: 3 launches, 1 recorded")
        instance, = self.instances(bundle)
        self.assertGreater(instance["index"], 0)
        self.compile(bundle=bundle)
        self.assertEqual([line["status"] for line in self.replay()], ["verified"])

    def test_restore(self):
        """What is listed, selected, merged and unpacked."""
        one, both = self.folder / "one.tar", self.folder / "both.tar"
        self.run_well([tool("restore"), "--kernel", "combine", self.recorded(), "-o", one])
        self.assertEqual(list(self.kernels(one)), ["_Z7combinePiPKiS1_S1_"])
        self.run_well([tool("restore"), one, self.recorded(), "-o", both])
        self.assertEqual(len(self.kernels(both)), 2)
        self.compile(bundle=both)
        self.assertEqual(len(self.replay()), 2)
        self.run_well([tool("restore"), "--dump", self.folder / "dump", self.recorded()])
        self.assertEqual(sorted(p.name for p in self.folder.glob("dump/kernels/*/*")),
                         ["kernel.cubin"] * 2 + ["kernel.json"] * 2 + ["kernel.ptx"] * 2)
        listed = self.run_well([tool("extract-ir"), "--list", self.recorded()]).out.decode()
        self.assertEqual([line.split("\t")[2] for line in listed.splitlines()], ["-", "-"])
        self.assert_refused(run([tool("extract-ir"), "-S", self.without_ptx()]), 2, "has no IR: .*mneme-restore --dump")

    def test_code_is_stored_once(self):
        """By its digest, whatever tools a bundle has gone through, and whichever kernel is taken out."""
        def codes(bundle):
            members = bundles.read(bundle.read_bytes())
            self.assertFalse([m.name for m in members if m.name.endswith((".cubin", ".ptx"))])
            return sorted(m.name for m in members if m.name.startswith("code/"))

        recorded, out = codes(self.recorded()), self.folder / "out.tar"
        self.assertEqual(len(recorded), 2)
        # The recorder sends it once, too.
        said = self.run_well([tool("capture"), "--device", "cuda", "-v", "-o", out, self.program("memory")], env=self.environment)
        self.assertEqual(sorted("code/" + found for found in re.findall(r"code of kernels without IR as (\w+)", said.error)),
                         [name[:5 + 12] for name in recorded])
        self.compile()
        self.assertEqual(codes(self.folder / "compiled.tar"), recorded)
        self.compile("--max-registers", "32")
        self.assertEqual(len(codes(self.folder / "compiled.tar")), 3, "both kernels are in what ptxas made")
        for options in [["--raw"], ["--packs"], ["--kernel", "advance"], [self.recorded()]]:
            self.run_well([tool("restore"), *options, self.recorded(), "-o", out])
            self.assertEqual(codes(out), recorded)
            self.compile(bundle=out)
            self.assertEqual({line["status"] for line in self.replay()}, {"verified"})
        self.run_well([tool("compile"), self.recorded()], [tool("run"), "--device", "cuda", "--baseline", "2", "-o", out],
                      env=self.environment)
        self.assertEqual(codes(out), recorded)

    def test_on_the_host_device(self):
        for bundle, reason in [(self.without_ptx(), "has neither IR nor PTX, and its code is for an NVIDIA GPU, sm_90: it runs "
                                                    "with --device cuda"),
                               (self.recorded(), "it was compiled for cuda:sm_90, not for the device host: compile it with mneme-compile --target")]:
            self.compile(bundle=bundle)
            result = run([tool("run"), "--device", "host", self.folder / "compiled.tar"], [tool("verify")])
            self.assertEqual(result.statuses, [0, 1], result.text())
            self.assertRegex(result.error, rf"kernel 'combine.*{reason}")

    def test_check_memory(self):
        """On the CPU, of what is lifted of PTX."""
        self.compile(bundle=self.without_ptx())
        result = run([tool("run"), "--check-memory", self.folder / "compiled.tar"], env=self.environment)
        self.assertEqual(result.status, 2)
        self.assertRegex(result.error, "kernel 'combine.*' " + NO_IR.format("--check-memory"))
        self.compile()
        self.run_well([tool("run"), "--check-memory", self.folder / "compiled.tar"], [tool("verify")], env=self.environment)

    def test_reach(self):
        """Only what arguments lead to, and the code's variables."""
        bundle = self.folder / "reach.tar"
        self.run_well([tool("capture"), "--device", "cuda", "--reach", "arguments", "-o", bundle, self.program("memory")],
                      env=self.environment)
        kernels = {k["id"]: k["name"] for k in self.kernels(bundle).values()}
        reached = {kernels[i["kernel"]]: [s.get("symbol", s["kind"]) for s in bundles.segments(i)] for i in self.instances(bundle)}
        self.assertEqual({i["reach"] for i in self.instances(bundle)}, {"arguments"})
        self.assertEqual({name: sorted(segments) for name, segments in reached.items()},
                         {"_Z7combinePiPKiS1_S1_": ["calls", "factor", "heap", "heap", "host", "host"],
                          "_Z7advancePiS_": ["calls", "factor", "host", "host"]})
        self.compile(bundle=bundle)
        self.assertTrue(all(line["changed_bytes"] for line in self.replay()))

    def test_baseline(self):
        self.compile()
        for line in self.replay("--baseline", "2", "--cache", "cold"):
            self.assertEqual((line["status"], line["cache"]), ("verified", "cold"))

    def test_program(self):
        """One that holds its recordings."""
        program = self.folder / "program"
        checks_nothing = "warning: kernel 'combine.*cannot be compiled with --check-memory"
        for bundle in [self.without_ptx(), self.recorded()]:
            self.compile(bundle=bundle)
            result = run([tool("restore"), self.folder / "compiled.tar", "--executable", program], env=self.environment)
            self.assertEqual(result.status, 0, result.text())
            if bundle == self.recorded():
                self.assertNotRegex(result.error, checks_nothing)
            else:
                self.assertRegex(result.error, checks_nothing)
        result = run([program, "--baseline", "2"], env=self.environment)
        self.assertEqual(result.status, 0, result.text())
        self.assertIn("2 of 2 runs verified", result.out.decode())

    def test_beside_kernels_with_ir(self):
        """In one bundle."""
        program = self.folder / "with_ir"
        source = toolkit.PROGRAMS / "memory.cu"
        result = run([tool("inject"), *toolkit.COMPILE, source, "-o", program], env=self.with_ir)
        self.assertEqual(result.status, 0, result.text())
        other, both = self.folder / "with_ir.tar", self.folder / "mixed.tar"
        self.run_well([tool("capture"), "--device", "cuda", "-o", other, program], env=self.with_ir)
        self.run_well([tool("restore"), self.without_ptx(), other, "-o", both])
        self.compile(bundle=both)
        self.assertEqual(sorted(v["configuration"]["passes"] for v in self.variants()),
                         ["as recorded"] * 2 + ["default<O3>"] * 2)
        result = self.compile("-O2", "--target", "host", bundle=both, status=2)
        self.assertIn("2 of 4 kernels were not compiled", result.error)
        result = run([tool("run"), self.folder / "compiled.tar"], [tool("verify")], env=self.environment)
        lines = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertEqual(sorted((line["name"].split("(")[0], line["status"]) for line in lines),
                         [(name, status) for name in ("advance", "combine") for status in ("failed", "verified")])
        self.assertTrue(all(NO_IR.format("--target host") in line["reasons"][0] for line in lines
                            if line["status"] == "failed"), lines)

    def test_textures(self):
        """Handles are found among the arguments, by the PTX, or else by their values; a replay puts others there."""
        for kind, source in [("array", "array"), ("linear", "linear"), ("levels", "mipmapped array"), ("array", None)]:
            with self.subTest(kind, source=source):
                program = self.textures(with_ptx=source is not None)
                source = source or "array"
                bundle = self.folder / "textures.tar"
                result = self.run_well([tool("capture"), "--device", "cuda", "--occurrences", "4", "-o", bundle, program, kind],
                                       env=self.environment)
                instances = self.instances(bundle)
                self.assertEqual(len(instances), 2, result.error)
                for instance in instances:
                    self.assertNotIn("missing", instance)
                    self.assertEqual([(t["argument"], t["kind"], t["of"]) for t in instance["textures"]],
                                     [(16, "texture", source), (24, "surface", "array")])
                self.compile(bundle=bundle)
                for code, status in [(b"textures", "verified"), (b"textures, one texel off", "not verified")]:
                    self.assertEqual(self.played(code), [status] * 2)
        # Of those that are no more, none is there.
        for with_ptx in [True, False]:
            result, bundle = self.capture(self.textures(with_ptx), "none")
            missing = [i.get("missing") for i in self.instances(bundle)]
            self.assertEqual(bool(missing[0]), with_ptx, "by its PTX it is a handle")

    def textures(self, with_ptx):
        options = ["-DWITHOUT_IR", *([] if with_ptx else ["--no-cuda-include-ptx=all"])]
        return self.program(f"textures{len(options)}", *options, source="textures")

    def instances(self, bundle):
        return [bundles.parsed(m) for m in bundles.read(bundle.read_bytes()) if m.name.startswith("instances/")]

    def test_textures_by_way_of_memory(self):
        """Textures whose handles are no arguments are not recorded, and a sentence says so."""
        for with_ptx, reason in [(True, "handles are computed or not among its arguments"),
                                 (False, "no handle of one is among its arguments: textures whose handles")]:
            with self.subTest(with_ptx=with_ptx):
                result, bundle = self.capture(self.textures(with_ptx), "memory")
                for instance in self.instances(bundle):
                    self.assertIs(instance["complete"], False)
                    self.assertRegex(" ".join(instance["missing"]), reason)
                self.compile(bundle=bundle)
                ran = run([tool("run"), "--device", "cuda", self.folder / "compiled.tar"], env=self.environment)
                self.assertEqual(ran.status, 2)
                self.assertRegex(ran.error, "is not complete and not run: .*" + reason)

    def played(self, code):
        """On the GPU that is played for replays, where kernels are functions by their names."""
        members = []
        for member in bundles.read((self.folder / "compiled.tar").read_bytes()):
            if not member.name.endswith("/variant.json"):
                members.append((member.name, member.data))
                continue
            variant = {**bundles.parsed(member), "code_digest": bundles.digest(code)}
            members.append((member.name, bundles.compact(variant)))
            members.append((member.name.replace("variant.json", "code.cubin"), code))
        ran = run([tool("run")], [tool("verify")], input=bundles.write(members),
                  env={"LD_LIBRARY_PATH": str(BUILD / "tests" / "fake")})
        return [json.loads(line)["status"] for line in ran.out.decode().splitlines()]

    def test_devices_of_different_processors(self):
        """Each has the code that it ran."""
        program = self.program("devices", "--offload-arch=sm_80")
        bundle = self.folder / "devices.tar"
        self.run_well([tool("capture"), "--device", "cuda", "--host-devices", "2", "-o", bundle, program],
                      env={**self.environment, "MNEME_TEST_OTHER_MAJOR": "8"})
        members = bundles.read(bundle.read_bytes())
        kernels = {m.name.split("/")[1]: bundles.parsed(m) for m in members if m.name.endswith("/kernel.json")}
        ran = sorted((kernels[m.name.split("/")[1]]["demangled"].split("(")[0],
                      bundles.parsed(m).get("device", 0), kernels[m.name.split("/")[1]]["target"].split("--")[1])
                     for m in members if m.name.startswith("instances/"))
        self.assertEqual(ran, [("combine", 0, "sm_90"), ("combine", 1, "sm_80"), ("fill", 0, "sm_90"), ("fill", 1, "sm_80")])
        self.assertEqual(len({kernel["code_digest"] for kernel in kernels.values()}), 2)
        self.compile(bundle=bundle)
        self.assertEqual({variant["configuration"]["target"] for variant in self.variants()}, {"cuda:sm_80", "cuda:sm_90"})

    # ---- what else can be made of them ----

    def test_what_needs_ir(self):
        """Is said, for each kernel without PTX; and those that have it go on."""
        bundle = self.without_ptx()
        for options, what in [(["-O3"], "-O"), (["--passes", "default<O1>"], "--passes"), (["--fuse"], "--fuse"), (["--no-fuse"], "--no-fuse"),
                              (["--target", "host"], "--target host"), (["--launch-bounds", "64"], "--launch-bounds"),
                              (["--specialize-dims"], "--specialize-dims"), (["--fast-math", "nsz"], "--fast-math")]:
            with self.subTest(options=options):
                result = self.compile(*options, bundle=bundle, status=2)
                self.assertIn("kernel 'combine(int*, int const*, int const*, int const*)' " + NO_IR.format(what),
                              result.error)
        # What needs another target, with PTX as well.
        for other, options, whose in [(bundle, ["--form", "loop"], "the host device"),
                                      (self.recorded(), ["--form", "loop"], "the host device"),
                                      (self.recorded(), ["--print-after", "block"], "the host device's compiler"),
                                      (self.recorded(), ["--embed-ir"], "AMD's GPUs")]:
            result = self.compile(*options, bundle=other, status=2)
            self.assertIn(f"{options[0]} is for {whose}, not for --target cuda:sm_90", result.error)
        lines = self.folder / "lines"
        lines.write_text('{}\n{"shared_mem": 1000000}\n')
        self.assertRegex(self.compile("--variants", lines, bundle=bundle, status=2).error,
                         "line 2 of '.*lines': 'shared_mem' 1000000 is more than a block may have on cuda:sm_90")
        lines.write_text('{}\n{"passes": "default<O2>"}\n{"max_registers": 40}\n{"grid": [200, 1, 1]}\n')
        self.compile("--variants", lines, bundle=bundle)
        self.assertEqual([(v["configuration"]["passes"], "failed" in v) for v in self.variants()],
                         [("as recorded", False), ("default<O2>", True), ("recorded PTX", True),
                          ("as recorded", False)] * 2)
        self.assertIn(NO_IR.format("'passes'"), self.variants()[1]["failed"])

    def test_ir_of_ptx(self):
        """Where IR is needed, it is made of the PTX."""
        for options in (["--target", "host", "-O3"], ["--target", "host", "-O0", "--form", "fiber"],
                        ["--target", "host", "--specialize-dims"]):
            with self.subTest(options=options):
                self.compile(*options)
                ran = self.run_well([tool("run"), self.folder / "compiled.tar"], [tool("verify")])
                lines = [json.loads(line) for line in ran.out.decode().splitlines()]
                self.assertEqual([line["device"] for line in lines], ["host"] * 2)
                self.assertTrue(all(line["changed_bytes"] for line in lines))
        self.compile("-O3")
        self.assertEqual({(v["configuration"]["target"], v["configuration"]["passes"]) for v in self.variants()},
                         {("cuda:sm_90", "default<O3>")})
        lines = self.folder / "lines"
        lines.write_text('{}\n{"passes": "default<O2>"}\n{"max_registers": 40}\n{"target": "host"}\n')
        self.compile("--variants", lines)
        self.assertEqual([(v["configuration"]["passes"], v["configuration"]["target"].split(":")[0], "failed" in v)
                          for v in self.variants()],
                         [("as recorded", "cuda", False), ("default<O2>", "cuda", False), ("recorded PTX", "cuda", False),
                          ("default<O3>", "host", False)] * 2)
        extracted = self.run_well([tool("extract-ir"), "-S", "--kernel", "combine", self.recorded()])
        self.assertIn("define void @", extracted.out.decode())
        # PTX with something in it that nobody knows.
        damaged = self.with_other_ptx(self.recorded(), lambda text: text.replace(b"ret;", b"frobnicate;"))
        result = self.compile("-O3", "--target", "host", bundle=damaged, status=2)
        self.assertRegex(result.error, "frobnicate")

    def test_ptx_of_linked_units(self):
        """nvlink's cubin has no PTX beside it: the units' is in another section of the executable."""
        program, text = self.folder / "linked_units", cuda_binaries.ptx(self.program("memory"))[0].rstrip(b"\0").decode()
        calling, count = re.subn(r"add\.s32\s+(%r\d+), (%r\d+), 1;",
                                 r"{ .param .b32 a; st.param.b32 [a], \2; .param .b32 b; call.uni (b), next_of, (a);"
                                 r" ld.param.b32 \1, [b]; }", text)
        self.assertEqual(count, 1, text)
        head = ".version 7.8\n.target sm_90\n.address_size 64\n"
        calling = calling.replace(".address_size 64", ".address_size 64\n.extern .func (.param .b32 r) next_of(.param .b32 x);")
        other = head + """.visible .func (.param .b32 r) next_of(.param .b32 x)
            { .reg .b32 %r<3>; ld.param.u32 %r1, [x]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }"""
        section = self.folder / "units"
        section.write_bytes(b"".join(cuda_binaries.fatbin([(cuda_binaries.PTX, 90, unit.encode() + b"\0")])
                                     for unit in (calling, other)))
        self.run_well(["objcopy", "--add-section", f"__nv_relfatbin={section}", self.program("memory"), program])
        self.hide_ptx(program)
        _, bundle = self.capture(program)
        kernel = self.kernels(bundle)["_Z7combinePiPKiS1_S1_"]
        self.assertEqual(kernel["code"], "kernel.cubin")
        for options in (["--target", "host", "-O3"], ["--target", "host", "-O0"]):
            self.compile(*options, bundle=bundle)
            lines = self.run_well([tool("run"), self.folder / "compiled.tar"], [tool("verify")]).out.decode().splitlines()
            self.assertEqual(len(lines), 2)
        self.compile("-O3", bundle=bundle)
        self.assertEqual({v["configuration"]["passes"] for v in self.variants()}, {"default<O3>"})
        result = self.compile("--ptxas-level", "1", bundle=bundle, status=2)
        self.assertIn("has the PTX of 2 units that were linked", result.error)
        # Damaged units: what ran is recorded.
        program.write_bytes(program.read_bytes().replace(section.read_bytes()[:16], b"x" * 16))
        self.assertNotIn("ptx", self.kernels(self.capture(program)[1])["_Z7combinePiPKiS1_S1_"])

    def hide_ptx(self, program):
        """From those who look for it in the fat binary that the program registers."""
        image = program.read_bytes()
        at = image.index(struct.pack("<IHH", 0xBA55ED50, 1, 16)) + 16
        while struct.unpack_from("<H", image, at)[0] != cuda_binaries.PTX:
            at += sum(struct.unpack_from("<IQ", image, at + 4))
        program.write_bytes(image[:at] + struct.pack("<H", 64) + image[at + 2:])

    def test_other_launches(self):
        self.compile("--grid", "200", "--kernel", "combine")
        lines = self.replay()
        self.assertEqual(len(lines), 1)
        self.compile("--block", "8", "--grid", "1", "--kernel", "advance")
        line, = self.replay(verified=False)
        self.assertRegex(line["reasons"][0], r"it ran with the grid \(1, 1, 1\), the block \(8, 1, 1\)")
        self.compile("--shared-mem", "1024", "--kernel", "combine")
        self.assertEqual(len(self.replay()), 1)

    def test_ptx(self):
        for options, registers in [(["--max-registers", "32"], 32),
                                   (["--max-registers", "64", "--ptxas-level", "1"], 64),
                                   (["--ptxas-level", "0"], 24)]:
            self.compile(*options)
            for variant in self.variants():
                self.assertEqual((variant["configuration"]["passes"], variant["resources"]["registers"]),
                                 ("recorded PTX", registers))
                self.assertEqual(variant["assembled_by"], "ptxas 13.0.88")
            self.assertTrue(all(line["changed_bytes"] for line in self.replay()))
        # Another GPU, if the PTX allows it.
        self.compile("--target", "sm_100")
        self.assertEqual({v["configuration"]["target"] for v in self.variants()}, {"cuda:sm_100"})
        result = self.compile("--target", "sm_80", status=2)
        self.assertRegex(result.error, "SM version specified by .target is higher than sm_80")
        # A recording without.
        without = self.without_ptx()
        self.compile(bundle=without)
        result = self.compile("--max-registers", "32", bundle=without, status=2)
        self.assertRegex(result.error, "kernel 'combine.*' has no PTX, which --max-registers needs")

    def test_given_code(self):
        right, ptx = self.code("right", KERNELS)
        wrong, _ = self.code("wrong", KERNELS.replace("*= by", "+= by"))
        _, bundle = self.capture(self.program("modules"), right)
        for given in [right, ptx]:
            self.compile("--code", given, bundle=bundle)
            for variant in self.variants():
                self.assertEqual(variant["configuration"]["passes"], "given code")
                self.assertEqual(variant["configuration"]["code"], bundles.digest(given.read_bytes()))
            self.assertEqual({line["status"] for line in self.replay()}, {"verified"})
        self.compile("--code", wrong, bundle=bundle)
        self.assertEqual(sorted((line["name"], line["status"]) for line in self.replay(verified=False)),
                         [("scale", "not verified"), ("shift", "verified")])

    def test_inferred_types(self):
        """What a kernel stores, its PTX tells, whatever code runs in its place: as recorded, from its PTX, given."""
        program = self.program("floats")
        _, bundle = self.capture(program)
        near, _ = self.code("near", (toolkit.PROGRAMS / "floats.cu").read_text().replace("(0.1f", "1.000001f * (0.1f"))
        far, _ = self.code("far", (toolkit.PROGRAMS / "floats.cu").read_text().replace("(0.1f", "1.1f * (0.1f"))
        stores = [{"argument": 0, "type": "f32"}, {"argument": 8, "type": "i32"}]
        for options in [[], ["--ptxas-level", "1"], ["--code", near], ["--code", far], ["-O2"]]:
            with self.subTest(options=options):
                self.compile(*options, bundle=bundle)
                self.assertEqual([v["stores"] for v in self.variants()], [stores])

        def status(code, *options, bundle=bundle):
            self.compile("--code", code, bundle=bundle)
            ran = run([tool("run"), "--device", "cuda", self.folder / "compiled.tar"], [tool("verify"), *options],
                      env=self.environment)
            return json.loads(ran.out)["status"]
        self.assertEqual([status(near), status(near, "--infer")], ["not verified", "verified"])
        self.assertEqual(status(far, "--infer"), "not verified")
        _, annotated = self.capture(self.program("annotated", "-DANNOTATED", "-I", ROOT / "lib", source="floats"))
        self.assertEqual([status(code, bundle=annotated) for code in [near, far]], ["verified", "not verified"])
        # What nobody can lift is compared byte for byte, and that is all.
        for other in [self.without_ptx(bundle), self.with_other_ptx(bundle, lambda text: text.replace(b"ret;", b"frobnicate;"))]:
            self.assertEqual(self.compile(bundle=other).error, "")
            self.assertEqual([v.get("stores") for v in self.variants()], [None])


if __name__ == "__main__":
    unittest.main(verbosity=2)
