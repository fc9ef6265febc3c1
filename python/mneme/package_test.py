#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the whole package: mypy, ruff, the wheel, and an installation by pip."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

PYTHON = pathlib.Path(__file__).resolve().parents[1]
DEBIANS = "/usr/bin/python3"


def has(module, python=DEBIANS):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="mneme-test-")))

    def run_well(self, *command, **how):
        shown = subprocess.run(list(map(str, command)), capture_output=True, text=True, **how)
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        return shown.stdout

    @unittest.skipUnless(has("mypy"), "mypy is not installed")
    def test_types(self):
        self.assertIn("Success: no issues found",
                      self.run_well(DEBIANS, "-m", "mypy", "--strict", "--cache-dir", self.folder, cwd=PYTHON))

    @unittest.skipUnless(shutil.which("ruff"), "ruff is not installed")
    def test_style(self):
        self.run_well("ruff", "check", "--no-cache", PYTHON)

    @unittest.skipUnless(has("setuptools, wheel, pip"), "pip, setuptools or wheel is not installed")
    def test_a_wheel(self):
        source = self.folder / "python"
        shutil.copytree(PYTHON, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
        self.run_well(DEBIANS, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
                      "--wheel-dir", self.folder, source)
        [wheel] = self.folder.glob("mneme-*-py3-none-any.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            archive.extractall(self.folder / "site")
        self.assertIn("mneme/py.typed", names)
        self.assertEqual([name for name in names if name.endswith("_test.py")], [])
        shown = self.run_well(DEBIANS, "-c", "import mneme; print(mneme.__file__, mneme.Configuration(fuse=True).to_json())",
                              cwd=self.folder / "site")
        self.assertIn(f'{self.folder / "site" / "mneme" / "__init__.py"} {{"fuse": true}}', shown)

    @unittest.skipUnless(has("setuptools, wheel, pip"), "pip, setuptools or wheel is not installed")
    def test_pip_installs_it(self):
        """Without a network; it takes the tools from PATH then."""
        source, site = self.folder / "python", self.folder / "site"
        shutil.copytree(PYTHON, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
        self.run_well(DEBIANS, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--target", site,
                      "./python", cwd=self.folder)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "mneme-run").write_text("#!/bin/sh\n")
        (self.folder / "bin" / "mneme-run").chmod(0o755)
        shown = self.run_well(DEBIANS, "-c", "import mneme.tools; print(mneme.__file__, mneme.tools.tool('run'))", cwd=self.folder,
                              env={"PYTHONPATH": str(site), "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"})
        self.assertEqual(shown, f"{site / 'mneme' / '__init__.py'} {self.folder / 'bin' / 'mneme-run'}\n")

    def test_the_version_is_the_tools(self):
        version = re.search(r"project\(mneme VERSION (\S+)", (PYTHON.parent / "CMakeLists.txt").read_text())[1]
        self.assertIn(f'version = "{version}"', (PYTHON / "pyproject.toml").read_text())

    def test_it_needs_nothing_but_python(self):
        self.run_well(sys.executable, "-S", "-B", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import mneme; "
                      "print(*mneme.__all__)", PYTHON)


if __name__ == "__main__":
    unittest.main(verbosity=2)
