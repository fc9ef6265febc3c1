# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of the test programs, kept in the build folder: a program's pipeline test makes one, other tests use it."""

import os
import tempfile

from support import BUILD, PROGRAMS, tool

FOLDER = BUILD / "tests" / "recordings"


def keep_recording(source, recording):
    """Leaves what was recorded of a program built at -O3 for other tests."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=FOLDER, delete=False) as file:
        file.write(recording.read_bytes())
    os.replace(file.name, FOLDER / f"{source.stem}.tar")  # others may be reading the old one


def recording_of(source, test):
    """The path of what was recorded of a program built at -O3: as it was kept, if that is newer than all that it is made
    from, else made by `test`, a TestCase."""
    kept = FOLDER / f"{source.stem}.tar"
    made_from = [source, PROGRAMS / "check.h", tool("inject"), tool("capture"), *(BUILD / "lib" / "mneme").glob("*.so")]
    if not kept.exists() or kept.stat().st_mtime < max(os.stat(file).st_mtime for file in made_from):
        keep_recording(source, test.record(test.build(source, None, "-O3")))
    return kept
