# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials, in a folder from where they are taken up again."""

import json
import math
import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import MnemeError
from ..session import Run


@dataclass(frozen=True)
class Trial:
    """A line of trials.jsonl."""

    trial: int  # its place among all, from 0
    parameters: Mapping[str, Any]
    configuration: Mapping[str, Any]
    status: str
    seconds: float
    baseline: bool = False
    reason: str = ""  # why it is not verified
    median_ns: float | None = None
    code_bytes: int | None = None
    launches_ns: Sequence[float] = ()  # of several launches
    executed: tuple[str, ...] = ()
    resources: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(number: int, parameters: Mapping[str, Any], configuration: Mapping[str, Any], run: Run, seconds: float,
           baseline: bool = False) -> "Trial":
        if not run.verified:
            return Trial(number, parameters, configuration, run.status, seconds, baseline, run.reason)
        return Trial(number, parameters, configuration, run.status, seconds, baseline, "", run.median_ns, run.code_bytes,
                     [launch.median_ns or 0 for launch in run.launches], run.executed, dict(run.resources))

    @staticmethod
    def read(line: str) -> "Trial":
        keys: dict[str, Any] = json.loads(line)
        keys["executed"] = tuple(keys.get("executed", ()))
        return Trial(**keys)

    def line(self) -> dict[str, Any]:
        """What is not there has no key."""
        return {key: value for key, value in vars(self).items() if key in ("parameters", "configuration", "trial") or value}

    def value(self, pareto: bool = False) -> float | None:
        """What the sampler is to make small; nothing for a trial that is not verified."""
        if self.median_ns is None:
            return None
        return self.median_ns * (self.code_bytes or 1) if pareto else self.median_ns


def verified(trials: Iterable[Trial]) -> list[Trial]:
    """Those, the fastest first; of several with the same code the first."""
    found: dict[tuple[str, ...], Trial] = {}
    for trial in trials:
        if trial.status == "verified":
            found.setdefault(trial.executed, trial)
    return sorted(found.values(), key=lambda trial: (trial.median_ns or 0, trial.trial))


def front(trials: Iterable[Trial]) -> Iterator[Trial]:
    """Of verified trials, the fastest first, those than which none is both as fast and as small."""
    smallest = math.inf
    for trial in sorted(verified(trials), key=lambda t: (t.median_ns or 0, t.code_bytes or 0)):
        if (trial.code_bytes or 0) < smallest:
            smallest = trial.code_bytes or 0
            yield trial


def write_lines(path: pathlib.Path, lines: Iterable[Mapping[str, Any]]) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False) as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def read_trials(path: pathlib.Path) -> list[Trial]:
    """A search that was killed may have left a part of a line, which is left out."""
    found = []
    lines = path.read_text().split("\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            found.append(Trial.read(line))
        except (ValueError, TypeError, AttributeError):
            raise MnemeError(f"'{path}', line {number}: it is no trial: remove the file, or name another folder") from None
    return found


class Study:
    """`about` says which search it is: another one is refused."""

    def __init__(self, folder: pathlib.Path, about: Mapping[str, Any]) -> None:
        self.folder, self.path = folder, folder / "trials.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "study.json"
        about = json.loads(json.dumps(about))
        try:
            before = json.loads(file.read_text()) if file.exists() else about
        except ValueError as error:
            raise MnemeError(f"'{file}' cannot be used: {error}") from None
        if before != about:
            changed = ", ".join(key for key in about if before.get(key) != about[key])
            raise MnemeError(f"'{folder}' has the trials of another search ({changed}): name another folder with -o")
        self.trials = read_trials(self.path) if self.path.exists() else []
        write_lines(file, [about])
        write_lines(self.path, [trial.line() for trial in self.trials])
        self.file = open(self.path, "a")

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        self.file.write(json.dumps(trial.line()) + "\n")
        self.file.flush()

    def begin(self, baseline: Trial) -> None:
        """The first trial, in the place of an earlier search's."""
        self.trials[:1] = [baseline]
        self.file.close()
        write_lines(self.path, [trial.line() for trial in self.trials])
        self.file = open(self.path, "a")

    @property
    def others(self) -> Sequence[Trial]:
        return self.trials[1:]

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
