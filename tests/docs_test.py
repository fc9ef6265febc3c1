#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What README.md and docs/*.md say can be tried is tried:

    docs_test.py docs/tutorial.md            runs the examples of a page, and compares what they print
    docs_test.py --update docs/tutorial.md   puts what they print into the page, where it is not what the page shows
    docs_test.py --refresh docs/tutorial.md  likewise all that they print, with new times
    docs_test.py                             all that holds of the pages by themselves: links, lengths, navigation
    MNEME_TEST_SITE=1 docs_test.py Site      builds the site, and looks for its links
"""

import html
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from pages import Block, blocks_of, is_as_printed, masked, run_page, update
from support import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LENGTHS = {"README.md": 120, "docs/gpu_report.md": 80}  # lines, at most
LINK = re.compile(r"\]\(([^)\s]+)\)")


def without_blocks(text):
    """A page without its fenced blocks and code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^ *```.*?^ *```", "", text))


def anchors_of(text):
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    titles = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^ *```.*?^ *```", "", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in LINK.findall(without_blocks(page.read_text())):
                if link.startswith(("http://", "https://")):
                    continue
                with self.subTest(page=page.name, link=link):
                    path, _, anchor = link.partition("#")
                    target = (page.parent / path).resolve() if path else page
                    self.assertTrue(target.exists())
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors_of(target.read_text()))

    def test_lengths(self):
        for name, most in LENGTHS.items():
            self.assertLessEqual(len((ROOT / name).read_text().splitlines()), most, name)

    def test_every_page_is_in_the_navigation(self):
        names = re.findall(r"(?m)^\s+- (?:[^:]+: )?(\S+\.md)$", (ROOT / "docs" / "mkdocs.yml").read_text())
        copied = {"specification.md", "contributing.md"}
        self.assertEqual(sorted(names), sorted(copied | {page.name for page in (ROOT / "docs").glob("*.md")}))

    def test_examples_say_why_they_are_not_run(self):
        for page in PAGES:
            for block in blocks_of(page.read_text()):
                with self.subTest(page=page.name, line=block.first):
                    if block.language == "console" and block.reason is None:
                        block.commands()


def said_in_sources():
    """All texts in the sources, one a line, with `…` for what is filled in."""
    texts = []
    for folder in ("lib", "mneme-capture", "mneme-compile", "mneme-extract-ir", "mneme-inject", "mneme-restore", "mneme-run",
                   "mneme-verify", "scripts"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h", ".list") and not path.stem.endswith("_test"):
                text = re.sub(r'"\s*\n\s*"', "", path.read_text())
                texts += re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) if path.suffix != ".list" else text.splitlines()
    return [re.sub(r"\{[^{}]*\}", "…", text.replace('\\"', '"')) for text in texts]


