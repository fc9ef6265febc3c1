# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of mneme-inject share: sources in a folder, and commands that are run there."""

import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["MNEME_BUILD"])
INJECT = str(BUILD / "bin" / "mneme-inject")
EXTRACT = str(BUILD / "bin" / "mneme-extract-ir")
CLANG = "clang++-19"


class Compiling(unittest.TestCase):
    SOURCES = {}  # text by the name of its file

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mneme-inject-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in self.SOURCES.items():
            (self.folder / name).write_text(text)

    def run_any(self, *command, **how):
        how.setdefault("cwd", self.folder)
        if "env" in how:
            how["env"] = {**os.environ, **how["env"]}
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, **how)

    def run_well(self, *command, **how):
        result = self.run_any(*command, **how)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result

    def inject(self, *arguments, **how):
        return self.run_well(INJECT, CLANG, "-Werror", *arguments, **how)
