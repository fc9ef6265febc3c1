# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recording applications, and running them with what was tuned."""

import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

from .bundle import Bundle
from .errors import MnemeError
from .pipe import environment
from .tools import Word, option_words, run_tool
from .verify import Verify

Path = str | os.PathLike[str]


def capture(command: Sequence[Word], *, output: Path | None = None, **options: Any) -> Bundle:
    """Records an application: `capture(["./app", "100"], device="host", max_instances=3)`; options are mneme-capture's. Its
    output and input are this program's. Without `output` the recording goes with the bundle."""
    folder = tempfile.TemporaryDirectory(prefix="mneme-capture-") if output is None else None
    path = pathlib.Path(folder.name) / "recording.tar" if folder else pathlib.Path(os.fspath(output or ""))
    run_tool("capture", [*option_words(options), "-o", path, *command], pass_through=True)
    return Bundle(path, folder)


def apply(bundle: Bundle | Path, command: Sequence[Word], **options: Any) -> str:
    """Runs an application with the variants of a tuned bundle in place of its own code; options are mneme-capture's, such as
    `summary=True`. Returns what mneme-capture and the application write to standard error."""
    path = bundle.path if isinstance(bundle, Bundle) else bundle
    return run_tool("capture", ["--apply", path, *option_words(options), *command], pass_through=True).stderr


def tuned(runs: Sequence[Path], output: Path, *, kernel: str = "", reference: str = "recorded",
          verify: Verify = Verify(), flags: Sequence[str] = ()) -> Bundle:
    """Makes a tuned bundle of bundles with runs: the fastest variant of each launch that is verified and faster than the
    reference (docs/applying.md). Where there is none, a MnemeError says so."""
    select = ["--kernel", kernel] if kernel else []
    path = pathlib.Path(output)
    path.unlink(missing_ok=True)  # an earlier one
    try:
        run_tool("restore", ["--tuned", "--reference", reference, *verify.words(), *flags, *select, "-o", path, *runs],
                 environment=environment())
    except MnemeError:
        path.unlink(missing_ok=True)  # of runs that were cut short there may be one
        raise
    return Bundle(path)