class Messages(unittest.TestCase):
    """What troubleshooting.md quotes is what the sources say, and messages.md has all that they say."""

    def test_each_sentence_of_the_sources_is_listed(self):
        checked = subprocess.run([ROOT / "scripts" / "message_table", "--check"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_sentences_are_found(self):
        loader = importlib.machinery.SourceFileLoader("message_table", str(ROOT / "scripts" / "message_table"))
        table = importlib.util.module_from_spec(importlib.util.spec_from_loader("message_table", loader))
        loader.exec_module(table)
        for source, said in [
                ('throw Error::of("kernel \'{}\' is "\n  "too {:#x}", a);', ["kernel '…' is too …"]),
                ('throw Error("cannot open \'" + f(x, "y") + "\' for reading");', ["cannot open '…' for reading"]),
                ('return a + " is no file, " + b;', ["… is no file, …"]),
                ('const char* why = late ? "it came too late" : "it came too early";', ["it came too late", "it came too early"]),
                ('options.value("--name", &name, "the name of the file");  // "not a text of the source"', []),
                ('std::fprintf(stderr, "mneme: %.80s of {{%p}}: \\"%s\\"\\n", a, b, c);', ["mneme: … of {…}: \"…\""])]:
            with self.subTest(source=source):
                self.assertEqual([text for text in table.cpp_texts(source) if table.is_sentence(text)], said)
        self.assertEqual(table.python_texts("raise Wrong(f\"'{a}' has no \" + b, 3)"), ["'…' has no …"])

    def test_each_message_is_in_the_sources(self):
        texts = "\n".join(said_in_sources())
        page = (ROOT / "docs" / "troubleshooting.md").read_text()
        for row in re.findall(r"(?m)^\| (`.*?) \|", page):
            for quoted in re.findall(r"`([^`]+)`", row):
                for piece in quoted.split("…"):
                    piece = piece.strip("' ")
                    if len(piece) >= 12:
                        with self.subTest(message=quoted, piece=piece):
                            self.assertIn(piece, texts)


class Examples(unittest.TestCase):
    page = None

    def test_examples(self):
        if self.page is None:
            self.skipTest("no page was named")
        complaints = [ran.complaint for ran in run_page(self.page) if ran.complaint]
        self.assertEqual(complaints, [], "\n\n".join(complaints))


class Site(unittest.TestCase):
    def test_it_is_built(self):
        if not os.environ.get("MNEME_TEST_SITE"):
            self.skipTest("docs.site does that")
        for program in ("/usr/bin/mkdocs", "doxygen", "mandoc"):
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")
        with tempfile.TemporaryDirectory(prefix="mneme-site-") as build:
            built = subprocess.run([ROOT / "scripts" / "docs", build], capture_output=True, text=True)
            self.assertEqual(built.returncode, 0, built.stderr)
            site = pathlib.Path(build) / "docs" / "site"
            for page in ("index.html", "tutorial.html", "specification.html", "man/mneme-run.1.html", "api/index.html"):
                self.assertTrue((site / page).is_file(), page)
            for page in site.glob("*.html"):
                for link in re.findall(r'<a [^>]*href="([^"#?]+)', page.read_text()):
                    if not re.match(r"[a-z]+:|/", html.unescape(link)):
                        self.assertTrue((site / link).exists(), f"{page.name}: {link}")
            found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
            self.assertTrue(any("--check-memory" in entry["text"] for entry in found))


class Comparing(unittest.TestCase):
    def test_masked(self):
        self.assertEqual(masked("x  59d4b0ebcf39  25.4 us   1.2 (1.1 to 1.3) faster"),
                         masked("x  000000000000  3 ms  0.9 (0.8 to 0.95) slower"))
        self.assertNotEqual(masked("verified"), masked("not verified"))

    def test_what_is_left_out(self):
        self.assertTrue(is_as_printed(["a", "…", "d"], ["a", "b", "c", "d"]))
        self.assertFalse(is_as_printed(["a", "…", "d"], ["a", "b", "c"]))
        self.assertFalse(is_as_printed(["a"], ["a", "b"]))

    def test_blocks(self):
        text = "<!-- file: a.hip -->\n```cpp\nint a;\n```\n<!-- not run: no GPU -->\n```console\n$ b\n```\n```console\n$ c\n> d\ne\n```\n"
        file, left_out, block = blocks_of(text)
        self.assertEqual((file.file, file.lines, file.is_run), ("a.hip", ["int a;"], False))
        self.assertEqual((left_out.reason, left_out.is_run), ("no GPU", False))
        self.assertEqual(block.commands(), [("c\nd", ["e"])])

    def test_a_block_of_console_begins_with_a_command(self):
        block = Block("console", 1)
        block.lines = ["output"]
        with self.assertRaises(ValueError):
            block.commands()


if __name__ == "__main__":
    if sys.argv[1:2] in (["--update"], ["--refresh"]):
        for name in sys.argv[2:]:
            for ran in update(pathlib.Path(name).resolve(), sys.argv[1] == "--refresh"):
                print(f"{ran.status}  {ran.command.splitlines()[0]}" + ("   (updated)" if ran.complaint else ""))
        sys.exit()
    if len(sys.argv) == 2 and sys.argv[1].endswith(".md"):
        Examples.page = (ROOT / sys.argv.pop()).resolve()
        sys.argv.append("Examples")
    unittest.main(verbosity=2)
