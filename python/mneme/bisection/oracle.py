# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a configuration is good or bad. What was run once is kept in a folder, from which a search goes on."""

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import MnemeError
from ..session import Run, Session

MOST_ROUNDS = 4  # times those that were asked for, where an interval does not tell


def say(text: str) -> None:
    print(text, flush=True)


@dataclass(frozen=True)
class Verdict:
    bad: bool
    reason: str = ""  # why it is bad
    ratio: float | None = None  # its time by the good one's

    @property
    def text(self) -> str:
        time = "" if self.ratio is None else f" ({self.ratio:.3f} times the time)"
        return (f"bad{time}: {self.reason}" if self.bad else f"good{time}")


@dataclass(frozen=True)
class Question:
    """What is searched: a folder has the runs of one."""

    bundle: str
    kernel: str  # hashes
    instances: Sequence[str]
    good: Mapping[str, Any]
    bad: Mapping[str, Any]
    slower: float | None
    flags: Mapping[str, Sequence[str]]


def reason_of(run: Run) -> str:
    return "; ".join(run.reasons[:2]) or run.status


def of_times(runs: Sequence[Run], slower: float) -> tuple[Verdict, bool]:
    """Of one configuration, a run a launch; and whether the intervals tell."""
    wrong = [run for run in runs if not run.verified]
    if wrong:
        return Verdict(True, reason_of(wrong[0])), True
    ratio, told = 0.0, True
    for run in runs:
        comparison = run.comparison or {}
        speedup = comparison.get("speedup", 1.0)
        ratio = max(ratio, 1 / speedup)
        if comparison.get("outcome") in ("same code", "reference"):
            continue
        told = told and "low" in comparison and not 1 / comparison["high"] < slower <= 1 / comparison["low"]
    return Verdict(ratio >= slower, f"slower than the {slower:g} times that it may be" if ratio >= slower else "", ratio), told


class Oracle:
    """Judges by a session. Prints each run."""

    def __init__(self, session: Session, path: pathlib.Path, question: Question, rounds: int) -> None:
        self.session, self.question, self.rounds = session, question, rounds
        self.path = path
        self.known: dict[str, Verdict] = {}
        self.said: set[str] = set()
        self.reason = ""  # that was printed last
        asked = json.loads(json.dumps(asdict(question)))
        if self.path.exists():
            try:
                state = json.loads(self.path.read_text())
                self.known = {key: Verdict(**verdict) for key, verdict in state["runs"].items()}
            except (ValueError, TypeError, KeyError):
                raise MnemeError(f"'{self.path}' is no state of a search: remove it, or give another folder") from None
            if state["question"] != asked:
                raise MnemeError(f"'{self.path.parent}' has the runs of another search: give another folder with -o")
        self.asked = asked

    def judge(self, configuration: Mapping[str, Any], what: str) -> Verdict:
        key = json.dumps(dict(configuration), sort_keys=True)
        verdict = self.known.get(key)
        if verdict is None:
            verdict = self._slower(configuration) if self.question.slower else self._wrong(configuration)
            self.known[key] = verdict
            self._keep()
        if key not in self.said:
            self.said.add(key)
            again = verdict.bad and verdict.reason == self.reason
            say(f"run {len(self.said)}: {what}: {verdict.text if not again else 'bad, likewise'}")
            self.reason = verdict.reason or self.reason
        return verdict

    def _wrong(self, configuration: Mapping[str, Any]) -> Verdict:
        run = self.session.submit(configuration).result()
        if not run.verified:
            return Verdict(True, reason_of(run))
        if not run.launch_changed_memory:
            raise MnemeError("the launches change no memory, so that any code is verified: choose others with --instance")
        return Verdict(False)

    def _slower(self, configuration: Mapping[str, Any]) -> Verdict:
        assert self.question.slower
        rounds = self.rounds
        while True:
            _, runs = self.session.compare([self.question.good, configuration], rounds=rounds).result()
            verdict, told = of_times(runs, self.question.slower)
            if told or rounds >= MOST_ROUNDS * self.rounds:
                return verdict
            rounds *= 2

    def _keep(self) -> None:
        state = {"question": self.asked, "runs": {key: asdict(verdict) for key, verdict in self.known.items()}}
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(state, indent=1) + "\n")
        os.replace(partial, self.path)


def question_of(session: Session, good: Mapping[str, Any], bad: Mapping[str, Any], slower: float | None) -> Question:
    selection = session.selection
    flags = {name: list(words) for name, words in session.flags.items()}
    return Question(os.path.abspath(session.bundle.path), selection.kernel.id, selection.ids(), dict(good), dict(bad), slower,
                    flags)
