# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles of staged.cu that are damaged, hostile or no good for the GPU, for check_damaged, which has a line for each in
the file `expected`, in fields that ; ends:

    name, words of mneme-run, its exit status, runs, how many of them verify, what its messages match (grep -E)

The same is made for the host device, where the messages are others."""

import pathlib
import struct
import subprocess

import bundles
from bundles import Member
from support import run, tool

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = "staged"
INSTANCES = 3


class Damaged:
    def __init__(self, folder, work, target):
        """In `folder`, with `work` for what is needed on the way; for "sm_90" or "host"."""
        self.folder, self.work, self.target = folder, work, target
        self.gpu = target != "host"
        self.lines = []
        folder.mkdir(parents=True, exist_ok=True)

    # ---- what is needed on the way ----

    def well(self, *stages, **more):
        result = run(*stages, **more)
        assert not any(result.statuses), result.text()
        return result.out

    def build(self, name, *flags):
        program = self.work / name
        self.well([tool("inject"), "clang++-19", "-std=c++17", "-x", "cuda", "--offload-arch=sm_90", "-O2", *flags,
                   HERE / "staged.cu", "-o", program])
        return program

    def compile(self, *words, bundle=None, target=None):
        return self.well([tool("compile"), "--target", target or self.target, *words], input=bundle or self.recording)

    def edited(self, edit, which=1):
        """The good bundle with an instance's json changed, under the hash that it then has."""
        members = list(self.members)
        index = [i for i, m in enumerate(members) if m.name.startswith("instances/")][which]
        value = bundles.parsed(members[index])
        old = value["id"]
        edit(value)
        value["id"] = bundles.instance_id(value)
        members[index] = Member(members[index].name.replace(old, value["id"]), bundles.compact(value))
        summary = bundles.parsed(members[-1])
        for entry in summary["occurrences"]:
            entry["instance"] = entry["instance"].replace(old, value["id"])
        members[-1] = Member("summary.json", bundles.compact(summary))
        return bundles.write(members)

    def with_code(self, change, members=None):
        """With other code, which its digest vouches for."""
        members = list(members or self.members)
        code = next(i for i, m in enumerate(members) if "/code." in m.name)
        info = next(i for i, m in enumerate(members) if m.name.endswith("/variant.json"))
        value = bundles.parsed(members[info])
        data = change(members[code].data)
        value["code_digest"] = bundles.digest(data)
        members[info] = Member(members[info].name, bundles.compact(value))
        members[code] = Member(members[code].name, data)
        return bundles.write(members)

    # ---- the cases ----

    def case(self, name, archive, *, status=0, runs=INSTANCES, verified, says, host=None, words=""):
        """`says`: what a GPU has mneme-run say; `host` what the host device, if it is another sentence."""
        (self.folder / f"{name}.tar").write_bytes(archive)
        sentence = says if self.gpu or host is None else host
        assert ";" not in words + sentence
        self.lines.append(f"{name};{words};{status};{runs};{verified};{sentence};\n")

    def make(self):
        program = self.build("staged")
        self.well([tool("capture"), "--device", "host", "-o", self.work / "staged.tar", program])
        self.recording = (self.work / "staged.tar").read_bytes()
        good = self.compile("-O3")
        self.members = bundles.read(good)
        self.case("whole", good, verified=3, says="")
        self.files(good)
        self.code(good)
        self.launches()
        self.memory()
        self.variants()
        (self.folder / "expected").write_text("".join(self.lines))

    def files(self, good):
        last = [m for m in self.members if m.name.startswith("instances/")][-1]
        self.case("cut", good[:last.begin + 100], status=2, runs=2, verified=2, says="ends|cut|truncated|short")
        code = next(m for m in self.members if "/code." in m.name)
        flipped = bytearray(good)
        flipped[code.contents + len(code.data) // 2] ^= 0x10
        self.case("flipped_bit", bytes(flipped), status=2, runs=0, verified=0, says="code.*(digest|damaged|not what)")

    def code(self, good):
        self.case("no_code", self.with_code(lambda data: b"no code at all" + data[14:]), verified=0,
                  says="run failed: .*the driver cannot load its code: .*not recognized", host="run failed: ")
        if self.gpu:
            self.case("illegal_instruction", self.with_code(_without_instructions), verified=0,
                      says="run failed: .*illegal instruction")
            self.case("cut_code", self.with_code(lambda data: data[:len(data) // 2]), verified=0, says="run failed: ")
            other = self.compile("-O3", target="sm_80")
            self.case("other_architecture", other, verified=0, says="run failed: .*no kernel image is available")
            host = self.compile("-O3", target="host")
            self.case("code_for_the_host", host, verified=0, says="compiled for host.*not for the device cuda.*--target")
            text = self.compile("-O3", "--assembler", "none")
            self.case("without_assembler", text, verified=3, says="")
            lies = self.with_code(lambda ptx: ptx.replace(b"bar.sync", b"bar.blub"), bundles.read(text))
            self.case("no_ptx", lies, verified=0, says="run failed: .*cannot compile its PTX: .*[Uu]nknown|bar")
        members = [Member(m.name, m.data) for m in bundles.read(good)]
        info = next(i for i, m in enumerate(members) if m.name.endswith("/kernel.json"))
        value = bundles.parsed(members[info])
        value["name"] = "_Z7nothingPiPKii"
        members[info] = Member(members[info].name, bundles.compact(value))
        if self.gpu:  # the host device's code has one entry, whatever its name
            self.case("unknown_function", bundles.write(members), verified=0,
                      says="run failed: .*has no function '_Z7nothing")

    def launches(self):
        """One of three instances is not what can be launched; the others are as they were."""
        def put(key, value):
            return self.edited(lambda instance: instance.update({key: value}))

        if self.gpu:
            self.case("large_block", put("block", [2048, 1, 1]), verified=2, says="run failed: .*launching kernel 'staged")
            self.case("large_grid", put("grid", [1, 70000, 1]), verified=2, says="run failed: .*launching kernel 'staged")
        self.case("large_shared_memory", put("shared_bytes", 300 << 10), verified=2,
                  says="run failed: .*(shared memory|launching kernel 'staged)", host="run failed: .*shared memory")

        def stray(instance):
            arguments = bytearray.fromhex(instance["arguments"])
            arguments[8:16] = struct.pack("<Q", 0x4ff000000000)
            instance["arguments"] = arguments.hex()
        self.case("stray_pointer", self.edited(stray), verified=2, says="run failed: .*illegal memory access",
                  host="run failed: ")

    def memory(self):
        if not self.gpu:
            return
        archive = bundles.write(self.members)
        self.case("taken_addresses", archive, verified=0, says="0x400000000000-0x[0-9a-f]* is taken",
                  words="LD_PRELOAD=FOLDER/taker.so")
        subprocess.run(["clang-19", "-shared", "-fPIC", HERE / "taker.c", "-o", self.folder / "taker.so"], check=True)

        def huge(instance):
            largest = max((s for s in instance["segments"] if "symbol" not in s), key=lambda s: s["size"])
            instance["segments"] = [s for s in instance["segments"] if s != largest and
                                    ("symbol" in s or int(s["address"], 16) < int(largest["address"], 16))]
            instance["segments"].append({**largest, "size": 1 << 40})
            instance["segments"].sort(key=lambda s: int(s["address"], 16))
        self.case("huge_memory", self.edited(huge, which=2), status=2, runs=2, verified=2, says="does not list block")

        def variable(instance):
            for segment in instance["segments"]:
                if segment.get("symbol") == "factor":
                    segment["size"] = 64
        self.case("another_variable", self.edited(variable), verified=2,
                  says="run failed: .*variable 'factor' has 4 bytes in the code of kernel 'staged.* and 64 in the recording")

    def variants(self):
        """Bad variants beside good ones."""
        for name, status_of_runs, says, host in [
                ("FAULTS", 0, "run failed: .*illegal memory access", "run failed: "),
                ("HANGS", 0, "did not end within 1 seconds .*--timeout", None),
                ("WRONG", 0, "", None)]:
            ir = self.work / f"{name}.bc"
            ir.write_bytes(self.well([tool("extract-ir"), self.build(name, f"-D{name}")]))
            both = self.compile("-O1", bundle=self.compile("-O3", "--ir", ir, bundle=self.compile("-O3")))
            self.case(f"variant_that_{name.lower()}", both, runs=3 * INSTANCES, verified=2 * INSTANCES, says=says,
                      host=host, words="--timeout 1" if name == "HANGS" else "")


def _without_instructions(cubin):
    """Each instruction of the kernel's is one that there is none of."""
    table, size, count = struct.unpack_from("<Q10xHH", cubin, 40)
    names = struct.unpack_from("<H", cubin, 62)[0]
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    changed = bytearray(cubin)
    for name, _, _, _, offset, length in sections:
        begin = sections[names][4] + name
        if cubin[begin:].startswith(b".text."):
            changed[offset:offset + length] = b"\xff" * length
            return bytes(changed)
    raise AssertionError("there is no code in the cubin")
