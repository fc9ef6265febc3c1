# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples in README.md and docs/*.md, and what comes of them when they are run.

A fenced block of `console` has commands, each behind `$ ` (further lines of one behind `> `), and what they print; one of
`sh` is a script. The blocks of a page run in one folder, one after another. Comments, which readers do not see, say:

    <!-- file: app.hip = tests/programs/vector_add.hip -->   a file of the repository is in the folder from here on
    <!-- file: app.hip -->      the next block is the text of a file
    <!-- not run: REASON -->    the next block is not run
    <!-- needs: cuda -->        from here on, blocks are run only where there is a CUDA toolkit; or AVX-512

What a command prints is compared with the page, apart from numbers, hashes and verdicts about speed. A line of the page
that is `…` stands for any number of lines.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from support import BUILD, ROOT, has_avx512

FENCE = re.compile(r"( *)```(\w*)\s*")
COMMENT = re.compile(r"<!-- (file|not run|needs): (.*?) -->")
TIMEOUT = 1500  # seconds for a page
INSTALLED = {"/usr/local/share/mneme/grid.mk": ROOT / "scripts" / "grid" / "grid.mk"}  # where the sources have it
FAILS = re.compile(r"not verified|\bvaries\b|too slow|different computation|: error: |\bfailed\b")  # a command that prints this may end with another status than 0


class Block:
    """A fenced block: its language, its lines, where they begin in the page, and what a comment says of it."""

    def __init__(self, language, first):
        self.language, self.first, self.lines = language, first, []
        self.file = self.reason = self.copied_from = None

    def commands(self):
        """Pairs of a command and the lines that it prints, of `console`."""
        found = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> ") and found and not found[-1][1]:
                found[-1] = (found[-1][0] + "\n" + line[2:], [])
            elif found:
                found[-1][1].append(line)
            else:
                raise ValueError(f"line {self.first}: a block of console begins with '$ '")
        return found

    @property
    def is_run(self):
        return self.language in ("console", "sh") and self.reason is None


def is_here(need):
    """Whether this machine has what a page needs."""
    if need == "AVX-512":
        return has_avx512()
    if need != "cuda":
        raise ValueError(f"'{need}' is nothing that a page can need")
    return subprocess.run([BUILD / "bin" / "mneme-inject", "--print-flags", "link", "cuda"], capture_output=True).returncode == 0


def blocks_of(text):
    """The blocks of a page, in order. A file that is copied is a block without lines."""
    blocks, block, comments, indent, missing = [], None, {}, "", None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.fullmatch(line)
        if block is not None:
            if fence and not fence.group(2):
                blocks.append(block)
                block = None
            else:
                block.lines.append(line.removeprefix(indent))
        elif fence:
            indent, block = fence.group(1), Block(fence.group(2), number + 1)
            block.file, block.reason = comments.pop("file", None), comments.pop("not run", missing)
        elif comment := COMMENT.fullmatch(line.strip()):
            name, _, source = comment.group(2).partition(" = ")
            if comment.group(1) == "needs":
                missing = None if is_here(name) else f"this machine has no {name}"
            elif comment.group(1) == "file" and source:
                blocks.append(Block("", number))
                blocks[-1].file, blocks[-1].copied_from = name, source
            else:
                comments[comment.group(1)] = comment.group(2)
    return blocks


def masked(line):
    """A line without what differs from run to run."""
    if re.fullmatch(r"status \d+", line):
        return line
    line = re.sub(r"(no GPU was found|there is an NVIDIA GPU, but '.*' does not use the CUDA runtime): using", "using", line)
    line = re.sub(r"^best, trial .*", "best", line)
    line = re.sub(r"\b[0-9a-f]{6,}\b", "HASH", line)
    line = re.sub(r"\b(faster|slower|within noise|too slow)\b", "SPEED", line)
    line = re.sub(r"0x[0-9a-f]+", "0xN", line)
    line = re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?( (ns|us|ms|s)\b)?", "N", line)
    return " ".join(line.split())


