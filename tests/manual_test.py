#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The manual pages and --help agree: every option is in both, under the same heading."""

import re
import subprocess
import unittest

from support import ROOT, tool

OF_PYTHON = ["tune", "export", "bisect", "reduce"]
TOOLS = ["inject", "capture", "extract-ir", "restore", "compile", "run", "verify", *OF_PYTHON]
MACROS = {"Ar", "Cm", "Op", "Oo", "Oc", "No", "Ns", "Pa", "Sm", "Li", "Ev", "Xo", "Xc", ",", "|", "=", "...", "…"}


def page_of(name):
    return (ROOT / "scripts" if name in OF_PYTHON else ROOT / f"mneme-{name}") / f"mneme-{name}.1"


def groups_of_help(text):
    """The options in the left column of --help, which is indented by two, by the heading above them."""
    groups, heading = {}, None
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            heading = line[:-1]
        column = re.match(r"  ((?:--?[A-Za-z0-9][\w-]*)(?:[ =\[].*)?,?.*)", line)
        if column:
            words = re.split(r"\s{2,}", column.group(1))[0]
            groups.setdefault(heading, set()).update(re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", words))
    return groups


def groups_of_manual(source):
    """The options in `.It Fl …` lines of an mdoc page, by the subsection that they stand in, or else the section."""
    groups, heading = {}, None
    for macro, line in re.findall(r"^\.(S[hs]|It(?= Fl)) (.*)$", source, re.MULTILINE):
        if macro != "It":
            heading = line
            continue
        found = groups.setdefault(heading, set())
        in_flags = False
        for word in line.split():
            if word == "Fl":
                in_flags = True
            elif word in MACROS:
                in_flags = in_flags and word in (",", "|")
            elif in_flags:
                found.add("-" + word.replace("\\-", "-"))
    return groups


def options_of(groups):
    return set().union(*groups.values())


class Manuals(unittest.TestCase):
    def test_options_agree(self):
        for name in TOOLS:
            with self.subTest(tool=name):
                page = page_of(name)
                shown = subprocess.run([tool(name), "--help"], capture_output=True, text=True, timeout=60)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                in_help, in_manual = groups_of_help(shown.stdout), groups_of_manual(page.read_text())
                self.assertNotIn("OPTIONS", in_manual)  # but in its subsections
                self.assertEqual(list(in_help.items()), list(in_manual.items()))

    def test_a_variable_has_one_meaning(self):
        """That of an option where there is one: what is set for an application must not upset a tool."""
        alike = {"MNEME_APPLY", "MNEME_CHECK", "MNEME_CHECK_MEMORY", "MNEME_DEVICE_HEAP", "MNEME_HOST_DEVICES",
                 "MNEME_SUPPRESS", "MNEME_WARP_SYNCHRONOUS"}
        of_options = {"MNEME_" + option[2:].upper().replace("-", "_") for name in TOOLS
                      for option in options_of(groups_of_manual(page_of(name).read_text())) if option.startswith("--")}
        sources = [path for folder in [ROOT / "lib", *ROOT.glob("mneme-*")] for path in folder.rglob("*.cc")
                   if not path.name.endswith("_test.cc")]
        read = {name for path in sources for name in re.findall(r'\w\("(MNEME_\w+)"\)', path.read_text())}
        self.assertIn("MNEME_KERNEL_CACHE", read)
        self.assertEqual(read & of_options, alike)

    def test_every_tool_names_its_version(self):
        version = re.search(r"project\(mneme VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        for name in TOOLS:
            with self.subTest(tool=name):
                shown = subprocess.run([tool(name), "--version"], capture_output=True, text=True, timeout=60)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertRegex(shown.stdout, rf"^mneme-{name} {re.escape(version)}( \([0-9a-f]{{7,}}\))?\n$")

    def test_pages_are_well_formed(self):
        for name in TOOLS:
            page = page_of(name)
            with self.subTest(tool=name):
                lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
                wrong = [line for line in lint.stdout.splitlines() if "sections out of conventional order" not in line]
                self.assertEqual(wrong, [])
                text = page.read_text()
                sections = re.findall(r"(?m)^\.Sh (.*)$", text)
                self.assertEqual(sections[:4], ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"])  # for people: early
                self.assertLessEqual({"OPTIONS", "ENVIRONMENT", "EXIT STATUS", "SEE ALSO"}, set(sections))
                if "BUGS" in sections:
                    bugs = text.partition(".Sh BUGS\n")[2]
                    self.assertRegex(bugs, r"\A(.+\n){1,3}\.Bl -bullet")  # a list, no stories

    def test_a_description_is_a_screenful(self):
        for name in TOOLS:
            with self.subTest(tool=name):
                shown = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=100", page_of(name)], capture_output=True, text=True)
                text = re.sub(".\b", "", shown.stdout)
                self.assertLessEqual(text[text.index("\nDESCRIPTION\n"):text.index("\nEXAMPLES\n")].count("\n"), 40)


class Parsing(unittest.TestCase):
    def test_help(self):
        text = ("Usage: mneme-x [OPTIONS] -- that\n\nSelection:\n  --kernel REGEX  x\n                  -y is meant\n\n"
                "Output:\n  -h, --help      Shows this, not -z\n")
        self.assertEqual(groups_of_help(text), {"Selection": {"--kernel"}, "Output": {"-h", "--help"}})
        self.assertEqual(groups_of_help("  -O0, -O1  none, or --some\n"), {None: {"-O0", "-O1"}})

    def test_manual(self):
        source = (".Sh OPTIONS\n.Bl -tag\n.It Fl h , -help\nSee\n.Fl z .\n.Ss Output\n.It Fl -kernel Ar REGEX\n"
                  ".It Fl o Ar FILE , Fl -output Ar FILE\n")
        self.assertEqual(groups_of_manual(source),
                         {"OPTIONS": {"-h", "--help"}, "Output": {"--kernel", "-o", "--output"}})
        self.assertEqual(groups_of_manual(".It Fl O0 , O1\n"), {None: {"-O0", "-O1"}})


if __name__ == "__main__":
    unittest.main(verbosity=2)
