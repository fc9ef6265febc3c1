# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The keys to blame, then the pass, then the function."""

import json
import pathlib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..bundle import Bundle
from ..edits import accept_result
from ..errors import MnemeError
from ..pipe import variables
from ..session import Session
from .oracle import Oracle, question_of, say
from .passes import COUNTERS, Pass, changed_functions, difference, passes_of, texts_of
from .search import first_bad, last_good, least_keys


@dataclass
class Found:
    """What is to blame. Of a key alone there is no pass."""

    good: dict[str, Any]
    bad: dict[str, Any]
    reason: str
    keys: list[str] = field(default_factory=list)
    passes: int = 0
    culprit: Pass | None = None


def mixed(good: Mapping[str, Any], bad: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The good configuration with these keys of the bad one's."""
    made = {key: value for key, value in good.items() if key not in keys}
    return {**made, **{key: bad[key] for key in keys if key in bad}}


def said(configuration: Mapping[str, Any], key: str) -> str:
    return json.dumps(configuration[key]) if key in configuration else "unset"


def blame_keys(oracle: Oracle, good: Mapping[str, Any], bad: Mapping[str, Any]) -> list[str]:
    differing = sorted(key for key in good.keys() | bad.keys() if good.get(key) != bad.get(key))
    if len(differing) < 2:
        return differing

    def is_bad(keys: Sequence[str]) -> bool:
        if len(keys) in (0, len(differing)):
            return bool(keys)
        return oracle.judge(mixed(good, bad, keys), f"with {', '.join(keys)} of the bad configuration").bad
    return least_keys(differing, is_bad)


def blame_pass(oracle: Oracle, found: Found) -> None:
    passes = passes_of(oracle.session, found.bad)
    found.passes = len(passes)

    def is_bad(limit: int) -> bool:
        return oracle.judge({**found.bad, "opt_bisect": limit}, f"opt_bisect {limit} of {found.passes}").bad
    if not passes:
        say("no pass is to blame: none was counted")
        return
    good = last_good(len(passes), is_bad) if oracle.question.slower else None if is_bad(0) else 0
    if good is None:
        say("no pass is to blame: " + ("with no number of passes it is as fast as the good configuration"
                                       if oracle.question.slower else "it is bad with required passes alone"))
        return
    if not is_bad(len(passes)):
        say("no pass is to blame: it is good with all passes counted, and bad without")
        return
    found.culprit = passes[first_bad(good, len(passes), is_bad) - 1]


def report(session: Session, found: Found, folder: pathlib.Path, instance: str, rounds: int, slower: bool) -> None:
    settings = session.workers[0].settings
    pair: list[Mapping[str, Any]] = [found.good, found.bad]
    result: dict[str, Any] = {"good": found.good, "bad": found.bad, "reason": found.reason, "keys": found.keys,
                              "passes": found.passes}
    if found.keys:
        say("to blame: " + ", ".join(f"{key} ({said(found.good, key)} in the good configuration, "
                                     f"{said(found.bad, key)} in the bad one)" for key in found.keys))
    if culprit := found.culprit:
        pair = [{**found.bad, "opt_bisect": culprit.number - 1}, {**found.bad, "opt_bisect": culprit.number}]
        say(f"first bad pass of {found.passes}: {culprit}")
        before, after = (texts_of(session, one) for one in pair)
        kind = int(before[0] == after[0])  # a pass of code generation leaves the IR, and changes the assembly
        suffix = "s" if kind else "ll"
        for name, texts in (("before", before), ("after", after)):
            (folder / f"{name}.{suffix}").write_text(texts[kind])
        (folder / "pass.diff").write_text(difference(before[kind], after[kind], (f"before.{suffix}", f"after.{suffix}")))
        functions = [] if kind else changed_functions(before[0], after[0])
        if functions:
            say(f"it changes: {', '.join(functions)}")
        if counter := COUNTERS.get(culprit.name):
            say(f"it counts its steps ('{counter}') only in an LLVM with assertions, which this one is not: "
                f"opt -debug-counter={counter}=0-N")
        say(f"IR: {folder / f'before.{suffix}'}, {folder / f'after.{suffix}'}; what the pass changes: {folder / 'pass.diff'}")
        result.update(number=culprit.number, name=culprit.name, where=culprit.where, functions=functions)
    shown = settings.shell(pair, instance, run=["--rounds", str(rounds)] if slower else [],
                           verify=["--reference", "first"] if slower else [])
    (folder / "show.sh").write_text("#!/bin/sh\n# The last that is good, and the first that is bad.\n"
                                    f"unset {' '.join(variables())}\n{shown}\n")
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    say(f"to see it: sh {folder / 'show.sh'}")


def expected_by(session: Session, good: Mapping[str, Any], instance: str, folder: pathlib.Path) -> pathlib.Path | None:
    """The bundle in which the good configuration's result is expected; nothing where it leaves none."""
    run = session.submit(good).result()
    runs = run.launches or (run,)
    if any(one.status == "failed" or one.variant != runs[0].variant for one in runs):
        return None
    made = folder / "expected.tar"
    if not made.exists():
        accept_result(session.workers[0].settings, good, runs[0].variant, instance, made)
    return made


def search(options: Namespace, session: Session, oracle: Oracle, good: Mapping[str, Any], folder: pathlib.Path,
           instance: str) -> None:
    bad = options.bad
    of_bad = oracle.judge(bad, "the bad configuration")
    if not of_bad.bad:
        say("the bad configuration is good: there is nothing to find")
        return
    found = Found(dict(good), dict(bad), of_bad.reason)
    if options.good is not None:
        found.keys = blame_keys(oracle, good, bad)
        found.bad = mixed(good, bad, found.keys)
    if session.selection.has_ir:
        blame_pass(oracle, found)
    report(session, found, folder, instance, options.rounds, options.slower is not None)


def bisect(options: Namespace) -> int:
    """All that mneme-bisect does; its exit status."""
    folder = pathlib.Path(options.output)
    bundle = Bundle.open(options.bundle)
    folder.mkdir(parents=True, exist_ok=True)
    how: dict[str, Any] = {"target": options.target, "warmup": 0, "iterations": 3, "flags": options.flags,
                           "messages": folder / "messages.txt"}
    with Session(bundle, kernel=options.kernel, instance=options.instance, **how) as session:
        selection = session.selection
        if not selection.has_ir and options.good is None:
            raise MnemeError(f"kernel '{selection.name}' has no IR, whose passes could be limited: give --good, too")
        good = options.good if options.good is not None else {**options.bad, "opt_bisect": 0}
        oracle = Oracle(session, folder / "state.json", question_of(session, good, options.bad, options.slower), options.rounds)
        verdict = oracle.judge(good, "the good configuration")
        if not verdict.bad:
            search(options, session, oracle, good, folder, options.instance)
            return 0
        expected = expected_by(session, good, options.instance, folder)
    if not expected:
        raise MnemeError(f"the good configuration is bad, too: {verdict.reason}", 1)
    say(f"what is expected from here on is the good configuration's own result: {expected}")
    with Session(expected, kernel=selection.expression, **how) as session:
        question = question_of(session, good, options.bad, options.slower)
        oracle = Oracle(session, folder / "state-expected.json", question, options.rounds)
        if (verdict := oracle.judge(good, "the good configuration")).bad:
            raise MnemeError(f"the good configuration is bad by its own result, too: {verdict.reason}", 1)
        search(options, session, oracle, good, folder, "")
    return 0