def is_as_printed(expected, printed):
    """Whether lines of a page are what was printed, apart from what differs from run to run."""
    if not expected:
        return not printed
    if expected[0].strip() == "…":
        return any(is_as_printed(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and masked(expected[0]) == masked(printed[0]) and is_as_printed(expected[1:], printed[1:])


class Ran:
    def __init__(self, block, command, expected, status, printed):
        self.block, self.command, self.expected, self.status, self.printed = block, command, expected, status, printed

    @property
    def complaint(self):
        """What is wrong with it, or None."""
        said = "\n".join(self.printed)
        if self.status and not FAILS.search(said):
            return f"line {self.block.first}: '{self.command}' ended with status {self.status}:\n{said}"
        if self.expected is not None and not is_as_printed(self.expected, self.printed):
            shown = "\n".join(self.expected)
            return f"line {self.block.first}: '{self.command}' prints\n{said}\nand the page shows\n{shown}"
        return None


def run_page(page):
    """Runs all examples of a page. Returns a Ran for each command."""
    blocks = blocks_of(page.read_text())
    with tempfile.TemporaryDirectory(prefix="mneme-page-") as name:
        folder, outputs = pathlib.Path(name) / "example", pathlib.Path(name) / "outputs"
        folder.mkdir()
        outputs.mkdir()
        script, commands = ["set -o pipefail"], []

        def add(block, command, expected):
            at = outputs / str(len(commands))
            commands.append((block, command, expected, at))
            script.append(f"{{\n{command}\n}} > {at} 2>&1 < /dev/null\nstatus=$?; echo $status > {at}.status; (exit $status)")

        for number, block in enumerate(blocks):
            if block.file and block.copied_from:
                source = ROOT / block.copied_from
                script.append(f"mkdir -p $(dirname '{block.file}'); cp -r '{source}' '{block.file}'")
            elif block.file:
                text = outputs / f"file{number}"
                lines = "\n".join(block.lines) + "\n"
                for place, source in INSTALLED.items():
                    lines = lines.replace(place, str(source))
                text.write_text(lines)
                script.append(f"mkdir -p $(dirname '{block.file}'); cp '{text}' '{block.file}'")
            elif block.is_run and block.language == "sh":
                add(block, "\n".join(block.lines), None)
            elif block.is_run:
                for command, expected in block.commands():
                    add(block, command, expected)
        # Nor are the examples part of the make that runs the tests.
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("MNEME_") and key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        environment["PATH"] = f"{BUILD / 'bin'}:{environment['PATH']}"
        environment["CPLUS_INCLUDE_PATH"] = str(ROOT / "lib" / "annotate")
        environment["PYTHONPATH"], environment["PYTHONDONTWRITEBYTECODE"] = str(ROOT / "python"), "1"
        subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=environment, timeout=TIMEOUT)
        return [Ran(block, command, expected, int(pathlib.Path(f"{at}.status").read_text()),
                    at.read_text(errors="replace").splitlines()) for block, command, expected, at in commands]


def update(page, refresh=False):
    """Puts what the commands of a page print now into the page, where it is not what the page shows; with `refresh`
    wherever the page shows all of it."""
    lines = page.read_text().splitlines()
    ran = run_page(page)
    by_block = {}
    for one in ran:
        by_block.setdefault(one.block.first, []).append(one)
    for first in sorted(by_block, reverse=True):
        block = by_block[first][0].block
        if block.language != "console":
            continue
        new = []
        for one in by_block[first]:
            new += ["$ " + one.command.replace("\n", "\n> ")]
            new += one.printed if one.complaint or (refresh and "…" not in one.expected) else one.expected
        lines[first - 1:first - 1 + len(block.lines)] = "\n".join(new).splitlines()
    page.write_text("\n".join(lines) + "\n")
    return ran
