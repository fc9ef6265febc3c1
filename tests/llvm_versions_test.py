#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants that another release of LLVM compiles. Without LLVM 16, what needs it is skipped."""

import json
import pathlib
import tarfile
import unittest

from support import ROOT, TestCase, run, tool

OWN, OLDER = pathlib.Path("/usr/lib/llvm-19"), pathlib.Path("/usr/lib/llvm-16")
needs_older = unittest.skipUnless((OLDER / "bin" / "opt").exists(), "LLVM 16 is not installed (Debian's package llvm-16)")


class LlvmVersions(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))

    def compiled(self, *options, name="compiled.tar"):
        bundle = self.folder / name
        return run([tool("compile"), *options, "-o", bundle, self.recording]), bundle

    def variants(self, bundle):
        with tarfile.open(bundle) as archive:
            return [json.load(archive.extractfile(member)) for member in archive if member.name.endswith("variant.json")]

    def statuses(self, bundle):
        result = run([tool("run"), bundle], [tool("verify"), "--format", "json"])
        return {json.loads(line)["status"] for line in result.out.decode().splitlines()}

    def fake(self, name, version, change):
        """An LLVM of that version, whose opt is LLVM 19's with something done to its output."""
        folder = self.folder / name / "bin"
        folder.mkdir(parents=True)
        (folder / "opt").write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "LLVM version {version}" && exit 0\n'
                                    f'{change}\n')
        (folder / "opt").chmod(0o755)
        (folder / "llc").symlink_to(OWN / "bin" / "llc")
        return folder.parent

    @needs_older
    def test_host_device(self):
        result, bundle = self.compiled("--llvm", OLDER)
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual({v["configuration"]["llvm"] for v in self.variants(bundle)}, {"16.0.6"})
        self.assertEqual(self.statuses(bundle), {"verified"})

    @needs_older
    def test_gpus(self):
        for target, code in (("gfx90a", "code.hsaco"), ("gfx1030", "code.hsaco")):
            result, bundle = self.compiled("--llvm", OLDER / "bin", "--target", target)
            self.assertEqual(result.status, 0, result.text())
            for variant in self.variants(bundle):
                self.assertEqual(variant["code"], code)
                self.assertGreater(variant["resources"]["registers"], 0)
                self.assertEqual(variant["configuration"]["llvm"], "16.0.6")

    @needs_older
    def test_a_grid_over_compilers(self):
        lines = self.folder / "lines.jsonl"
        lines.write_text('{"llvm":""}\n{"llvm":"16.0.6"}\n{"llvm":"19.1.7","passes":"default<O1>"}\n{"llvm":"18.1.0"}\n'
                         '{"llvm":"16.0.6","passes":"no-such-pass"}\n')
        result, bundle = self.compiled("--llvm", OLDER, "--llvm", OWN, "--kernel", "add", "--variants", lines)
        self.assertEqual(result.status, 0, result.text())
        variants = self.variants(bundle)
        self.assertEqual([v["configuration"].get("llvm") for v in variants], [None, "16.0.6", "19.1.7", "18.1.0", "16.0.6"])
        self.assertEqual(["failed" in v for v in variants], [False, False, False, True, True])
        self.assertEqual(variants[3]["failed"], "no --llvm is LLVM 18.1.0")
        self.assertRegex(variants[4]["failed"], "is not compiled by opt of LLVM 16.0.6: .*unknown pass name 'no-such-pass'")

    def test_own_release(self):
        result, bundle = self.compiled("--llvm", OWN, "--target", "gfx90a", "--kernel", "add")
        self.assertEqual(result.status, 0, result.text())
        other = self.variants(bundle)[0]
        result, bundle = self.compiled("--target", "gfx90a", "--kernel", "add")
        self.assertEqual(result.status, 0, result.text())
        own = self.variants(bundle)[0]
        self.assertEqual(other["configuration"].pop("llvm"), "19.1.7")
        self.assertEqual(other["configuration"], own["configuration"])
        self.assertEqual(other["resources"], own["resources"])

    def test_a_release_that_miscompiles(self):
        wrong = self.fake("wrong", "20.1.0", f'{OWN}/bin/opt "$@" | sed "s/fadd/fsub/"')
        result, bundle = self.compiled("--llvm", wrong, "--kernel", "add")
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual(self.statuses(bundle), {"not verified"})

    def test_a_release_that_cannot(self):
        lacking = self.fake("lacking", "17.0.6", 'echo "opt: <stdin>:7:3: error: unknown intrinsic" >&2; exit 1')
        result, _ = self.compiled("--llvm", lacking, "--kernel", "add")
        self.assert_refused(result, 2, r"kernel 'add\(.*' is not compiled by opt of LLVM 17.0.6: opt: <stdin>:7:3: error: unknown")
        crashing = self.fake("crashing", "17.0.6", "kill -SEGV $$")
        result, _ = self.compiled("--llvm", crashing, "--kernel", "add")
        self.assert_refused(result, 2, "opt of LLVM 17.0.6 was killed by SIGSEGV")

    def test_it_runs_confined(self):
        writing = self.fake("writing", "17.0.6", f'touch {self.folder}/written; {OWN}/bin/opt "$@"')
        self.compiled("--llvm", writing, "--kernel", "add")
        self.assertFalse((self.folder / "written").exists())

    def test_what_is_no_other_llvm(self):
        result, _ = self.compiled("--llvm", self.folder)
        self.assert_refused(result, 3, "there is no LLVM in '.*': neither it nor its folder bin has opt and llc")
        old = self.fake("old", "15.0.7", "exit 1")
        result, _ = self.compiled("--llvm", old)
        self.assert_refused(result, 2, "LLVM 15.0.7 in '.*' does not read today's IR: name one from 16 on")
        nothing = self.fake("nothing", "", "exit 1")
        result, _ = self.compiled("--llvm", nothing)
        self.assert_refused(result, 2, "LLVM of an unknown version in ")
        result, _ = self.compiled("--llvm", OWN, "--llvm", OWN)
        self.assert_refused(result, 2, "several --llvm are for --variants, whose lines name one of them")
        result, _ = self.compiled("--llvm", OWN, "--embed-ir", "--target", "gfx90a")
        self.assert_refused(result, 2, "--llvm and --embed-ir exclude each other")


if __name__ == "__main__":
    unittest.main()
