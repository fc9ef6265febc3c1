#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of docs/ci.md: the commands of its workflows, as they stand there, on changes of its application."""

import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

from support import BUILD, ROOT, TestCase

EXAMPLE = ROOT / "scripts" / "examples" / "ci"


def indent(line):
    return len(line) - len(line.lstrip())


def block(lines, key):
    """What lies deeper than the line `key:` below it."""
    start = next(i for i, line in enumerate(lines) if line.strip() == f"{key}:")
    end = start + 1
    while end < len(lines) and indent(lines[end]) > indent(lines[start]):
        end += 1
    return lines[start + 1:end]


def of_github(job):
    """(The commands of a job's steps by their names, the path that it uploads)."""
    lines = [line for line in (EXAMPLE / "github.yml").read_text().splitlines() if not line.lstrip().startswith("#")]
    lines, commands, name = block(lines, job), {}, None
    for line in lines:
        if found := re.match(r"\s+- name: (.*)", line):
            name = found[1]
        elif found := re.match(r"\s+run: (?!\|)(.*)", line):
            commands[name] = found[1]
    return commands, next(found[1] for line in lines if (found := re.match(r"\s+path: (.*)", line)))


def of_gitlab(job):
    lines = [line for line in (EXAMPLE / "gitlab.yml").read_text().splitlines() if not line.lstrip().startswith("#")]
    commands = [line.strip().removeprefix("- ") for line in block(block(lines, job), "script")]
    return dict(zip(("build", job, f"{job} memory"), commands, strict=False))


class Example(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = cls.checkout("recorded")
        commands, cls.artifact = of_github("record")
        for command in (commands["build"], commands["record"]):
            result = cls.shell(cls.place, command)
            if result.returncode:
                raise AssertionError(result.stdout + result.stderr)

    @classmethod
    def checkout(cls, name, change=("", "")):
        """The example's files, the application's source with something else in the place of what is there."""
        place = cls.folder / name
        shutil.copytree(EXAMPLE, place)
        source = place / "roots.hip"
        text = source.read_text()
        if text.count(change[0]) < 1:
            raise AssertionError(f"the example has no {change[0]}")
        source.write_text(text.replace(*change) if change[0] else text)
        return place

    @staticmethod
    def shell(place, command):
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", command], cwd=place, capture_output=True, text=True,
                              timeout=300, env={**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}", "DEVICE": "host"})

    def check(self, name, change, status):
        """What the job `check` says of a change, and its report."""
        place = self.checkout(name, change)
        shutil.copy(self.place / self.artifact, place)
        commands, path = of_github("check")[0], "kernels.xml"
        built = self.shell(place, commands["build"])
        self.assertEqual(built.returncode, 0, built.stderr)
        (place / path).write_text("of a job before")
        result = self.shell(place, commands["check"])
        said = result.stdout + result.stderr
        self.assertEqual(result.returncode, status, said)
        return said, xml.etree.ElementTree.parse(place / path).getroot().attrib

    def test_a_good_change_passes(self):
        said, report = self.check("good", ("root = 0.5 * (root + in[i] / root)", "root = (root + in[i] / root) * 0.5"), 0)
        self.assertIn("changed: roots(", said)
        self.assertIn("as it was recorded: sum_neighbours(", said)
        self.assertIn("2 of 2 runs verified", said)
        self.assertEqual((report["tests"], report["failures"], report["errors"]), ("2", "0", "0"))

    def test_a_wrong_kernel_fails(self):
        said, report = self.check("wrong", ("(i + 1) % n", "(i + 2) % n"), 1)
        self.assertIn("changed: sum_neighbours(", said)
        self.assertIn("1 of 2 runs verified", said)
        self.assertEqual((report["tests"], report["failures"]), ("2", "1"))

    def test_a_slower_kernel_fails(self):  # by so much that no other load hides it
        said, report = self.check("slow", ("kRounds = 40", "kRounds = 1000"), 1)
        self.assertIn("2 of 2 runs verified", said)
        self.assertRegex(said, r"too slow: kernel 'roots\(.*it takes .* times .* as long as variant")
        self.assertEqual((report["tests"], report["failures"]), ("2", "1"))

    def test_a_store_past_an_array_fails(self):
        """Where no recorded memory lies behind the array, the first check may only warn. The second one names the access."""
        place = self.checkout("past", ("out[i] = root;", "out[i] = root;\n  if (i == n - 1) out[n + 1] = 1;"))
        shutil.copy(self.place / self.artifact, place)
        commands = of_github("check")[0]
        self.assertEqual(self.shell(place, commands["build"]).returncode, 0)
        result = self.shell(place, commands["check memory"])
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"'roots\(.*: writes 8 bytes at 0x\w+, 8 bytes after a 524288-byte allocation")
        self.assertEqual(xml.etree.ElementTree.parse(place / "memory.xml").getroot().attrib["errors"], "1")

    def test_the_recording_is_fetched_from_the_workflows_repository(self):
        lines = (EXAMPLE / "github.yml").read_text().splitlines()
        fetch = lines[next(i for i, line in enumerate(lines) if "gh run list" in line):]
        for variable in ("GH_TOKEN: ${{ github.token }}", "GH_REPO: ${{ github.repository }}"):
            self.assertIn(variable, [line.strip() for line in fetch[:8]])

    def test_what_has_not_changed_is_not_run(self):
        said, report = self.check("unchanged", ('"%g %g\\n"', '"%g and %g\\n"'), 0)
        self.assertIn("no kernel has changed", said)
        self.assertEqual((report["tests"], report["failures"]), ("0", "0"))
        said, _ = self.check("gone", ("sum_neighbours", "sum_of_neighbours"), 2)
        self.assertIn("gone, so not checked: sum_neighbours(", said)

    def test_other_arguments_want_another_recording(self):
        place = self.place / "check-kernels"
        for few in ("", " check", " check kernels.tar", " verify kernels.tar app"):
            result = self.shell(self.place, f"{place}{few}")
            self.assertEqual((result.returncode, result.stderr.count("check-kernels check BUNDLE APP")), (2, 1), result.stderr)
        said, _ = self.check("arguments", ("int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i <",
                                           "long n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i <"), 2)
        self.assertIn("gone, so not checked: sum_neighbours(double const*, double*, int)", said)

    def test_the_workflows_have_the_same_commands(self):
        for job in ("record", "check"):
            github = of_github(job)[0]
            self.assertEqual(github, of_gitlab(job))
        # What one job leaves is what the other takes, and the page has the commands, too.
        self.assertIn(f" {self.artifact} ", of_github("check")[0]["check"])
        page = (ROOT / "docs" / "ci.md").read_text()
        self.assertIn(of_github("record")[0]["record"], page)
        for step in ("check", "check memory"):
            self.assertIn(of_github("check")[0][step], page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
