# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the tools are, and how one of them is run."""

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import MnemeError

Word = str | os.PathLike[str]

# Where the tools are for a package that is installed (PREFIX/share/mneme/python/mneme) or in the build folder, and for one in
# the sources.
_PACKAGE = pathlib.Path(__file__).absolute().parent
_FOLDERS = _PACKAGE.parents[3] / "bin", _PACKAGE.parents[1] / "build" / "bin"


def tool(name: str) -> str:
    """The path of mneme-NAME: beside the tool of Mneme's that runs, where it belongs to this package, else in PATH."""
    program = pathlib.Path(sys.argv[0] or ".").absolute()
    for folder in ([program.parent] if program.name.startswith("mneme-") else []) + list(_FOLDERS):
        path = folder / f"mneme-{name}"
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which(f"mneme-{name}")
    if not found:
        raise MnemeError(f"mneme-{name} is not found: put its folder into PATH", 3, f"mneme-{name}")
    return found


def sentence_of(messages: str) -> tuple[str | None, str | None]:
    """The tool and the sentence of the error that says why something ended; nothing where no tool says so."""
    said = [line for line in messages.splitlines() if ": error: " in line]
    if not said:
        return None, None
    # That the next one is gone is no reason.
    name, _, sentence = next((line for line in said if "Broken pipe" not in line), said[-1]).partition(": error: ")
    return name, sentence


def run_tool(name: str, words: Sequence[Word], *, environment: Mapping[str, str] | None = None,
             pass_through: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs mneme-NAME to its end. A status other than 0 is a MnemeError with the tool's sentence. With `pass_through` its
    streams are the caller's; standard error is shown when it has ended."""
    sys.stdout.flush()  # a tool that writes there comes behind
    stream = None if pass_through else subprocess.PIPE
    ended = subprocess.run([tool(name), *words], stdin=None if pass_through else subprocess.DEVNULL, stdout=stream,
                           stderr=subprocess.PIPE, env=environment, text=True, errors="replace", check=False)
    if pass_through:
        sys.stderr.write(ended.stderr)
    if ended.returncode:
        said_by, sentence = sentence_of(ended.stderr)
        status = ended.returncode if ended.returncode > 0 else 3
        raise MnemeError(sentence or f"mneme-{name} has ended with status {ended.returncode} and without a message",
                         status, said_by or f"mneme-{name}")
    return ended


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Options of a tool, by name: `max_instances=3` is --max-instances=3, True a flag, a list an option several times."""
    made: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                made.append(option)
            elif one is not None and one is not False:
                made.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return made
