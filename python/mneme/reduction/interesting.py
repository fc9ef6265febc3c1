# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llvm-reduce's test: interesting.py FOLDER FILE ends with 0 if the IR in the file still shows the fault of the case in the
folder. The smallest that does is kept there."""

import os
import pathlib
import re
import sys
import tempfile

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from mneme.reduction.case import Case, symptom_of  # noqa: E402

CASE, RECORDED, BEST = "case.json", "recorded.ll", "reduced.ll"  # in the folder


def undefined(text: str) -> int:
    """How many values mean nothing in particular: a compiler may make of them what it likes, so that more of them show
    nothing."""
    return len(re.findall(r"\b(?:undef|poison|unreachable)\b", text))


def keep_if_smaller(folder: pathlib.Path, path: pathlib.Path) -> None:
    best = folder / BEST
    text = re.sub("^; ModuleID = .*\n", "", path.read_text())  # a file that is gone then
    if best.exists() and best.stat().st_size <= len(text.encode()):
        return
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
        file.write(text)
    os.replace(file.name, best)


def is_interesting(folder: pathlib.Path, path: pathlib.Path) -> bool:
    case = Case.load(folder / CASE)
    if undefined(path.read_text()) > undefined((folder / RECORDED).read_text()):
        return False
    if symptom_of(case, case.bundle, path, case.instance) != case.symptom:
        return False
    keep_if_smaller(folder, path)
    return True


if __name__ == "__main__":
    sys.exit(0 if is_interesting(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])) else 1)
