#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles and configurations from Python."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
sys.dont_write_bytecode = True

import bundles  # noqa: E402
from support import TestCase, tool  # noqa: E402

import mneme  # noqa: E402
from mneme.selection import Expression, named  # noqa: E402

ARRAYS = """
import sys
sys.path.insert(0, sys.argv[1])
import mneme, numpy
with mneme.Bundle.open(sys.argv[2]) as bundle:
    add, scale = bundle.instances[:2]
    before, after = add.prologue["data"].as_numpy("f4"), add.epilogue["data"].as_numpy(numpy.float32)
    assert before.shape == (50000,) and (after == before + numpy.float32(0.5)).all() and not (after == before).all()
    assert (scale.epilogue["out"].as_numpy("f4") == after * 3).all()
    middle = add.epilogue[add.arguments["data"] + 400]
    assert (middle.as_numpy("f4") == after[100:]).all() and middle.tobytes() == after[100:].tobytes()
    assert (add.epilogue[hex(add.arguments["data"])].as_numpy("f4") == after).all()
    try:
        before[0] = 1
    except ValueError:
        print("read only")
"""


class Bundles(TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build(ROOT / "tests" / "small.hip")
        cls.recording = cls.record(cls.program)

    def test_what_was_recorded(self):
        bundle = mneme.Bundle.open(self.recording)
        self.assertEqual([kernel.name for kernel in bundle.kernels],
                         ["add(float*, float, int)", "scale(float const*, float*, float, int)"])
        add = bundle.kernels[0]
        self.assertTrue(add.has_ir)
        self.assertEqual([argument.name for argument in add.arguments], ["data", "amount", "n"])
        self.assertEqual([instance.index for instance in add.instances], [0, 2])
        first = bundle.instances[0]
        self.assertEqual((first.kernel, first.grid, first.block), (add, (391, 1, 1), (128, 1, 1)))
        self.assertEqual((first.arguments["amount"], first.arguments["n"]), (0.5, 50000))
        self.assertEqual((bundle.device, bundle.variants, bundle.runs), ("host", (), ()))
        self.assertEqual(bundle.occurrences[first.id], 1)
        with self.assertRaises(AttributeError):
            first.index = 7

    def test_variants_and_runs(self):
        path = self.folder / "runs.tar"
        path.write_bytes(self.run_well([tool("compile"), "-O1", self.recording], [tool("run"), "--iterations", "3"]).out)
        bundle = mneme.Bundle.open(path)
        variant = bundle.kernels[0].variants[0]
        self.assertEqual((variant.configuration["passes"], variant.failed), ("default<O1>", ""))
        self.assertGreater(variant.code_bytes, 100)
        self.assertEqual(len(bundle.runs), 4)
        self.assertTrue(all(run.completed and len(run.nanoseconds) == 3 and run.median_ns for run in bundle.runs))

    @unittest.skipUnless(subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0,
                         "numpy is not installed")
    def test_arrays(self):
        shown = subprocess.run(["/usr/bin/python3", "-B", "-c", ARRAYS, ROOT / "python", self.recording],
                               capture_output=True, text=True)
        self.assertEqual((shown.stderr, shown.stdout), ("", "read only\n"))

    def test_memory_that_is_not_there(self):
        with mneme.Bundle.open(self.recording) as bundle:
            memory = bundle.instances[0].prologue
            with self.assertRaisesRegex(mneme.MnemeError, "called 'dat'; there are: data, "):
                memory["dat"]
            with self.assertRaisesRegex(mneme.MnemeError, "no memory was recorded at 0x1000"):
                memory[0x1000]
            folder = bundle.memory_of(bundle.instances[0])
            self.assertTrue(folder.is_dir())
        self.assertFalse(folder.exists(), "what was unpacked stays")

    def test_no_bundle(self):
        whole, path = self.recording.read_bytes(), self.folder / "broken.tar"
        for text in (b"", b"nothing of the kind", whole[:len(whole) // 2], bundles.write([("bundle.json", b"[]")])):
            path.write_bytes(text)
            with self.assertRaisesRegex(mneme.MnemeError, "broken.tar' is no bundle, or not a whole one") as raised:
                mneme.Bundle.open(path)
            self.assertEqual(raised.exception.status, 2)
        with self.assertRaisesRegex(mneme.MnemeError, "absent.tar' cannot be read: No such file"):
            mneme.Bundle.open(self.folder / "absent.tar")

    def test_a_hostile_bundle(self):
        """It costs no more than it has, and names no file elsewhere."""
        path = self.folder / "hostile.tar"

        def changed(change):
            members = []
            for member in bundles.read(self.recording.read_bytes()):
                data = bundles.parsed(member) if member.name.startswith("instances/") else None
                members.append((member.name, bundles.compact(change(data)) if data else member.data))
            path.write_bytes(bundles.write(members))
            return mneme.Bundle.open(path)

        def many(instance):
            instance["segments"][0].update(count=1 << 60, stride=1 << 20)
            return instance
        with self.assertRaisesRegex(mneme.MnemeError, "hostile.tar' is no bundle"):
            print(changed(many).instances)

        def elsewhere(instance):
            instance["segments"][0].update(symbol="../../../../../../etc/passwd")
            return instance
        instance = changed(elsewhere).instances[0]
        memory = mneme.Memory(self.folder, instance.segments, {})
        self.assertEqual(memory[instance.segments[0].address].path, self.folder / f"{instance.segments[0].address:#x}.raw")

    def test_record_and_apply(self):
        with mneme.capture([self.program], device="host", max_instances=1, kernel="add") as bundle:
            self.assertEqual([kernel.name for kernel in bundle.kernels], ["add(float*, float, int)"])
            path = bundle.path
        self.assertFalse(path.exists())
        with self.assertRaisesRegex(mneme.MnemeError, "absent") as raised:
            mneme.capture([self.folder / "absent"], output=self.folder / "none.tar", device="host")
        self.assertEqual(raised.exception.tool, "mneme-capture")
        with self.assertRaisesRegex(mneme.MnemeError, "chooses no variants"):
            mneme.apply(self.recording, [self.program], device="host")

    def test_the_order_of_instances_by_kernel(self):
        bundle = mneme.Bundle.open(self.recording)
        found = mneme.select(bundle)
        self.assertEqual([one.name for one in found], [kernel.name for kernel in bundle.kernels])
        for one in found:
            self.assertTrue(Expression(one.expression).matches(one.name))
            self.assertEqual(sum(Expression(one.expression).matches(other.name) for other in found), 1)


class Configurations(unittest.TestCase):
    def test_keys_are_those_of_the_tools(self):
        source = (ROOT / "lib" / "bundle" / "json" / "configuration.cc").read_text()
        table = source[source.index("kKeys = {"):source.index("return kKeys;")]
        self.assertEqual(list(mneme.configuration.KEYS), re.findall(r'\{"(\w+)",\s*&Configuration::\1\b', table))
        page = (ROOT / "docs" / "configurations.md").read_text()
        kinds = {"text": "a text", "number": "a whole number from 0", "true": "true or false", "list": "a list of three numbers"}
        for key, kind in re.findall(r"(?m)^\| `(\w+)` \| (\w+|`auto`)", page):
            self.assertEqual(mneme.configuration.KEYS[key], kinds.get(kind, "a text"), key)

    def test_json(self):
        made = mneme.Configuration({"passes": "default<O1>"}, block=(64, 1, 1))
        self.assertEqual(made.to_json(), '{"passes": "default<O1>", "block": [64, 1, 1]}')
        self.assertEqual(mneme.Configuration.from_json(made.to_json()), made)
        self.assertEqual(len({made, mneme.Configuration.from_json(made.to_json())}), 1)
        self.assertEqual({**made}, {"passes": "default<O1>", "block": [64, 1, 1]})

    def test_mistakes(self):
        for keys, words in (({"pases": "x"}, "no configuration has the key 'pases'; there are target, passes, "),
                            ({"codegen_opt": "3"}, "'codegen_opt' is '3', and not a whole number"),
                            ({"fuse": 1}, "'fuse' is 1, and not true or false"),
                            ({"block": [1, 2]}, r"'block' is \[1, 2\], and not a list of three numbers")):
            with self.assertRaisesRegex(mneme.MnemeError, words):
                mneme.Configuration(keys)
        for text in ("{", "[]", "[" * 10000):
            with self.assertRaisesRegex(mneme.MnemeError, "an object of JSON"):
                mneme.Configuration.from_json(text)


class Selecting(unittest.TestCase):
    def test_names_in_messages_are_few_and_short(self):
        self.assertEqual(named(["a", "b"]), "a; b")
        self.assertEqual(named("abcdefg"), "a; b; c; d; e; …")
        # As the other tools cut them.
        self.assertEqual(named(["a" * 59 + "b" * 5000 + "c" * 20]), "a" * 59 + "…" + "c" * 20)

    def test_templates_are_selected_without_their_return_type(self):
        for text in ("^scale", "^void scale"):
            self.assertTrue(Expression(text).matches("void scale<2>(float*)"), text)
        self.assertFalse(Expression("^cale").matches("void scale<2>(float*)"))

    def test_kernels_are_selected_as_by_the_other_tools(self):
        for text, matches in (("^add[[:punct:]]", True), ("^[[:upper:]]", False), ("a{1}d+", True), ("^(sub|add)", True)):
            self.assertEqual(Expression(text).matches("add(int*)"), matches, text)
        self.assertTrue(Expression("(.*)*x").matches("x" + "y" * 64))


if __name__ == "__main__":
    unittest.main(verbosity=2)
