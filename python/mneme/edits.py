# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings that are changed, by mneme-restore --edit."""

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from .pipe import Settings
from .tools import run_tool


def edit(bundle: str | os.PathLike[str], changes: Mapping[str, Any], selection: Sequence[str], made: pathlib.Path) -> None:
    """Writes the selected launches with these changes."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(changes))
        file.flush()
        run_tool("restore", ["--edit", file.name, *selection, "-o", made, bundle])


def accept_result(settings: Settings, configuration: Mapping[str, Any], variant: str, instance: str, made: pathlib.Path) -> None:
    """Writes the bundle in which the result of this configuration, whose variant is named, is expected."""
    select, runs = settings.selection(instance), made.with_suffix(".partial")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        lines.write(json.dumps(dict(configuration)) + "\n")
        lines.flush()
        stages = [[*settings.command("compile"), *select, "--variants", lines.name, settings.bundle],
                  [*settings.command("run", "--keep", "--warmup", "0", "--iterations", "1", "-o", runs), *select]]
        try:
            compile = subprocess.Popen(stages[0], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=settings.environment())
            subprocess.run(stages[1], stdin=compile.stdout, stderr=subprocess.DEVNULL, env=settings.environment(), check=False)
            assert compile.stdout
            compile.stdout.close()
            compile.wait()
            edit(runs, {"accept": variant}, select, made)
        finally:
            runs.unlink(missing_ok=True)
