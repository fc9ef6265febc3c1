#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A CMake project uses the installed package: find_package(mneme), add_mneme(target)."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["MNEME_BUILD"])
PROJECT = pathlib.Path(__file__).resolve().parent / "cmake_test"
EXTRACT = BUILD / "bin" / "mneme-extract-ir"


class CMakePackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mneme-cmake-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        first = cls.folder / "first"
        for part in ["mneme-inject", "lib/annotate"]:
            subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={first}", "-P", BUILD / part / "cmake_install.cmake"],
                           check=True, capture_output=True)
        cls.prefix = cls.folder / "moved here"  # a space is part of the test
        first.rename(cls.prefix)

    def configure(self, *options, generator="Ninja", compiler="clang++-19"):
        build = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        result = subprocess.run(["cmake", "-S", PROJECT, "-B", build, "-G", generator,
                                 f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={self.prefix}", *options],
                                capture_output=True, text=True)
        return build, result

    def build(self, *options, target="all", **how):
        build, configured = self.configure(*options, **how)
        self.assertEqual(configured.returncode, 0, configured.stdout + configured.stderr)
        built = subprocess.run(["cmake", "--build", build, "--verbose", "--target", target], capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        return build, built.stdout

    def kernels(self, binary):
        listed = subprocess.run([EXTRACT, "--list", binary], capture_output=True, text=True)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        return sorted((name, target.split("--")[1]) for _, name, _, target in
                      (line.split("\t") for line in listed.stdout.splitlines()))

    def check(self, build):
        self.assertEqual(self.kernels(build / "app"), [("scale(float*, float)", "gfx906"),
                                                       ("scale(float*, float)", "gfx90a"), ("twice(float*)", "gfx906"),
                                                       ("twice(float*)", "gfx90a")])
        self.assertEqual(self.kernels(build / "by_hand"), [("twice(float*)", "gfx90a")])
        plain = subprocess.run([EXTRACT, "--list", build / "plain"], capture_output=True, text=True)
        self.assertEqual(plain.returncode, 2, "a target without add_mneme")
        for language in ["c"] + ["fortran"] * bool(shutil.which("gfortran")):
            subprocess.run([build / f"from_{language}"], check=True)

    def test_ninja(self):
        self.check(self.build()[0])

    def test_makefiles(self):
        self.check(self.build(generator="Unix Makefiles")[0])

    @unittest.skipUnless(shutil.which("ccache"), "ccache is not installed")
    def test_with_another_launcher(self):
        os.environ["CCACHE_DIR"] = str(self.folder / "ccache")
        build, log = self.build("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        self.assertRegex(log, "mneme-inject\"? \\S*ccache \\S*clang")
        self.check(build)

    def test_launcher_variables(self):
        inject = self.prefix / "bin" / "mneme-inject"
        build, _ = self.build("-DADD_MNEME=OFF", f"-DCMAKE_CXX_COMPILER_LAUNCHER={inject}",
                              f"-DCMAKE_CXX_LINKER_LAUNCHER={inject}", target="by_hand")
        self.assertEqual(self.kernels(build / "by_hand"), [("twice(float*)", "gfx90a")])

    def test_cuda(self):
        toolkit = subprocess.run([BUILD / "bin" / "mneme-inject", "--print-flags", "link", "cuda"], capture_output=True)
        if toolkit.returncode == 3:
            self.skipTest("no CUDA toolkit is here")
        build, _ = self.build("-DWITH_CUDA=ON", target="cuda_app")
        self.assertEqual(self.kernels(build / "cuda_app"), [("halve(float*)", "sm_90")])
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        subprocess.run([build / "cuda_app"], check=True, env=environment)  # it finds its libraries

    def test_another_compiler_is_refused(self):
        _, configured = self.configure(compiler="g++")
        self.assertNotEqual(configured.returncode, 0)
        self.assertIn("set CMAKE_CXX_COMPILER to clang++-19", " ".join(configured.stderr.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
