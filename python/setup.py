# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel is without the tests that lie beside the modules; all else is in pyproject.toml."""

from setuptools import setup
from setuptools.command.build_py import build_py


class WithoutTests(build_py):
    def find_package_modules(self, package, package_dir):
        return [found for found in super().find_package_modules(package, package_dir) if not found[1].endswith("_test")]


setup(cmdclass={"build_py": WithoutTests})
