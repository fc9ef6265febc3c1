#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorder in front of CUDA's own libraries, where there is no GPU and no toolkit: tests/fake_cuda plays the libraries
and the toolkit. Its programs are recorded as on a GPU, and their kernels replayed and verified on the host device."""

import json
import os
import re
import struct
import sys
import unittest

import bundles
from support import BUILD, ROOT, TestCase, run, tool

sys.path.insert(0, str(ROOT / "tests" / "fake_cuda"))

import toolkit  # noqa: E402

PROGRAMS = toolkit.PROGRAMS
LIBRARIES = BUILD / "tests" / "fake_cuda"


class Recorder(TestCase):
    built = {}
    toolkit = staticmethod(toolkit.make)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.toolkit(cls.folder / "toolkit", LIBRARIES)
        cls.environment = {"CUDA_PATH": str(cls.folder / "toolkit"), "LD_LIBRARY_PATH": str(LIBRARIES)}

    @classmethod
    def inject(cls, *arguments, options=()):
        result = run([tool("inject"), *options, *toolkit.COMPILE, *arguments], env=cls.environment)
        if result.status:
            raise AssertionError(result.text())

    @classmethod
    def program(cls, name, *arguments):
        if name not in cls.built:
            cls.built[name] = cls.folder / name
            cls.inject(PROGRAMS / f"{name}.cu", *arguments, "-o", cls.built[name])
        return cls.built[name]

    def capture(self, program, *arguments, options=(), status=0):
        """Runs a program alone and recorded. Returns what mneme-capture gave, and the bundle."""
        command = [program, *arguments]
        alone = self.run_well(command, env=self.environment)
        bundle = self.folder / f"{program.name}.tar"
        result = run([tool("capture"), "--device", "cuda", "--summary", *options, "-o", bundle, *command],
                     env=self.environment)
        self.assertEqual(result.status, status, result.text())
        self.assertEqual(result.out, alone.out, "the application printed something else")
        return result, bundle

    def parsed(self, bundle, folder):
        return [bundles.parsed(m) for m in bundles.read(bundle.read_bytes())
                if m.name.startswith(folder) and m.name.endswith(".json")]

    def instances(self, bundle):
        """Instances by the names of their kernels."""
        kernels = {k["id"]: k["demangled"].split("(")[0] for k in self.parsed(bundle, "kernels/")}
        found = {}
        for instance in self.parsed(bundle, "instances/"):
            found.setdefault(kernels[instance["kernel"]], []).append(instance)
        return found

    def check_replays(self, bundle):
        """Every instance, on the host device: and each changed memory."""
        result = self.run_well([tool("compile"), "-O2", "--target", "host", bundle], [tool("run")], [tool("verify")])
        lines = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertEqual(len(lines), len(self.parsed(bundle, "instances/")))
        for line in lines:
            self.assertTrue(line["changed_bytes"], line)

    def check_loaders_addresses(self, kernel):
        """tests/fake_cuda/loaded_record.cc"""
        for function, address in zip(kernel["functions"], kernel["function_addresses"], strict=True):
            self.assertTrue(0x790000000000 <= address < 0x7a0000000000, f"{function} {address:#x}")

    def check_code_for_the_gpu(self, bundle):
        """The IR that code for the GPU is made of, on the host device."""
        for kernel in self.parsed(bundle, "kernels/"):
            folder = self.folder / "ir" / kernel["id"]
            self.run_well([tool("compile"), "--target", "sm_90", "--assembler", "none", "--save-ir", folder,
                           "--kernel", "^" + re.escape(kernel["demangled"]) + "$", "-o", os.devnull, bundle])
            text, = folder.glob("*.ll")
            if kernel["functions"]:
                self.assertIn(f"i64 {kernel['function_addresses'][0]}", text.read_text())
            result = self.run_well([tool("compile"), "--target", "host", "--ir", text, "--kernel",
                                    "^" + re.escape(kernel["demangled"]) + "$", bundle], [tool("run")], [tool("verify")])
            lines = [json.loads(line) for line in result.out.decode().splitlines()]
            self.assertTrue(lines and all(line["changed_bytes"] for line in lines), lines)

    # ---- what the runtime's calls do ----

    def test_memory(self):
        result, bundle = self.capture(self.program("memory"), options=["--occurrences", 3])
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"combine": 3, "advance": 2}, result.error)
        info, = [bundles.parsed(m) for m in bundles.read(bundle.read_bytes()) if m.name == "bundle.json"]
        self.assertEqual(info["device"], "cuda")
        for instance in sum(instances.values(), []):
            self.assertNotIn("missing", instance)
        symbols = {s.get("symbol") for i in instances["combine"] for s in bundles.segments(i)}
        self.assertEqual(symbols, {None, "calls", "factor"})
        self.check_replays(bundle)

    def test_memory_from_before_the_first_code(self):
        """Of each kind: the recorder begins with whichever is the first."""
        for first in range(8):
            with self.subTest(first=first):
                result, bundle = self.capture(self.program("early_memory"), first)
                instance, = self.instances(bundle)["add"]
                self.assertNotIn("missing", instance, result.error)
                kinds = [s["kind"] for s in instance["segments"]]
                self.assertEqual((kinds.count("heap"), kinds.count("host")), (4, 4), instance["segments"])
                self.check_replays(bundle)

    def test_functions(self):
        """Pointers to functions in memory, which lead to where the loader put them: the assembler here has no table."""
        result, bundle = self.capture(self.program("functions"))
        kernels = {k["name"]: k for k in self.parsed(bundle, "kernels/")}
        self.assertEqual(len(kernels), 2)
        for kernel in kernels.values():
            self.assertEqual(sorted(f[:5] for f in kernel["functions"]), ["_Z6ne", "_Z6sq", "_Z9in"], kernel)
            self.check_loaders_addresses(kernel)
            self.assertNotEqual(kernel["id"], kernel["bitcode"])
        self.assertFalse([i["missing"] for of in self.instances(bundle).values() for i in of if "missing" in i], result.error)
        self.check_replays(bundle)
        self.check_code_for_the_gpu(bundle)
        # Other addresses than those in memory lead nowhere: replays are not verified.
        members = bundles.read(bundle.read_bytes())
        caller, = (k for k in kernels.values() if k["demangled"].startswith("call("))
        moved = {**caller, "function_addresses": [8, 16, 24]}
        moved.pop("digest")
        name = f"kernels/{caller['id']}/kernel.json"
        tampered = self.folder / "tampered.tar"
        tampered.write_bytes(bundles.write([(m.name, bundles.compact(moved) if m.name == name else m.data)
                                            for m in members]))
        result = run([tool("compile"), "--target", "host", "--kernel", "call", tampered], [tool("run")], [tool("verify")])
        self.assertEqual(result.status, 1, result.text())

    def test_texts(self):
        """Pointers to texts and constants in memory: they are looked up by the names that PTX has for them."""
        _, bundle = self.capture(self.program("texts"))
        symbols = self.instances(bundle)["describe"][0]["segments"]
        symbols = sorted(s["symbol"] for s in symbols if s.get("symbol"))
        self.assertEqual([symbol[:4] for symbol in symbols], [".str", ".str", ".str", "_ZL7", "__co"], symbols)
        self.check_replays(bundle)

    def test_relocatable_code(self):
        """The loader is asked for functions, texts and constants that a unit has to itself."""
        built = {name: self.folder / f"{name}.relocatable" for name in ["functions", "texts"]}
        for name, program in built.items():
            self.inject("-fgpu-rdc", "--offload-new-driver", PROGRAMS / f"{name}.cu", "-o", program)
        _, bundle = self.capture(built["functions"])
        for kernel in self.parsed(bundle, "kernels/"):
            self.assertEqual(len(kernel["functions"]), 3)
            self.check_loaders_addresses(kernel)
        self.check_replays(bundle)
        self.check_code_for_the_gpu(bundle)
        result, bundle = self.capture(built["texts"])
        instances = self.instances(bundle)
        self.assertFalse([i["missing"] for of in instances.values() for i in of if "missing" in i], result.error)
        symbols = [s["symbol"] for s in instances["describe"][0]["segments"] if s.get("symbol")]
        self.assertEqual(len([symbol for symbol in symbols if "__static__" in symbol]), len(symbols), symbols)
        self.assertEqual(len(symbols), 5)
        self.check_replays(bundle)

    def test_alignments(self):
        _, bundle = self.capture(self.program("alignments"))
        self.check_replays(bundle)

    def test_large_memory(self):
        """The device looks for what has changed; only that crosses the link."""
        result, bundle = self.capture(self.program("large_memory"), options=["--max-instances", 8])
        self.assertEqual(len(self.instances(bundle)["add"]), 8, result.error)
        # 24 MiB and a little more, before and after each launch; of the last, a third of that has changed.
        self.assertEqual(re.findall(r"Digests: (\d+) blocks", result.error), [str(18 * (384 + 1))])
        self.assertEqual(re.findall(r"Gathered: (\d+) blocks", result.error), ["128"])
        self.check_replays(bundle)

    def test_killed_while_memory_is_fetched(self):
        """Whenever that is, what was recorded before is whole."""
        program, bundle = self.program("large_memory"), self.folder / "killed.tar"
        recorded = set()
        for delay in [0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1]:
            script = f"'{program}' & sleep {delay}; kill -KILL $!; wait $!"
            result = run([tool("capture"), "--device", "cuda", "--max-instances", 8, "-o", bundle, "sh", "-c", script],
                         env=self.environment)
            self.assertNotIn("recording failed", result.error)
            count = len(self.parsed(bundle, "instances/"))
            recorded.add(count)
            self.assertIn(result.statuses, [[4], [0]] if count == 9 else [[4]], result.text())
            if count:
                self.check_replays(bundle)
        self.assertGreater(len(recorded), 1, "killed before all were recorded, and after some")

    def test_broken_kernel(self):
        _, bundle = self.capture(self.program("memory"))
        self.check_replays(bundle)
        text = self.run_well([tool("extract-ir"), "-S", "--kernel", "combine", bundle]).out.decode()
        self.assertIn("mul", text)
        broken = self.folder / "broken.ll"
        broken.write_text(text.replace(" mul nsw i32", " add nsw i32").replace(" mul i32 %", " add i32 %"))
        result = run([tool("compile"), "--target", "host", "--kernel", "combine", "--ir", broken, bundle], [tool("run")],
                     [tool("verify"), "--kernel", "combine"])
        self.assertEqual(result.statuses, [0, 0, 1], result.text())

    # ---- where it is recorded and replayed, unless told ----

    def automatic(self, *command, env):
        """What mneme-capture, not told where, says; and what the bundle says it recorded on."""
        bundle = self.folder / "automatic.tar"
        result = run([tool("capture"), "-o", bundle, *command], env=env)
        self.assertEqual(result.status, 0, result.text())
        return result.error, bundles.parsed(bundles.read(bundle.read_bytes())[0])["device"]

    def test_automatic_device(self):
        """The GPU for a CUDA program, started directly or by another, and where there is a GPU; else the host device."""
        cuda, hip = self.program("memory"), self.build(ROOT / "tests" / "small.hip")
        for command in [[cuda], ["env", "NOTHING=1", cuda]]:
            error, device = self.automatic(*command, env=self.environment)
            self.assertEqual(device, "cuda", error)
            self.assertIn("using the NVIDIA GPU", error)
        error, device = self.automatic(hip, env=self.environment)
        self.assertEqual(device, "host", error)
        self.assertRegex(error, "NVIDIA GPU, but .*small.* does not use the CUDA runtime: using the host device")
        error, device = self.automatic(cuda, env=self.no_driver())
        self.assertEqual(device, "host", error)
        self.assertRegex(error, "no GPU was found: using the host device")

    def test_automatic_device_of_what_a_script_starts(self):
        """The first kernel decides; those of programs that run elsewhere are counted."""
        cuda, hip = self.program("memory"), self.build(ROOT / "tests" / "small.hip")
        script = self.folder / "script"
        for started, device, refused in [([cuda], "cuda", None), ([hip], "host", None),
                                         ([cuda, hip], "cuda", "it ran on the host device, and the launches in the bundle on a GPU"),
                                         ([hip, cuda], "host", "it ran on a GPU, and the launches in the bundle on the host device")]:
            script.write_text("#!/bin/sh\nset -e\n" + "".join(f"'{program}'\n" for program in started))
            script.chmod(0o755)
            error, chosen = self.automatic(script, env=self.environment)
            self.assertEqual(chosen, device, error)
            self.assertIn("using the NVIDIA GPU" if device == "cuda" else "using the host device", error)
            if refused:
                self.assertIn(refused, error)
            else:
                self.assertNotIn("not recorded", error)
            self.check_replays(self.folder / "automatic.tar")
        # One that launches nothing is none.
        result = run([tool("capture"), "-o", self.folder / "nothing.tar", "true"], env=self.environment)
        self.assert_refused(result, 2, "launched no kernels")

    def no_driver(self):
        """An environment in which there is no GPU, whatever the machine has."""
        folder = self.folder / "no_driver"
        folder.mkdir(exist_ok=True)
        (folder / "libcuda.so.1").touch()  # the loader finds this, and gives up
        return {"LD_LIBRARY_PATH": str(folder)}

    def test_the_stand_in_is_no_gpu(self):
        environment = {"LD_LIBRARY_PATH": str(BUILD / "lib" / "mneme" / "hostgpu")}
        self.assert_refused(run([tool("capture"), "--device", "cuda", "true"], env=environment), 3, "no NVIDIA GPU")
        _, bundle = self.capture(self.program("memory"))
        compiled = self.folder / "compiled.tar"
        self.run_well([tool("compile"), "--assembler", "none", "-o", compiled, bundle])
        self.assert_refused(run([tool("run"), "--device", "cuda", compiled], env=environment), 3,
                            "no NVIDIA driver: the loader finds the host device's libcuda.so.1")

    def test_automatic_target(self):
        """Code is for what the recording was made on; where that is not, mneme-run says what to do."""
        _, bundle = self.capture(self.program("memory"))
        compiled = self.folder / "compiled.tar"
        self.run_well([tool("compile"), "--assembler", "none", "-o", compiled, bundle])
        targets = {v["configuration"]["target"] for v in self.parsed(compiled, "variants/")}
        self.assertEqual(targets, {"cuda:" + toolkit.PROCESSOR})
        self.assert_refused(run([tool("run"), compiled], env=self.no_driver()), 3, "no NVIDIA GPU.*--target host")
        # With both, each runs where it belongs; on one device only its own.
        both = self.folder / "both.tar"
        self.run_well([tool("compile"), "--target", "host", "-o", both, compiled])
        ran = run([tool("run"), "--device", "host", both], [tool("verify")])
        self.assertEqual(ran.status, 1, ran.text())
        statuses = [json.loads(line)["status"] for line in ran.out.decode().splitlines()]
        self.assertEqual(sorted(set(statuses)), ["failed", "verified"], ran.text())
        self.assertRegex(ran.error, f"compiled for cuda:{toolkit.PROCESSOR}, not for the device host")
        # Of what was recorded on the host device code is for that.
        hosted = self.folder / "hosted.tar"
        self.run_well([tool("capture"), "--device", "host", "-o", hosted, self.build(ROOT / "tests" / "small.hip")])
        self.run_well([tool("compile"), "-o", compiled, hosted])
        for variant in self.parsed(compiled, "variants/"):
            self.assertTrue(variant["configuration"]["target"].startswith("host:"), variant)

    def test_cuda_12(self):
        """A program that was linked with CUDA 12's library has a stand-in of its own on the host device."""
        libraries = self.folder / "libraries_of_12"
        libraries.mkdir()
        stand_ins = BUILD / "lib" / "mneme" / "hostgpu"
        for name, target in [("libcudart.so", "libcudart.so.12"), ("libamdhip64.so.5", "libamdhip64.so.5")]:
            (libraries / name).symlink_to(stand_ins / target)
        toolkit.make(self.folder / "toolkit_of_12", libraries)
        program, bundle = self.folder / "memory_12", self.folder / "memory_12.tar"
        built = run([tool("inject"), *toolkit.COMPILE, PROGRAMS / "memory.cu", "-Wl,--allow-shlib-undefined", "-o", program],
                    env={"CUDA_PATH": str(self.folder / "toolkit_of_12")})
        self.assertEqual(built.status, 0, built.text())
        self.assertIn("[libcudart.so.12]", run(["readelf", "-d", program]).out.decode())
        recorded = self.run_well([tool("capture"), "--device", "host", "-o", bundle, program])
        self.assertIn("memory: ok", recorded.out.decode() + recorded.error)
        self.assertEqual(sorted(self.instances(bundle)), ["advance", "combine"])
        self.check_replays(bundle)

    def test_cuda_12_on_a_gpu(self):
        """The recorder takes the runtime that the process has, however that came in, and no newer one beside it."""
        libraries = LIBRARIES / "12"
        environment = {"CUDA_PATH": str(self.folder / "toolkit_with_12"), "LD_LIBRARY_PATH": f"{libraries}:{LIBRARIES}"}
        toolkit.make(self.folder / "toolkit_with_12", libraries)
        program, plugin, loader = (self.folder / f"{name}_with_12" for name in ["memory", "plugin", "loader"])
        for source, output, options in [("memory", program, []), ("loader", loader, []),
                                        ("memory", plugin, ["-shared", "-fPIC", "-Dmain=run"])]:
            built = run([tool("inject"), *toolkit.COMPILE, PROGRAMS / f"{source}.cu", *options,
                         "-Wl,--allow-shlib-undefined", "-Wl,--as-needed", "-o", output], env=environment)
            self.assertEqual(built.status, 0, built.text())
        for needed, path in [(True, program), (True, plugin), (False, loader)]:
            self.assertEqual("[libcudart.so.12]" in run(["readelf", "-d", path]).out.decode(), needed, path)
        for command in [[program], [loader, plugin]]:
            bundle = self.folder / "memory_with_12.tar"
            recorded = self.run_well([tool("capture"), "--device", "cuda", "--occurrences", 3, "-o", bundle, *command],
                                     env=environment)
            self.assertIn("memory: ok", recorded.out.decode())
            self.assertEqual({name: len(of) for name, of in self.instances(bundle).items()},
                             {"combine": 3, "advance": 2}, recorded.error)
            self.check_replays(bundle)

    # ---- launches of other kinds ----

    def test_launches(self):
        """Cooperative ones and ones in clusters: instances say what they were."""
        _, bundle = self.capture(self.program("launches"), options=["--occurrences", 2])
        instances = self.instances(bundle)
        self.assertEqual([i.get("cooperative") for i in instances["reverse"]], [True, True])
        self.assertEqual([i.get("cluster") for i in instances["add"]], [[2, 1, 1], None])
        self.assertNotIn("cluster", instances["reverse"][1])
        for instance in sum(instances.values(), []):
            self.assertEqual(bundles.instance_id(instance), instance["id"])
        self.check_replays(bundle)
        ran = self.run_well([tool("compile"), "--target", "host", bundle], [tool("run"), "-o", "/dev/null"])
        self.assertRegex(ran.error, "each block is a cluster of its own")

    def test_stacks(self):
        """That an application asked for more, by the runtime or the driver, is recorded; what all have is not."""
        _, bundle = self.capture(self.program("stacks", "-L", LIBRARIES, "-lcuda"))
        instances = self.instances(bundle)
        self.assertEqual({name: [i.get("stack_bytes") for i in of] for name, of in instances.items()},
                         {"shallow": [None], "deep": [16 << 10], "deeper": [32 << 10]})
        self.check_replays(bundle)

    def test_functions_of_the_runtimes_kernels(self):
        """Launched by the driver: they are the kernels that start-up code registered."""
        result, bundle = self.capture(self.program("symbols", "-L", LIBRARIES, "-lcuda"), options=["--occurrences", 2])
        counts = {name: len(of) for name, of in self.instances(bundle).items()}
        self.assertEqual(counts, {"add": 2, "scale": 1, "negate": 1}, result.error)
        self.assertNotIn("never registered", result.error)
        self.check_replays(bundle)

    def test_pointers(self):
        """What the driver says of recorded memory is what it says of its own."""
        result, bundle = self.capture(self.program("pointers", "-L", LIBRARIES, "-lcuda"))
        self.assertEqual({name: len(of) for name, of in self.instances(bundle).items()}, {"add": 1}, result.error)
        self.check_replays(bundle)

    def test_heap(self):
        """Kernels allocate from memory that is recorded: also in a graph, and where the vendor's heap is larger."""
        result, bundle = self.capture(self.program("heap"), options=["--occurrences", 2])
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"build": 2, "sum": 2, "thin": 1})
        for instance in sum(instances.values(), []):
            self.assertNotIn("missing", instance)
        largest = max(segment["size"] for segment in instances["build"][0]["segments"])
        self.assertGreater(largest, 64 << 20, "the heap is as large as the application asked for")
        self.check_replays(bundle)

    def test_heap_of_the_vendor(self):
        """What kernels allocate there is the driver's: it is said that it is missing."""
        program = self.folder / "vendors_heap"
        self.inject(PROGRAMS / "heap.cu", "-o", program, options=["--device-heap", "vendor"])
        result, bundle = self.capture(program)
        instance, *_ = self.instances(bundle)["build"]
        self.assertIs(instance["complete"], False)
        self.assertRegex(" ".join(instance["missing"]), "heap from which kernels allocate")

    # ---- textures and surfaces ----

    HANDLES = [{"argument": 16, "kind": "texture"}, {"argument": 24, "kind": "surface"}]

    def textured(self, handles, name="textured"):
        """The program, with what mneme-inject says of kernels whose IR has a GPU's instructions for textures."""
        program = self.folder / name
        data = bytearray(self.program("textures").read_bytes())
        found = [match.end() for match in re.finditer(b"MNEMEIR1", data)]
        self.assertTrue(found)
        for at in found:
            size, = struct.unpack_from("<Q", data, at)
            info = json.loads(data[at + 16:at + 16 + size])
            del info["pointers"]  # which makes room
            info["source"] = ""
            if handles:
                info["handles"] = handles
            info["source"] = "x" * (size - len(bundles.compact(info)))
            data[at + 16:at + 16 + size] = bundles.compact(info)
        program.write_bytes(data)
        program.chmod(0o755)
        return program

    def raw(self, bundle):
        """What raw members hold: by state and file."""
        restored = self.folder / "raw.tar"
        self.run_well([tool("restore"), "-o", restored, bundle])
        return {tuple(m.name.split("/")[1:]): m.data for m in bundles.read(restored.read_bytes())
                if m.name.startswith("memory/")}

    def replay_played(self, bundle, code, status=0):
        """On the GPU that is played for replays, where kernels are functions by their names."""
        compiled, played = self.folder / "compiled.tar", self.folder / "played.tar"
        self.run_well([tool("compile"), "--assembler", "none", "-o", compiled, bundle])
        members = []
        for member in bundles.read(compiled.read_bytes()):
            data = member.data
            if member.name.endswith("/variant.json"):
                data = bundles.compact({**bundles.parsed(member), "code_digest": bundles.digest(code)})
            members.append((member.name, code if member.name.endswith("/code.ptx") else data))
        played.write_bytes(bundles.write(members))
        ran = run([tool("run"), played], [tool("verify")], env={"LD_LIBRARY_PATH": str(BUILD / "tests" / "fake")})
        self.assertEqual(ran.statuses, [0, status], ran.text())
        lines = [json.loads(line) for line in ran.out.decode().splitlines()]
        self.assertEqual(len(lines), len(self.parsed(bundle, "instances/")))
        return lines

    def test_textures(self):
        """What handles stand for is recorded, arrays as memory; and where it is replayed other handles stand for it."""
        program = self.textured(self.HANDLES)
        words = lambda first, step: b"".join((first + step * i).to_bytes(4, "little") for i in range(64))
        for kind, source in [("array", "array"), ("linear", "linear"), ("pitched", "pitched"), ("levels", "mipmapped array")]:
            with self.subTest(kind):
                result, bundle = self.capture(program, kind, options=["--occurrences", 4])
                self.assertEqual(bundles.parsed(bundles.read(bundle.read_bytes())[0])["version"], 6)
                instances, raw = self.instances(bundle)["add"], self.raw(bundle)
                self.assertEqual(len(instances), 2, result.error)
                for number, instance in enumerate(instances):
                    self.assertNotIn("missing", instance)
                    texture, surface = instance["textures"]
                    self.assertEqual((texture["argument"], texture["kind"], texture["of"]), (16, "texture", source))
                    self.assertEqual(texture["sampling"], [1, 1, 1, number, 1] + 6 * [0] + [0x3e800000, 0, 0])
                    self.assertEqual((surface["argument"], surface["kind"], surface["of"]), (24, "surface", "array"))
                    arrays = {a["address"]: a for a in instance["arrays"]}
                    self.assertEqual(len(arrays), 1 if kind in ["linear", "pitched"] else 2)
                    names = {s["address"]: s["symbol"] for s in bundles.segments(instance) if s["address"] in arrays}
                    file = names[surface["address"]] + ".raw"
                    self.assertEqual(raw[instance["prologue"], file], words(1000 + number, 3))
                    self.assertEqual(raw[instance["epilogue"], file], words(1001 + number, 3))
                    if texture["address"] in arrays:
                        contents = raw[instance["prologue"], names[texture["address"]] + ".raw"]
                        self.assertEqual(contents, (64 + 16 + 4 if kind == "levels" else 64) * b"\1\0\0\0")
                for line in self.replay_played(bundle, b"textures"):
                    self.assertEqual(line["status"], "verified", line)
                for line in self.replay_played(bundle, b"textures, one texel off", status=1):
                    self.assertEqual(line["status"], "not verified", line)
        # The CPU has other handles, which this kernel takes for the fake's.
        ran = run([tool("compile"), "--target", "host", bundle], [tool("run")], [tool("verify")])
        self.assertEqual(ran.statuses, [0, 0, 1], ran.text())
        self.assertEqual(ran.out.decode().count('"status":"failed"'), 2, ran.text())

    def test_textures_where_no_other_memory_is(self):
        """The recorder's copies are the first that there is of device memory."""
        result, bundle = self.capture(self.textured(self.HANDLES, "textured_alone"), "alone", options=["--occurrences", 4])
        for instance in self.instances(bundle)["add"]:
            self.assertNotIn("missing", instance, result.error)
            symbols = sorted(s.get("symbol", "") for s in bundles.segments(instance))
            self.assertEqual(symbols, ["__mneme_array_0", "__mneme_array_1", "__mneme_textures"])
            self.assertNotEqual(instance["prologue"], instance["epilogue"])

    def test_textures_that_are_not_recorded(self):
        """Why not is said, and mneme-run leaves such launches alone."""
        elsewhere = [{"kind": "texture"}, *self.HANDLES]
        for handles, kind, reason in [(None, "array", "built by a mneme-inject that did not look for their handles"),
                                      (elsewhere, "array", "handles are computed or not among its arguments"),
                                      (self.HANDLES, "none", "knows no texture by the handle 0x77 at byte 16"),
                                      (self.HANDLES, "refused", "array cannot be copied")]:
            with self.subTest(reason):
                _, bundle = self.capture(self.textured(handles, "not_recorded"), kind)
                for instance in self.instances(bundle)["add"]:
                    self.assertIs(instance["complete"], False)
                    self.assertNotIn("textures", instance)
                    self.assertRegex(" ".join(instance["missing"]), reason)
                ran = run([tool("compile"), "--target", "host", bundle], [tool("run")])
                self.assertEqual(ran.statuses, [0, 2])
                self.assertRegex(ran.error, "is not complete and not run: .*" + reason)

    def test_per_thread_streams(self):
        _, bundle = self.capture(self.program("per_thread"), options=["--max-instances", 6])
        self.assertEqual({name: len(of) for name, of in self.instances(bundle).items()}, {"add": 6})
        self.check_replays(bundle)

    def test_several_devices(self):
        result, bundle = self.capture(self.program("devices"), options=["--host-devices", "2"])
        self.assertEqual({name: sorted(i.get("device", 0) for i in of) for name, of in self.instances(bundle).items()},
                         {"fill": [0, 1], "combine": [0, 1]}, result.error)
        self.check_replays(bundle)

    def test_a_kernel_that_waits_for_the_application(self):
        result, _ = self.capture(self.program("polling"), status=2)
        self.assertRegex(result.error, "waits for the application")

    def test_virtual_memory(self):
        """What the application maps itself is recorded where it lies; what lies at two addresses is named."""
        program = self.folder / "virtual_memory"
        self.inject(PROGRAMS / "virtual_memory.cu", f"-L{LIBRARIES}", "-lcuda", "-o", program)
        result, bundle = self.capture(program, options=["--occurrences", 5])
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"add_around": 3, "add": 2}, result.error)
        for instance in [*instances["add_around"], instances["add"][0]]:
            self.assertNotIn("missing", instance)
        # Where every process has it, but for what the application asked for.
        addresses = {int(s["address"], 16) for s in instances["add_around"][0]["segments"]}
        self.assertEqual(len([a for a in addresses if 0x300000000000 <= a < 0x400000000000]), 4, addresses)
        twice = instances["add"][1]
        self.assertIs(twice["complete"], False)
        self.assertRegex(" ".join(twice["missing"]), "cuMemMap mapped at two addresses")
        chosen = ["--kernel", "add_around"]
        ran = self.run_well([tool("compile"), "--target", "host", *chosen, bundle], [tool("run"), *chosen],
                            [tool("verify"), *chosen])
        lines = [json.loads(line) for line in ran.out.decode().splitlines()]
        self.assertEqual([(line["status"], bool(line["changed_bytes"])) for line in lines], [("verified", True)] * 3)

    # ---- graphs ----

    def test_graphs(self):
        """Kernels of graphs are recorded with the memory that they see: what other nodes did before them is done."""
        result, bundle = self.capture(self.program("graphs"), options=["--occurrences", 4])
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"twice": 3, "add": 3}, result.error)
        values = [int.from_bytes(bytes.fromhex(i["arguments"])[8:12], "little") for i in instances["add"]]
        self.assertEqual(values, [3, 5, 50], "what was launched twice left the same twice")
        self.assertEqual([i["index"] for of in ["twice", "add"] for i in instances[of]], [0, 5, 7, 1, 4, 6])
        self.check_replays(bundle)
        self.assertRegex(result.error, r"warning: \(graph\): 1 launch not recorded: a node that is no kernel's was changed")

    def test_graphs_that_are_only_counted(self):
        result, bundle = self.capture(self.program("graphs"), options=["--kernel", "twice", "--max-instances", 1])
        self.assertEqual({name: len(of) for name, of in self.instances(bundle).items()}, {"twice": 1})
        self.assertRegex(result.error, r"3 kernels, 9 launches, 1 recorded")

    def test_graphs_in_several_streams(self):
        """One launch of a graph ends before the next one of it begins, wherever that is."""
        for options in [[], ["--occurrences", 2]]:
            with self.subTest(options):
                self.capture(self.program("graph_streams"), options=options)

    def test_graphs_with_other_nodes(self):
        result, bundle = self.capture(self.program("graph_nodes"), options=["--occurrences", 4])
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"add": 3, "next": 4}, result.error)
        self.assertFalse([i for of in instances.values() for i in of if "missing" in i])
        self.check_replays(bundle)
        self.assertRegex(result.error, r"warning: \(graph\): 1 launch not recorded: a node that is no kernel's was changed")

    def test_graphs_with_conditions(self):
        """Kernels decide what a graph does; past the limits the driver's graph does it."""
        result, bundle = self.capture(self.program("graph_conditions"), options=["--occurrences", 6])
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"choose": 4, "add": 4, "next": 4},
                         result.error)
        self.assertFalse([i for of in instances.values() for i in of if "missing" in i])
        self.assertRegex(result.error, r"3 kernels, 54 launches, 12 recorded")
        self.check_replays(bundle)
        result, _ = self.capture(self.program("graph_conditions"), options=["--max-instances", 1])
        self.assertRegex(result.error, r"3 recorded")

    def test_graphs_of_the_driver(self):
        program = self.folder / "driver_graphs"
        self.inject(PROGRAMS / "driver_graphs.cu", f"-L{LIBRARIES}", "-lcuda", "-o", program)
        result, bundle = self.capture(program, self.module_kernels(), options=["--occurrences", 4])
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"scale": 3, "shift": 2, "minus": 2},
                         result.error)
        values = [int.from_bytes(bytes.fromhex(i["arguments"])[8:12], "little") for i in instances["scale"]]
        self.assertEqual(values, [3, 2, 5])
        self.assertIn("offset", [s.get("symbol") for s in instances["shift"][0]["segments"]])
        self.assertNotIn("not recorded", result.error)
        self.check_replays(bundle)

    # ---- the driver's calls ----

    def module_kernels(self):
        kernels = self.folder / "kernels.cubin"
        if not kernels.exists():
            self.inject("--cuda-device-only", PROGRAMS / "module_kernels.cu", "-o", kernels)
        return kernels

    def check_modules(self, name, *arguments, source="modules"):
        kernels = self.module_kernels()
        program = self.folder / name
        self.inject(*arguments, PROGRAMS / f"{source}.cu", f"-L{LIBRARIES}", "-lcuda", "-o", program)
        _, bundle = self.capture(program, kernels)
        instances = self.instances(bundle)
        self.assertEqual({name: len(of) for name, of in instances.items()}, {"scale": 1, "shift": 1})
        self.assertIn("offset", [s.get("symbol") for s in instances["shift"][0]["segments"]])
        self.check_replays(bundle)

    def test_driver_only(self):
        self.check_modules("driver_only")

    def test_functions_of_the_driver_that_are_looked_up(self):
        self.check_modules("looked_up", "-DLOOKED_UP")

    def test_kernels_from_a_table_of_the_drivers(self):
        """Whose handles nobody has seen: the driver says what they are."""
        self.check_modules("unseen", "-DUNSEEN")

    def test_functions_of_the_driver_that_dlsym_finds(self):
        self.check_modules("by_dlsym", "-DBY_DLSYM")

    def test_lookups(self):
        """What dlsym and dlvsym find: the hooks of what is hooked, and all else as without a recorder."""
        program = self.program("lookups")
        self.run_well([program, "plain"], env=self.environment)
        self.run_well([tool("capture"), "--device", "cuda", "-o", self.folder / "lookups.tar", program, "recorded"],
                      env=self.environment)

    def test_libraries(self):
        self.check_modules("libraries", "-DLIBRARY")

    def test_libraries_of_the_runtime(self):
        self.check_modules("runtimes_libraries", source="libraries")
        self.check_modules("runtimes_images", "-DIMAGE", source="libraries")

    def test_kernels_that_are_counted(self):
        self.check_modules("runtimes_kernels", "-DIMAGE", "-DCOUNTED", source="libraries")
        self.check_modules("drivers_kernels", "-DCOUNTED", "-DDRIVER", source="libraries")
        self.check_modules("modules_functions", "-DCOUNTED", "-DDRIVER", "-DMODULE", source="libraries")

    def test_modules_with_the_runtimes_memory(self):
        self.check_modules("modules", "-DRUNTIME_MEMORY")


if __name__ == "__main__":
    unittest.main(verbosity=2)
