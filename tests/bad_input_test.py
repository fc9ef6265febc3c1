#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles that are cut short, broken or hostile: one clear sentence, exit status 2, never a crash, and nothing on
standard output that a later stage would mistake for a whole bundle."""

import io
import json
import struct
import tarfile
import unittest

import bundles
from support import ROOT, TestCase, run, tool

STAGES = {name: [tool(name)] for name in ["compile", "run", "verify", "restore", "extract-ir"]}
STAGES["compile"] = [tool("compile"), "-O1"]
STAGES["extract-ir"] = [tool("extract-ir"), "--list"]
MEMORY_LIMIT = 700 << 20  # bytes a tool may have resident while it finds out that its input is hostile


def is_whole(archive):
    """Whether a later stage would take these bytes for a whole bundle."""
    try:
        members = bundles.read(archive)
    except tarfile.TarError:
        return False
    summary = [bundles.parsed(m) for m in members if m.name == "summary.json"]
    return bool(summary) and not summary[0].get("truncated") and archive.endswith(bytes(1024))


class BadInput(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = cls.build(ROOT / "tests" / "small.hip")
        cls.recording = cls.record(program).read_bytes()
        compiled = run([tool("compile"), "-O1"], input=cls.recording)
        assert compiled.status == 0, compiled.text()
        cls.compiled = compiled.out
        cls.members = bundles.read(cls.compiled)

    # ---- helpers ----

    def first(self, prefix, suffix=""):
        """The index of the first member so named."""
        return next(i for i, m in enumerate(self.members) if m.name.startswith(prefix) and m.name.endswith(suffix))

    def edited(self, prefix, suffix, edit):
        """The bundle with one member's bytes changed."""
        index = self.first(prefix, suffix)
        return bundles.write([(m.name, edit(m.data)) if i == index else m for i, m in enumerate(self.members)])

    def edited_json(self, prefix, suffix, edit):
        """The bundle with one member's json changed, and sealed again. An instance gets the hash that it then has."""
        index = self.first(prefix, suffix)
        member = self.members[index]
        value = bundles.parsed(member)
        old = value.get("id", "")
        edit(value)
        name = member.name
        if prefix == "instances/" and value.get("id") == old:
            try:
                value["id"] = bundles.instance_id(value)
                name = name.replace(old, value["id"])
            except (ValueError, struct.error):
                pass  # not even a hash can be made of it
        return bundles.write([*self.members[:index], (name, bundles.compact(value)), *self.members[index + 1:]])

    def feed(self, name, archive):
        """Feeds a stage; whatever it makes of the input, it must not crash, hoard memory or pass it off as whole."""
        result = run(STAGES[name], input=archive)
        self.assertIn(result.status, (0, 1, 2), result.text())
        self.assertLess(result.usage[0].ru_maxrss * 1024, MEMORY_LIMIT, result.text())
        if result.status == 2:
            self.assert_refused(result, 2, ".")
            self.assertFalse(is_whole(result.out), result.text())
        return result

    def refuse(self, archive, pattern, by=("run",)):
        """Every stage survives it, and those named refuse it."""
        for name in STAGES:
            with self.subTest(stage=name):
                result = self.feed(name, archive)
                if name in by:
                    self.assert_refused(result, 2, pattern)

    # ---- no bundle at all ----

    def test_the_good_one_is_good(self):
        for name in ["compile", "run", "restore", "extract-ir"]:
            self.assertEqual(self.feed(name, self.compiled).status, 0)
        self.assertEqual(self.feed("run", bundles.write(self.members)).status, 0, "our own archive is refused")

    def test_whose_it_was_does_not_matter(self):
        """Archives of people whose names are not ASCII, as Python packs them."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for member in self.members:
                info = tarfile.TarInfo(member.name)
                info.size, info.uname, info.gname = len(member.data), "jürgen", "größe"
                tar.addfile(info, io.BytesIO(member.data))
        result = run(STAGES["run"], STAGES["verify"], input=out.getvalue())
        self.assertEqual(result.statuses, [0, 0], result.text())

    def test_empty_stream(self):
        self.refuse(b"", "empty|no bundle|nothing", by=STAGES)

    def test_no_tar(self):
        self.refuse(b"This is no archive.\n" * 1000, "tar|archive|bundle", by=STAGES)
        self.refuse(bytes(range(256)) * 64, "tar|archive|bundle", by=STAGES)

    def test_tar_that_is_no_bundle(self):
        self.refuse(bundles.write([("README", b"hello\n")]), "bundle", by=STAGES)
        self.refuse(bundles.write([]), "bundle|empty", by=STAGES)

    def test_newer_format(self):
        newer = self.edited_json("bundle.json", "", lambda value: value.update(version=9))
        self.refuse(newer, "version 9|newer", by=STAGES)

    def test_input_files(self):
        for name, stage in STAGES.items():
            with self.subTest(stage=name):
                self.assert_refused(run([*stage, self.folder / "absent.tar"]), 2, "absent.tar.*No such file")
                self.assert_refused(run([*stage, self.folder]), 2, "director|folder")

    # ---- cut short ----

    def cuts(self):
        """Where to cut: at each member boundary, and at twenty places inside members."""
        boundaries = [m.begin for m in self.members[1:]] + [self.members[-1].end]
        inside = [len(self.compiled) * (2 * i + 1) // 40 for i in range(20)]
        headers = [m.begin + 100 for m in self.members[1::7]]
        return sorted(set(boundaries + inside + headers))

    def test_truncation(self):
        self.assertGreater(len(self.cuts()), 35)
        for cut in self.cuts():
            whole = sum(m.name.startswith("instances/") and m.contents + len(m.data) <= cut for m in self.members)
            with self.subTest(cut=cut, instances=whole):
                result = self.feed("run", self.compiled[:cut])
                if cut < self.members[1].begin:
                    self.assert_refused(result, 2, "bundle")
                    continue
                self.assert_refused(result, 2, "cut short .*; the members before the cut were passed on")
                verified = run([tool("verify")], input=result.out)
                verdicts = [json.loads(line)["status"] for line in verified.out.decode().splitlines()]
                self.assertEqual(verdicts, ["verified"] * whole, verified.text())

    def test_truncation_in_other_stages(self):
        for cut in self.cuts():
            if cut < self.members[1].begin:
                continue
            for name in ["compile", "restore", "extract-ir"]:
                with self.subTest(cut=cut, stage=name):
                    result = self.feed(name, self.compiled[:cut])
                    self.assert_refused(result, 2, "cut short")
            passed = self.feed("compile", self.compiled[:cut])
            names = [m.name for m in bundles.read(passed.out)]
            expected = [m.name for m in self.members
                        if m.contents + len(m.data) <= cut and m.name.startswith("instances/")]
            self.assertEqual([n for n in names if n.startswith("instances/")], expected)

    # ---- flipped bits ----

    def flipped(self, prefix, suffix, position, bit=0x10):
        def flip(data):
            at = position if position >= 0 else len(data) + position
            return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]
        return self.edited(prefix, suffix, flip)

    def test_flipped_bit_in_a_pack(self):
        size = len(self.members[self.first("memory/", ".pack")].data)
        for position in [0, 5, 9, 20, size // 3, size // 2, size - 5]:
            with self.subTest(position=position):
                self.refuse(self.flipped("memory/", ".pack", position), "pack|block|digest", by=["run", "restore"])

    def test_flipped_bit_in_a_state(self):
        for position in [0, 5, 9, 20, -1]:
            with self.subTest(position=position):
                self.refuse(self.flipped("states/", "", position), "state", by=["run", "restore"])

    def test_flipped_bit_in_bitcode(self):
        size = len(self.members[self.first("kernels/", ".bc")].data)
        for position in [0, size // 2, size - 3]:
            with self.subTest(position=position):
                self.refuse(self.flipped("kernels/", ".bc", position), "kernel.bc|digest|bitcode",
                            by=["compile", "extract-ir"])

    def test_flipped_bit_in_code(self):
        size = len(self.members[self.first("variants/", ".so")].data)
        for position in [0, size // 2, size - 3]:
            with self.subTest(position=position):
                self.refuse(self.flipped("variants/", ".so", position), "code.so|digest|variant", by=["run"])

    def test_flipped_bit_in_json(self):
        for prefix, suffix in [("bundle.json", ""), ("kernels/", ".json"), ("variants/", ".json"),
                               ("instances/", ".json"), ("summary.json", "")]:
            data = self.members[self.first(prefix, suffix)].data
            self.refuse(self.flipped(prefix, suffix, 0), "json", by=["run"])
            for position in range(1, len(data), max(1, len(data) // 12)):
                with self.subTest(member=prefix, position=position):
                    self.assert_refused(self.feed("run", self.flipped(prefix, suffix, position, 0x01)), 2, "json")

    def test_flipped_bit_in_an_identity(self):
        for prefix, suffix, key in [("kernels/", ".json", "id"), ("variants/", ".json", "id"),
                                    ("instances/", ".json", "id"), ("instances/", ".json", "kernel")]:
            def change(value, key=key):
                value[key] = value[key][:-1] + ("0" if value[key][-1] != "0" else "1")
            with self.subTest(member=prefix, key=key):
                self.refuse(self.edited_json(prefix, suffix, change), "id|name|digest|hash|kernel", by=["run"])

    # ---- lies ----

    def with_epilogue(self, state):
        """The bundle with the first instance's epilogue state replaced, under its right name."""
        name = bundles.digest(state)
        index = self.first("instances/")
        instance = bundles.parsed(self.members[index])
        instance["epilogue"] = name
        changed = [m for m in self.members[:index]] + [(f"states/{name}", state)]
        return bundles.write(changed + [(self.members[index].name, bundles.compact(instance))]
                             + self.members[index + 1:])

    def epilogue(self):
        name = bundles.parsed(self.members[self.first("instances/")])["epilogue"]
        return bundles.read_state(self.members[self.first(f"states/{name}")].data)

    def test_a_digest_that_no_pack_holds(self):
        blocks = self.epilogue()
        blocks[-1] = (blocks[-1][0], "0123456789abcdef" * 2)
        self.refuse(self.with_epilogue(bundles.write_state(blocks)), "0123456789abcdef", by=["run", "restore"])

    def test_states_that_lie(self):
        blocks = self.epilogue()
        lies = {
            "count one too large": bundles.write_state(blocks, len(blocks) + 1),
            "count one too small": bundles.write_state(blocks, len(blocks) - 1),
            "count huge": bundles.write_state(blocks, 2**63),
            "count overflowing": bundles.write_state(blocks, 2**64 // 24 + 1),
            "address not aligned": bundles.write_state([(blocks[0][0] + 1, blocks[0][1]), *blocks[1:]]),
            "addresses descending": bundles.write_state(blocks[::-1]),
            "address twice": bundles.write_state([blocks[0], *blocks]),
            "newer version": b"MNST\2" + bundles.write_state(blocks)[5:],
            "no magic": b"MNSX" + bundles.write_state(blocks)[4:],
            "nothing": b"",
        }
        for what, state in lies.items():
            with self.subTest(what=what):
                self.refuse(self.with_epilogue(state), "state", by=["run", "restore"])

    def test_packs_that_lie(self):
        pack = self.members[self.first("memory/", ".pack")].data
        count = struct.unpack_from("<I", pack, 8)[0]
        lies = {
            "count huge": pack[:8] + b"\xff\xff\xff\xff" + pack[12:],
            "count zero": pack[:8] + bytes(4) + pack[12:],
            "count one too large": pack[:8] + struct.pack("<I", count + 1) + pack[12:],
            "newer version": pack[:4] + b"\2" + pack[5:],
            "no frame": pack[:bundles.PACK_HEADER + bundles.PACK_ENTRY * count],
            "only a header": pack[:bundles.PACK_HEADER],
            "nothing": b"",
            "two frames": pack + pack[bundles.PACK_HEADER + bundles.PACK_ENTRY * count:],
        }
        for what, data in lies.items():
            with self.subTest(what=what):
                self.refuse(self.edited("memory/", ".pack", lambda _: data), "pack", by=["run", "restore"])

    def test_decompression_bombs(self):
        pack = self.members[self.first("memory/", ".pack")].data
        count = struct.unpack_from("<I", pack, 8)[0]
        index = pack[:bundles.PACK_HEADER + bundles.PACK_ENTRY * count]
        bombs = {
            "of unknown size": bundles.zstd_bomb(1 << 18),  # 32 GiB from 1 MiB
            "that says so": bundles.zstd_bomb(1 << 18, 1 << 35),
            "that denies it": bundles.zstd_bomb(1 << 18, count * bundles.BLOCK),
            "of a size that overflows": bundles.zstd_bomb(16, 2**64 - 16),
        }
        for what, frame in bombs.items():
            with self.subTest(what=what):
                self.refuse(self.edited("memory/", ".pack", lambda _: index + frame), "pack", by=["run", "restore"])

    def test_numbers_that_lie(self):
        def instance(**changes):
            return lambda value: value.update(changes)

        def segment(**changes):
            return lambda value: value["segments"][0].update(changes)

        lies = {
            "grid of none": instance(grid=[0, 1, 1]),
            "grid negative": instance(grid=[-1, 1, 1]),
            "grid of 2^32": instance(grid=[2**32, 1, 1]),
            "grid of two": instance(grid=[1, 1]),
            "grid a fraction": instance(grid=[1.5, 1, 1]),
            "block of words": instance(block=["1", 1, 1]),
            "shared memory negative": instance(shared_bytes=-1),
            "arguments odd": instance(arguments="abc"),
            "arguments not hexadecimal": instance(arguments="zz" * 20),
            "arguments cut": lambda value: value.update(arguments=value["arguments"][:-2]),
            "arguments none": instance(arguments=""),
            "no segments": lambda value: value.pop("segments"),
            "segments a word": instance(segments="none"),
            "segment size 0": segment(size=0),
            "segment size negative": segment(size=-5),
            "segment size 2^63": segment(size=2**63),
            "segment size 2^64": segment(size=2**64),
            "segment wraps around": segment(size=2**64 - 1),
            "segment larger than its state": segment(size=2**44),
            "segments that overlap": lambda value: value["segments"].append(value["segments"][0]),
        }
        for what, edit in lies.items():
            with self.subTest(what=what):
                self.refuse(self.edited_json("instances/", ".json", edit), "instance|segment|json", by=["run"])

    def test_kernels_that_lie(self):
        def argument(**changes):
            return lambda value: value["arguments"][0].update(changes)

        lies = {
            "argument outside": argument(offset=4096),
            "argument size overflowing": argument(size=2**32 - 1),
            "argument negative": argument(offset=-8),
            "argument bytes huge": lambda value: value.update(argument_bytes=2**32 - 1),
            "padding outside": argument(padding=[{"offset": 4, "size": 100}]),
            "global of a size that overflows": lambda value: value.update(
                globals=[{"name": "g", "size": 2**64, "align": 16, "constant": False}]),
            "global of a strange alignment": lambda value: value.update(
                globals=[{"name": "g", "size": 16, "align": 3, "constant": False}]),
        }
        for what, edit in lies.items():
            with self.subTest(what=what):
                self.refuse(self.edited_json("kernels/", ".json", edit), "kernel|argument|json", by=["compile", "run"])

    def test_json_of_unreasonable_shape(self):
        for what, text in {"deep": b"[" * 1000000, "deep in a key": b'{"x":' * 500000, "empty": b"", "null": b"null",
                           "long": b'{"tool":"' + b"x" * (65 << 20) + b'"}', "NUL": b'{"id":"\0"}',
                           "number": b'{"id":' + b"9" * 100000 + b"}"}.items():
            with self.subTest(what=what):
                self.refuse(self.edited("instances/", ".json", lambda _: text), "json|instance", by=["run"])
                self.refuse(self.edited("bundle.json", "", lambda _: text), "bundle", by=STAGES)

    def test_tar_headers_that_lie(self):
        index = self.first("instances/")
        begin = self.members[index].begin

        def with_size(field):
            header = bytearray(self.compiled[begin:begin + 512])
            header[124:136] = field
            header[148:156] = b" " * 8
            header[148:156] = b"%06o\0 " % sum(header)
            return self.compiled[:begin] + bytes(header) + self.compiled[begin + 512:]

        lies = {
            "8 GiB": b"77777777777\0",
            "huge": b"\x80" + b"\xff" * 11,
            "2^62": b"\x80\0\0\0" + struct.pack(">Q", 2**62),
            "negative": b"\xff" * 12,
            "words": b"many bytes\0\0",
        }
        for what, field in lies.items():
            with self.subTest(what=what):
                self.refuse(with_size(field), "instance|member|archive|tar|bytes|ends|size", by=["run", "restore"])

    # ---- names ----

    def test_member_names(self):
        last = self.first("summary.json")
        for name in ["notes/unknown.txt", "memory/x.pack", "states/xyz", "kernels/abc/kernel.json"]:
            passed = self.feed("compile", self.with_member(last, (name, b"kept")))
            self.assertEqual(passed.status, 0, passed.text())
            self.assertIn((name, b"kept"), [(m.name, m.data) for m in bundles.read(passed.out)])
        for name in ["../evil", "notes/../../evil", "/tmp/evil", "notes/./x", "notes//x", "..", "", "notes/x/",
                     "memory/../../evil.pack", "kernels/../x/kernel.json", "notes/new\nline"]:
            with self.subTest(name=name):
                self.refuse(self.with_member(last, (name, b"evil")), "name|member|evil|archive", by=["run", "restore"])

    def test_links_and_devices(self):
        last = self.first("summary.json")
        for kind in [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]:
            info = tarfile.TarInfo("memory/7000.pack")
            info.type, info.linkname = kind, "/etc/passwd"
            with self.subTest(kind=kind):
                self.refuse(self.with_member(last, info), "link|regular|file|member", by=["run", "restore"])

    def test_duplicates(self):
        for prefix in ["bundle.json", "kernels/", "variants/", "memory/", "instances/"]:
            index = self.first(prefix)
            with self.subTest(prefix=prefix):
                self.refuse(self.with_member(len(self.members) - 1, self.members[index]), "twice|again|duplicate|before",
                            by=["run", "restore"])

    def with_member(self, index, member):
        return bundles.write([*self.members[:index], member, *self.members[index:]])

    def test_nothing_is_written_elsewhere(self):
        folder = self.folder / "dump"
        folder.mkdir()
        last = self.first("summary.json")
        evil = self.with_member(last, ("../evil", b"evil"))
        run([tool("restore"), "--dump", folder], input=evil)
        self.assertFalse((self.folder / "evil").exists())

    # ---- order ----

    def test_references_to_what_has_not_come(self):
        for prefix, suffix in [("kernels/", ".json"), ("kernels/", ".bc"), ("states/", ""), ("memory/", "")]:
            with self.subTest(prefix + suffix):
                index = self.first(prefix, suffix)
                without = bundles.write(self.members[:index] + self.members[index + 1:])
                self.refuse(without, "kernel|state|block|pack|before", by=["run"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
