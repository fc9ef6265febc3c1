# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fastest trials and the baseline take turns; the best of the trials is the result."""

import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..applications import tuned
from ..errors import MnemeError
from ..pipe import variables
from ..session import Run, Session
from .study import Trial, verified, write_lines

FINALISTS = 5  # trials that are compared with the baseline once more, in turns


@dataclass(frozen=True)
class Result:
    trial: Trial
    runs: Sequence[Run]  # one a launch, with its comparison with the baseline
    before: Sequence[Run]  # of the baseline
    tuned: str  # why there is no tuned.tar; else empty

    @property
    def is_faster(self) -> bool:
        """On a launch, or not known to be not."""
        outcomes = [(run.comparison or {}).get("outcome") for run in self.runs]
        return not all(outcomes) or "faster" in outcomes


def finals(session: Session, baseline: Mapping[str, Any], trials: Sequence[Trial], rounds: int, folder: pathlib.Path) -> Result:
    """Leaves tuned.tar in the folder, if something is faster."""
    chosen = verified(trials)[:FINALISTS]
    with tempfile.TemporaryDirectory(prefix="mneme-tune-") as keep:
        before, *found = session.compare([baseline, *(trial.configuration for trial in chosen)], rounds=rounds, keep=keep).result()
        standing = [(sum(run.median_ns or 0 for run in runs), trial.trial, trial, runs) for trial, runs in zip(chosen, found)
                    if all(run.verified for run in runs)]
        if not standing:
            raise MnemeError("none of the fastest trials was verified a second time: see 'messages.txt'", 1)
        _, _, trial, runs = min(standing)
        reason = ""
        try:
            tuned([os.path.join(keep, f"{instance}.tar") for instance in session.selection.ids()], folder / "tuned.tar",
                  kernel=session.selection.expression, reference="first", verify=session.verify, flags=_judging(session)).close()
        except MnemeError as error:
            reason = str(error)
    return Result(trial, runs, before, reason)


def _judging(session: Session) -> list[str]:
    """Flags of mneme-verify's that say how it judges: mneme-restore --tuned judges the same."""
    kept, given = [], iter(session.flags.get("verify", ()))
    for word in given:
        if word == "--junit":
            next(given, None)
        elif not word.startswith("--junit="):
            kept.append(word)
    return kept


def command(session: Session, baseline: Mapping[str, Any], configuration: Mapping[str, Any], rounds: int, instance: str) -> str:
    """What shows it again, with the same tools."""
    return session.workers[0].settings.shell([baseline, configuration], instance, run=["--rounds", str(rounds)],
                                             verify=["--reference", "first"])


def write_best(session: Session, result: Result, baseline: Mapping[str, Any], rounds: int, instance: str,
               folder: pathlib.Path) -> None:
    """best.json and best.sh."""
    trial = result.trial
    shown = command(session, baseline, trial.configuration, rounds, instance)
    write_lines(folder / "best.json", [{
        "trial": trial.trial, "configuration": trial.configuration, "parameters": trial.parameters,
        "code_bytes": trial.code_bytes, "command": shown,
        "instances": [{"instance": run.instance, "variant": run.variant, "median_ns": run.median_ns,
                       "baseline_ns": base.median_ns, "comparison": run.comparison}
                      for run, base in zip(result.runs, result.before)]}])
    (folder / "best.sh").write_text("#!/bin/sh\n# The best that mneme-tune found, beside the baseline.\n"
                                    f"unset {' '.join(variables())}\n{shown}\n")
