#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of the test programs as programs (mneme-restore --executable), run where nothing is installed: in a root folder that
holds a C library, its loader and /proc."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import bundles
from recordings import recording_of
from support import BUILD, PROGRAMS, TestCase, run, tool

SYSTEM = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
NEWEST_GLIBC = (2, 34)  # that programs may need: what Red Hat Enterprise Linux 9 has


def loader_of(program):
    return re.search(r"interpreter: (\S+?)\]", subprocess.run(
        ["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout).group(1)


def libraries_of(program):
    """{name: path} of what the loader takes for it."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"(\S+) => (/\S+)", listed))


def lend_namespaces():
    """The words that give a process mounts of its own, or None where the system does not."""
    for words in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        if shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            return words
    return None


class Executables(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.unshare = lend_namespaces()

    def make(self, name, *compile_options, recording=None):
        """A program of what was recorded of tests/programs/<name>.hip, and its compiled bundle."""
        recording = recording or recording_of(PROGRAMS / f"{name}.hip", self)
        bundle, program = self.folder / f"{name}.tar", self.folder / name
        self.run_well([tool("compile"), *compile_options, "-o", bundle, recording])
        made = self.run_well([tool("restore"), "--executable", program, bundle])
        self.assertRegex(made.error, r"is a program of \d+ bytes, \d+ of which are its bundle")
        return program, bundle

    def run_bare(self, program, *options):
        """Runs it in an empty root folder."""
        root = self.folder / f"{program.name}.root"
        if not root.exists():
            (root / "proc").mkdir(parents=True)
            loader = pathlib.Path(loader_of(program))
            paths = libraries_of(program)
            for source in [loader, *map(pathlib.Path, paths.values())]:
                place = root / source.relative_to("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)
        shutil.copy(program, root / "it")
        chroot = shutil.which("chroot") or "/usr/sbin/chroot"
        script = 'mount --rbind /proc "$0/proc" && chroot=$1 && root=$0 && shift && exec env -i "$chroot" "$root" /it "$@"'
        return subprocess.run([*self.unshare, "sh", "-c", script, root, chroot, *options], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300)

    def test_run_where_nothing_is_installed(self):
        if not self.unshare:
            self.skipTest("this system gives no mounts of one's own (unshare)")
        # Globals; printf; a heap and several kernels; blocks on all cores; blocks that wait for each other; and functions
        # that compilers call.
        for name in ["device_globals", "printf_formats", "device_heap", "nbody", "grid_sync", "int128_arithmetic",
                     "half_operators"]:
            with self.subTest(program=name):
                program, bundle = self.make(name)
                ended = self.run_bare(program)
                self.assertEqual(ended.returncode, 0, ended.stderr)
                there = self.run_well([tool("run"), bundle], [tool("verify"), "--format", "table"])
                last = there.out.decode().splitlines()[-1]
                self.assertRegex(last, r"^(\d+) of \1 runs verified$")
                self.assertEqual(ended.stdout.splitlines()[-1], last)

    def test_need_only_the_c_library(self):
        program, _ = self.make("vector_add")
        self.assertLessEqual(set(libraries_of(program)), SYSTEM)

    def test_a_variable_that_chooses_launches(self):
        bundle = self.folder / "chosen.tar"
        self.run_well([tool("compile"), "-o", bundle, recording_of(PROGRAMS / "tree_reduction.hip", self)])
        some = sorted(m.name.split("/")[2].split(".")[0] for m in bundles.read(bundle.read_bytes())
                      if m.name.startswith("instances/"))
        self.assertGreater(len(some), 1)
        program = self.folder / "chosen"
        self.run_well([tool("restore"), "--executable", program, bundle], env={**os.environ, "MNEME_INSTANCE": some[0]})
        ran = self.run_well([program, "--baseline", "2"])
        self.assertIn("1 of 1 runs verified", ran.out.decode())

    def test_do_with_an_older_c_library(self):
        program, _ = self.make("vector_add")
        listed = subprocess.run(["readelf", "-VW", program], capture_output=True, text=True, check=True).stdout
        wanted = {tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", listed)}
        self.assertIn((2, 2, 5), wanted)
        # From 2.38 on, glibc's headers give functions as common as strtol other names, and C 23's behaviour.
        newer = tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))) >= (2, 38)
        self.assertLessEqual(max(wanted - {(2, 38)} if newer else wanted), NEWEST_GLIBC)

    def test_several_variants_and_a_broken_one(self):
        recording = recording_of(PROGRAMS / "vector_add.hip", self)
        text = self.run_well([tool("extract-ir"), "-S", recording]).out.decode()
        broken = self.folder / "broken.ll"
        broken.write_text(re.sub(r"\bfadd\b", "fsub", text))
        self.assertNotEqual(broken.read_text(), text)
        once = self.folder / "once.tar"
        self.run_well([tool("compile"), "-O1", "-o", once, recording])
        program, _ = self.make("vector_add", recording=once)
        self.assertEqual(run([program]).statuses, [0])
        program, _ = self.make("vector_add", "--ir", broken, recording=once)
        ended = run([program, "--format", "json"])
        self.assertEqual(ended.statuses, [1], ended.text())
        lines = [json.loads(line) for line in ended.out.decode().splitlines()]
        self.assertEqual(sorted(line["verified"] for line in lines), [False, True])
        self.assertEqual(run([program, "--dtype", "f32", "--threshold", "1e9"]).statuses, [0])

    def test_baselines(self):
        program, bundle = self.make("vector_add", "--target", "host:x86-64-v2")
        plain = self.run_well([program, "--format", "json"]).out.decode().splitlines()
        kept = self.folder / "runs.tar"
        ended = self.run_well([program, "--baseline", "3", "--iterations", "1", "--lenient", "--format", "json", "--runs", kept])
        self.assertNotRegex(ended.error, "no baseline|lets nothing pass")
        self.assertEqual(len(ended.out.decode().splitlines()), len(plain), "no run is made of the recorded code")
        members = list(bundles.read(kept.read_bytes()))
        made = [bundles.parsed(m) for m in members if m.name.startswith("runs/")]
        self.assertEqual({run["baseline"]["executions"] for run in made}, {3})
        recorded = [m for m in members if m.name.endswith("/variant.json")
                    and bundles.parsed(m)["configuration"].get("baseline")]
        self.assertEqual([bundles.parsed(m)["configuration"]["target"] for m in recorded], ["host:x86-64-v2"])
        # It is what mneme-run has compiled.
        there = self.run_well([tool("run"), "--baseline", "3", "--iterations", "1", "--target", "host:x86-64-v2", bundle])
        for mine in recorded:
            self.assertIn(mine.name, [m.name for m in bundles.read(there.out)])

    def test_memory_is_checked(self):
        if not self.unshare:
            self.skipTest("this system gives no mounts of one's own (unshare)")
        application = self.build(PROGRAMS / "faults" / "memory_faults.hip")
        recording = self.record(application, "overflow", options=["--kernel", "fill"])
        program, _ = self.make("memory_faults", recording=recording)
        ended = self.run_bare(program)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        runs = int(re.search(r"(\d+) runs verified", ended.stdout).group(1))
        ended = self.run_bare(program, "--check-memory")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertRegex(ended.stdout, rf"{2 * runs - 1} of {2 * runs} runs verified")
        self.assertRegex(ended.stdout, r"bytes after a \d+-byte allocation of device memory")

    def test_the_same_bundle_gives_the_same_program(self):
        recording = recording_of(PROGRAMS / "device_globals.hip", self)
        programs = []
        for folder in [self.folder / "a", self.folder / "b"]:
            folder.mkdir()
            self.run_well([tool("compile"), recording], [tool("restore"), "--executable", "it"], cwd=folder)
            programs.append((folder / "it").read_bytes())
        self.assertEqual(programs[0] == programs[1], True, "they differ")

    def test_its_bundle_is_what_it_runs(self):
        program, bundle = self.make("device_globals")
        back = self.run_well([program, "--bundle", "-"])
        listed = self.run_well(["tar", "tf", "-"], input=back.out).out.decode()
        self.assertIn("bundle.json", listed.splitlines()[0])
        self.run_well([tool("run")], [tool("verify")], input=back.out)


if __name__ == "__main__":
    if not (BUILD / "lib" / "mneme" / "mneme-replay").exists():
        print("skipped: this build has no archives to link programs from")
        sys.exit(77)
    unittest.main(verbosity=2)
