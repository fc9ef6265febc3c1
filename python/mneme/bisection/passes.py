# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbered passes of a compilation, and what one of them changes."""

import difflib
import json
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import MnemeError
from ..session import Session
from ..tools import sentence_of

ALL = 2**31 - 1  # opt_bisect: every pass runs

# LLVM's debug counters (llvm/Support/DebugCounter.h) by the pass that counts.
COUNTERS = {
    "AssumeBuilderPass": "assume-builder-counter", "ConstraintEliminationPass": "conds-eliminated", "DCEPass": "dce-transform",
    "DSEPass": "dse-memoryssa", "DivRemPairsPass": "div-rem-pairs-transform", "EarlyCSEPass": "early-cse",
    "InstCombinePass": "instcombine-visit", "NewGVNPass": "newgvn-vn",
    "PartiallyInlineLibCallsPass": "partially-inline-libcalls-transform",
}


@dataclass(frozen=True)
class Pass:
    number: int
    name: str
    where: str  # the function, loop or module

    def __str__(self) -> str:
        return f"{self.number} {self.name} on {self.where}"


def _compile(session: Session, configuration: Mapping[str, Any], *words: str) -> str:
    """mneme-compile's messages; the bundle that it writes is let go."""
    settings = session.workers[0].settings
    instance = session.selection.instances[0].id
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        lines.write(json.dumps(dict(configuration)) + "\n")
        lines.flush()
        ended = subprocess.run([*settings.command("compile", "-v", *words), *settings.selection(instance), "--variants",
                                lines.name, settings.bundle], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=settings.environment(), text=True, errors="replace", check=False)
    if ended.returncode:
        raise MnemeError(sentence_of(ended.stderr)[1] or "mneme-compile has ended without a message", ended.returncode)
    return ended.stderr


def passes_of(session: Session, configuration: Mapping[str, Any]) -> list[Pass]:
    said = _compile(session, {**configuration, "opt_bisect": configuration.get("opt_bisect", ALL)})
    found = [Pass(int(number), name, where) for number, name, where in
             re.findall(r"^mneme-compile: line 1: '.*': (\d+) (.+) on (.+)$", said, re.MULTILINE)
             if not where.endswith(" (skipped)")]
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    return found


def texts_of(session: Session, configuration: Mapping[str, Any]) -> tuple[str, str]:
    """The IR behind the pipeline, and the assembly."""
    with tempfile.TemporaryDirectory(prefix="mneme-bisect-") as name:
        _compile(session, configuration, "--save-ir", name)
        folder = pathlib.Path(name)
        texts = [next(folder.glob(f"*.{kind}"), None) for kind in ("ll", "s")]
        return tuple(path.read_text() if path else "" for path in texts)  # type: ignore[return-value]


def functions_of(text: str) -> dict[str, str]:
    """Of IR."""
    return {name.strip('"'): body
            for name, body in re.findall(r'^define [^\n]*?@("[^"]*"|[\w.$-]+)\((.*?)^}', text, re.MULTILINE | re.DOTALL)}


def changed_functions(before: str, after: str) -> list[str]:
    one, other = functions_of(before), functions_of(after)
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def difference(before: str, after: str, names: tuple[str, str]) -> str:
    return "".join(difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), *names))
