#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a newcomer meets first: scripts/setup and scripts/build say in one sentence what is wrong with a machine, and
scripts/demo ends with the commands to type next. A fake of each system command plays the machine."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import BUILD, ROOT, run

REAL = ["bash", "sed", "sort", "tail", "env", "cat", "command"]  # what the scripts use that needs no fake
GOOD = {
    "dpkg-query": 'echo "installed make"',
    "apt-get": 'echo "apt-get $*" >> "$LOG"',
    "apt-cache": "exit 0",
    "cmake": "echo cmake version 3.25.1",
    "df": "echo Avail; echo 100",
    "id": "echo 0",
    "ninja": "exit 0",
}


class Machine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mneme-setup-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = self.folder / "log"

    def run_on(self, script, *arguments, **fakes):
        """Runs a script where these commands do this; None: where there is no such command."""
        commands = self.folder / "bin"
        shutil.rmtree(commands, ignore_errors=True)
        commands.mkdir()
        for name in REAL:
            if shutil.which(name):
                (commands / name).symlink_to(shutil.which(name))
        for name, text in {**GOOD, **{name.replace("_", "-"): text for name, text in fakes.items()}}.items():
            if text is not None:
                (commands / name).write_text(f"#!/bin/sh\n{text}\n")
                (commands / name).chmod(0o755)
        return subprocess.run([shutil.which("bash"), ROOT / "scripts" / script, *arguments], capture_output=True, text=True,
                              env={"PATH": str(commands), "LOG": str(self.log)})

    def refused(self, pattern, script, *arguments, **fakes):
        result = self.run_on(script, *arguments, **fakes)
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith(f"scripts/{script}: error: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], pattern)


class Setup(Machine):
    def test_a_fresh_machine(self):
        result = self.run_on("setup", "tools")
        self.assertEqual(result.returncode, 0, result.stderr)
        update, install = self.log.read_text().splitlines()
        self.assertTrue(update.startswith("apt-get update"))
        self.assertTrue(install.startswith("apt-get install -y --no-install-recommends clang-19 "))
        self.assertNotIn("libgtest-dev", install)
        self.assertNotIn(" make", install)  # it is there

    def test_everything_is_there(self):
        packages = self.run_on("setup", "--list").stdout.split()
        self.assertIn("libgtest-dev", packages)
        result = self.run_on("setup", dpkg_query="; ".join(f"echo installed {name}" for name in packages))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertFalse(self.log.exists())

    def test_cmake_is_too_old(self):
        packages = self.run_on("setup", "--list").stdout.split()
        self.refused("CMake 3.25 or later is needed, and .*/cmake is 3.18.4; install", "setup",
                     dpkg_query="; ".join(f"echo installed {name}" for name in packages), cmake="echo cmake version 3.18.4")

    def test_there_is_no_clang(self):
        self.refused("package lists have no clang-19; use Debian 12 or later", "setup",
                     apt_cache='case "$*" in *clang-19) exit 100 ;; esac')

    def test_there_is_no_network(self):
        self.refused("package lists cannot be fetched; check the network", "setup", apt_get="exit 100")

    def test_installing_fails(self):
        self.refused("could not install the packages", "setup", apt_get='[ "$1" = update ]')

    def test_there_is_no_room(self):
        self.refused("need 3 GiB, and / has 1 GiB free", "setup", df="echo Avail; echo 1")

    def test_there_is_no_root(self):
        self.refused("run this as root: apt-get update && apt-get install", "setup", id="echo 1000")

    def test_it_is_no_debian(self):
        self.refused("no Debian; install the equivalents of: clang-19", "setup", apt_get=None)

    def test_bad_argument(self):
        self.refused("'everything' is neither tools nor all", "setup", "everything")


class Build(Machine):
    def test_there_is_no_room(self):
        self.refused("building takes 2 GiB, and the disk of '.*' has 0 GiB free", "build", self.folder,
                     df="echo Avail; echo 0")

    def test_label(self):
        self.refused("no test has the label 'nothing'", "build", self.folder, "tests-nothing", ninja="exit 1")


class Demo(unittest.TestCase):
    def test_demo(self):
        result = run([ROOT / "scripts" / "demo", BUILD])
        text = result.out.decode()
        self.assertEqual(result.status, 0, result.text())
        self.assertGreaterEqual(text.count(" verified"), 3)
        self.assertIn(f'export PATH="{os.path.realpath(BUILD)}/bin:$PATH"', text)
        self.assertIn("mneme-capture -o yours.tar ./yours", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
