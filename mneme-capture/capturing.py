# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of mneme-capture on real applications share."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import bundles  # noqa: E402
from support import BUILD, PROGRAMS, ROOT, TestCase, run, tool  # noqa: E402

INCLUDE = ROOT / "lib" / "annotate"
HOST_LIBRARIES = BUILD / "lib" / "mneme" / "hostgpu"  # with which an application runs on the host device without Mneme


class CaptureCase(TestCase):
    built = {}

    @classmethod
    def program(cls, name):
        """One of the test programs, built once."""
        if name not in cls.built:
            source = HERE / "test_programs" / f"{name}.hip"
            source = source if source.exists() else PROGRAMS / f"{name}.hip"
            cls.built[name] = cls.build(source, name, "-O2", f"-I{INCLUDE}")
        return cls.built[name]

    def capture(self, *command, options=(), status=0, env=None):
        """What running mneme-capture gave; it ends with `status`."""
        result = run([tool("capture"), "--device", "host", *options, *command], env=env)
        self.assertEqual(result.status, status, result.text())
        return result

    def instances(self, result):
        return [bundles.parsed(m) for m in bundles.read(result.out) if m.name.startswith("instances/")]

    def summary(self, result):
        return bundles.parsed(next(m for m in bundles.read(result.out) if m.name == "summary.json"))

    def kernels(self, result):
        return {m.name.split("/")[1]: bundles.parsed(m)["demangled"] for m in bundles.read(result.out)
                if m.name.endswith("/kernel.json")}
