#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An installed copy works from anywhere, and its CMake package makes other people's programs recordable."""

import os
import shutil
import subprocess
import unittest

from support import BUILD, PROGRAMS, ROOT, TestCase, run

TOOLS = ["inject", "capture", "extract-ir", "restore", "compile", "run", "verify", "tune", "export", "bisect", "reduce"]

PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(mneme REQUIRED)
add_executable(vector_add %s)
set_source_files_properties(%s PROPERTIES LANGUAGE CXX)
target_compile_options(vector_add PRIVATE -x hip --offload-arch=gfx90a -O2)
target_link_options(vector_add PRIVATE --hip-link --offload-arch=gfx90a)
add_mneme(vector_add)
"""


class Install(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        first = cls.folder / "first"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", first], check=True, capture_output=True)
        cls.prefix = cls.folder / "moved"
        first.rename(cls.prefix)

    def tool(self, name):
        return self.prefix / "bin" / f"mneme-{name}"

    def replay(self, program):
        result = self.run_well([self.tool("capture"), "--device", "host", program], [self.tool("compile"), "-O3"],
                               [self.tool("run")], [self.tool("verify")], cwd="/")
        self.assertIn(b"verified", result.out)

    def test_pipeline(self):
        program = self.folder / "vector_add"
        self.run_well([self.tool("inject"), "clang++-19", "-x", "hip", "-O2", "--offload-arch=gfx90a",
                       PROGRAMS / "vector_add.hip", "-o", program], cwd="/")
        self.replay(program)

    @unittest.skipUnless((BUILD / "lib" / "mneme" / "mneme-replay").exists(), "this build makes no programs")
    def test_a_recording_as_a_program(self):
        program = self.folder / "replay"
        self.run_well([self.tool("compile"), self.record(self.build(PROGRAMS / "vector_add.hip"))],
                      [self.tool("restore"), "--executable", program], cwd="/")
        self.assertIn(b"1 of 1 runs verified", self.run_well([program], cwd="/").out)

    def test_path_that_the_loader_cannot_preload_from(self):
        spaced = self.folder / "moved again"
        shutil.copytree(self.prefix, spaced, symlinks=True)
        result = run([spaced / "bin" / "mneme-capture", "--device", "host", "/bin/true"])
        self.assert_refused(result, 3, "moved again.*space")

    def test_everything_is_there(self):
        for name in TOOLS:
            self.assertTrue(os.access(self.tool(name), os.X_OK), name)
            self.assertTrue((self.prefix / "share" / "man" / "man1" / f"mneme-{name}.1").is_file(), name)
        self.assertTrue((self.prefix / "include" / "mneme" / "MnemeAnnotation.hpp").is_file())

    def test_a_grid(self):
        bundle = self.record(self.build(PROGRAMS / "vector_add.hip"))
        (self.folder / "Makefile").write_text(f"BUNDLE := {bundle}\nCODEGEN_OPT := 1 3\nROUNDS := 2\n"
                                              f"include {self.prefix / 'share' / 'mneme' / 'grid.mk'}\n")
        result = run(["make", "-C", self.folder], env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(result.status, 0, result.text())
        self.assertIn(b"2 of 2 cells verified", result.out)

    def test_a_search(self):
        bundle = self.record(self.build(PROGRAMS / "vector_add.hip"))
        result = run([self.tool("tune"), "--trials", "2", "-o", self.folder / "tune", bundle], env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(result.status, 0, result.text())
        self.assertIn(b"2 trials: 2 verified", result.out)

    def test_a_task(self):
        bundle = self.record(self.build(PROGRAMS / "vector_add.hip"))
        result = run([self.tool("export"), "--task", self.folder / "task", bundle], env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(result.status, 0, result.text())
        result = run([self.folder / "task" / "check", self.folder / "task" / "kernel.ll"],
                     env={"PATH": f"{self.prefix / 'bin'}:/usr/bin:/bin"})
        self.assertEqual(result.status, 0, result.text())

    def test_grids_by_slurm_find_the_package(self):
        result = run([self.prefix / "share" / "mneme" / "mneme-grid-slurm", "--help"], env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(result.status, 0, result.text())

    def test_nothing_names_the_build_folder(self):
        for path in self.prefix.rglob("*"):
            if path.is_file() and not path.is_symlink():
                contents = path.read_bytes()
                self.assertNotIn(str(BUILD).encode() + b"/", contents, path)
                self.assertNotIn(str(ROOT).encode() + b"/", contents, path)

    def test_destdir(self):
        root = self.folder / "root"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", "/opt/mneme"], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": str(root)})
        self.assertEqual([p.name for p in root.iterdir()], ["opt"])
        self.assertTrue((root / "opt/mneme/bin/mneme-run").is_file())

    def test_cmake_package(self):
        project = self.folder / "project"
        project.mkdir()
        source = shutil.copy(PROGRAMS / "vector_add.hip", project)
        shutil.copy(PROGRAMS / "check.h", project)
        (project / "CMakeLists.txt").write_text(PROJECT % (source, source))
        configured = run(["cmake", "-S", project, "-B", project / "build", "-G", "Ninja",
                          "-DCMAKE_CXX_COMPILER=clang++-19", f"-DCMAKE_PREFIX_PATH={self.prefix}"])
        self.assertEqual(configured.status, 0, configured.text() + configured.out.decode())
        built = run(["cmake", "--build", project / "build"])
        self.assertEqual(built.status, 0, built.text() + built.out.decode())
        self.replay(project / "build" / "vector_add")


if __name__ == "__main__":
    unittest.main(verbosity=2)
