# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is made of the test programs once, and kept in the build folder: one test makes it, others use it."""

import os
import shutil
import tempfile

from support import BUILD, PROGRAMS, tool

FOLDER = BUILD / "tests" / "recordings"


def keep(made, name):
    """Leaves a file for other tests, by this name; returns where."""
    kept = FOLDER / name
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        pass
    shutil.copy(made, file.name)
    os.replace(file.name, kept)  # others may be reading the old one
    return kept


def is_current(kept, made_from):
    """Whether that was kept, and is newer than all that it is made from: these, the compiler's wrapper and the recorder."""
    made_from = [*made_from, PROGRAMS / "check.h", tool("inject"), tool("capture"), *(BUILD / "lib" / "mneme").glob("*.so")]
    return kept.exists() and kept.stat().st_mtime >= max(os.stat(file).st_mtime for file in made_from)


def keep_recording(source, recording, program):
    """Leaves a program built at -O3, and what was recorded of it, for other tests."""
    keep(program, f"{source.stem}.program")
    return keep(recording, f"{source.stem}.tar")


def recording_of(source, test):
    """The path of what was recorded of a program built at -O3: as it was kept, or made by `test`, a TestCase."""
    kept = FOLDER / f"{source.stem}.tar"
    if is_current(kept, [source]) and is_current(kept.with_suffix(".program"), [source]):
        return kept
    program = test.build(source, None, "-O3")
    return keep_recording(source, test.record(program), program)


def program_of(source, test):
    """The program that recording_of() was made with."""
    return recording_of(source, test).with_suffix(".program")
