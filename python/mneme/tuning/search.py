# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel's search: the baseline, trial after trial, the finals, the report."""

import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shlex
import sys
import time
from argparse import Namespace
from typing import Any

from ..errors import MnemeError
from ..pipe import TOOLS
from ..search import Point, Sampler, Space
from ..search.spaces import space_named
from ..selection import Selection, named
from ..session import Session
from .finals import finals, write_best
from .plot import plot
from .progress import Progress, time_text
from .study import Study, Trial, front, read_trials, verified, write_lines


def say(text: str) -> None:
    print(f"mneme-tune: {text}", file=sys.stderr, flush=True)


def say_what_cannot_vary(selection: Selection) -> None:
    if selection.has_ir:
        return
    rest = "a limit of registers, the assembler's level and the launch vary" if selection.has_ptx else "only the launch varies"
    say(f"kernel '{named([selection.name])}' has no IR, which passes, code generation, unrolling, inlining, "
        f"constants and launch bounds need: {rest}")


class Search:
    """One kernel's, in a folder. Options are mneme-tune's."""

    def __init__(self, options: Namespace, selection: Selection, folder: pathlib.Path) -> None:
        self.options, self.selection, self.folder = options, selection, folder
        self.space: Space = space_named(options.space, selection)
        self.trials: float = options.trials
        self.time: float = options.time or math.inf

    @property
    def name(self) -> str:
        return named([self.selection.name])

    def values(self) -> dict[str, list[Any]]:
        return {name: list(parameter.values) for name, parameter in self.space.parameters.items()}

    def study(self) -> Study:
        options = self.options
        return Study(self.folder, {
            "bundle": os.path.basename(options.bundle), "instances": self.selection.ids(), "parameters": self.values(),
            "target": options.target, "pareto": options.pareto, "flags": [getattr(options, f"{name}_flags") for name in TOOLS]})

    def session(self) -> Session:
        options = self.options
        return Session(self.selection.kernel.bundle, kernel=self.selection.expression, instance=options.instance,
                       target=options.target, warmup=options.warmup, iterations=options.iterations,
                       flags={name: shlex.split(getattr(options, f"{name}_flags")) for name in TOOLS},
                       messages=self.folder / "messages.txt")

    def baseline(self, session: Session, study: Study) -> Trial:
        """The first trial. Where it is not verified there is no other."""
        if study.trials and study.trials[0].configuration == self.options.baseline:
            return study.trials[0]
        begin = time.monotonic()
        run = session.submit(self.options.baseline).result()
        if not run.verified:
            hint = "; --verify-flags may set a tolerance" if run.status == "not verified" else ""
            # mneme-compile says that of each line: with others it is the configuration that is no good.
            status = 2 if re.search("'.*' is no target", run.reason) else 1
            raise MnemeError(f"the baseline is {run.status}: {run.reason}{hint}", status)
        trial = Trial.of(0, {}, self.options.baseline, run, time.monotonic() - begin, baseline=True)
        study.begin(trial)
        return trial

    def made_sampler(self, **how: Any) -> Sampler:
        try:
            return Sampler(self.space, self.options.sampler, **how)
        except ModuleNotFoundError:
            raise MnemeError("the sampler needs Optuna for this Python: Debian's python3-optuna; --sampler genetic needs nothing",
                             3) from None

    def sampler(self, study: Study) -> tuple[Sampler, dict[tuple[str, ...], Point]]:
        """It knows the trials so far; the baseline, too, if that is a point of the space. And the point of each code."""
        options = self.options
        seed = None if options.seed is None else options.seed + len(study.others)
        sampler = self.made_sampler(seed=seed, budget=self.trials - len(study.trials), patience=options.patience)
        points: dict[tuple[str, ...], Point] = {}

        def observe(point: Point, trial: Trial) -> None:
            sampler.observe(point.parameters, trial.value(options.pareto))
            if trial.executed:
                points.setdefault(trial.executed, point)
        for point in self.space.listed() or ():
            if self.space.configuration(point.parameters) == study.trials[0].configuration:
                observe(point, study.trials[0])
        for trial in study.others:
            if self.space.has(trial.parameters):
                observe(self.space.point(trial.parameters), trial)
        if options.warm_start:
            earlier = read_trials(pathlib.Path(options.warm_start) / "trials.jsonl")
            count = sampler.warm_start((trial.parameters, trial.value(options.pareto)) for trial in earlier if not trial.baseline)
            say(f"{count} of the best trials in '{options.warm_start}' are points of this space, and are tried first")
        return sampler, points

    def search(self, session: Session, study: Study) -> None:
        end = time.monotonic() + self.time
        sampler, points = self.sampler(study)
        left = self.space.allowed_size() - len(sampler.values) if sampler.kind == "grid" else math.inf
        total = min(self.trials, len(study.trials) + left)
        progress = Progress(len(study.trials), total, end)
        waiting: dict[concurrent.futures.Future[Any], tuple[Point, dict[str, Any], float]] = {}
        progress.show(study.trials)
        try:
            while True:
                while (len(waiting) < len(session.workers) and len(study.trials) + len(waiting) < self.trials
                       and time.monotonic() < end and (point := sampler.ask())):
                    configuration = self.space.configuration(point.parameters)
                    waiting[session.submit(configuration)] = point, configuration, time.monotonic()
                if not waiting:
                    break
                for future in concurrent.futures.wait(waiting, return_when="FIRST_COMPLETED").done:
                    point, configuration, begin = waiting.pop(future)
                    trial = Trial.of(len(study.trials), point.parameters, configuration, future.result(), time.monotonic() - begin)
                    study.add(trial)
                    same = points.setdefault(trial.executed, point) if trial.executed else point
                    sampler.tell(point, trial.value(self.options.pareto), same_as=None if same == point else same)
                    progress.show(study.trials)
        finally:
            progress.end()
            self.write(study)
        if not study.others and sampler.ended:
            refusals = (self.space.refusal(point.parameters) for point in self.space.points())
            raise MnemeError(f"the search space allows no combination beside the baseline: {next(filter(None, refusals), '')}")
        if len(study.trials) < total and sampler.ended:
            say(sampler.ended)

    def write(self, study: Study) -> None:
        if self.options.pareto:
            write_lines(self.folder / "pareto.jsonl", [trial.line() for trial in front(study.trials)])
        if self.options.plot:
            plot(self.folder, study.trials)

    def begin(self) -> None:
        """Has the baseline tried."""
        with self.study() as study, self.session() as session:
            self.baseline(session, study)

    def application_time(self) -> float:
        """Nanoseconds of all launches that the application makes of this kernel, with the baseline, as far as they are
        counted."""
        counts = self.selection.kernel.bundle.occurrences
        with self.study() as study:
            baseline = study.trials[0]
        times = baseline.launches_ns or [baseline.median_ns or 0]
        return sum(nanoseconds * counts.get(launch, 1) for nanoseconds, launch in zip(times, self.selection.ids()))

    def describe(self) -> None:
        """What would be searched."""
        space = self.space
        if self.options.print_space:
            print(json.dumps({"kernel": self.selection.name, "size": space.size(), "allowed": space.allowed_size(),
                              "parameters": self.values()}))
            return
        kind = self.made_sampler(budget=self.trials).kind
        budget = [f"{self.trials:.0f} trials"] if self.trials < math.inf else []
        budget += [f"{self.time:g} s"] if self.time < math.inf else []
        print(f"{self.name}: {len(self.selection.instances)} launch(es), {len(space.parameters)} parameter(s), "
              f"{space.allowed_size()} combinations, sampler {kind}, {' or '.join(budget)}; results go to '{self.folder}'")

    def run(self) -> None:
        say_what_cannot_vary(self.selection)
        with self.study() as study, self.session() as session:
            baseline = self.baseline(session, study)
            if not self.options.baseline_only:
                self.search(session, study)
            if self.options.baseline_only or not study.others:
                print(f"{self.name}: the baseline takes {time_text(baseline.median_ns or 0)}; nothing else was tried")
            else:
                self.report(session, study)

    def report(self, session: Session, study: Study) -> None:
        options, folder, trials = self.options, self.folder, study.others
        if not verified(trials):
            raise MnemeError(f"none of the {len(trials)} trials but the baseline is verified; the last: {trials[-1].reason}; "
                             f"'{folder}/trials.jsonl' has each", 1)
        result = finals(session, options.baseline, trials, options.rounds, folder)
        write_best(session, result, options.baseline, options.rounds, options.instance, folder)
        counts = collections.Counter(trial.status for trial in study.trials)
        print(f"{self.name}: {len(study.trials)} trials: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
        if not result.is_faster:
            print("nothing faster than the baseline was found")
        print(f"best, trial {result.trial.trial}: {json.dumps(result.trial.configuration)}")
        for run, before in zip(result.runs, result.before):
            said = run.comparison or {}
            interval = f" ({said['low']:.3f} to {said['high']:.3f})" if said.get("low") is not None else ""
            speedup = f", speed-up {said['speedup']:.3f}{interval}, {said['outcome']}" if said else ""
            print(f"  {run.instance[:12]}: {time_text(before.median_ns or 0)} before, {time_text(run.median_ns or 0)} now{speedup}")
        if options.pareto:
            for trial in front(study.trials):
                print(f"  {time_text(trial.median_ns or 0):>9} {trial.code_bytes:>8} bytes: {json.dumps(trial.configuration)}")
        print(f"to see it again: {shlex.join(['sh', str(folder / 'best.sh')])}")
        apply = shlex.join(["mneme-capture", "--apply", str(folder / "tuned.tar")])
        print(f"there is no tuned.tar: {result.tuned}" if result.tuned else f"to run the application with it: {apply} APPLICATION")
