# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel's search: the baseline, trial after trial, the finals, the report."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import re
import shlex
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from ..errors import MnemeError
from ..pipe import TOOLS
from ..search import Point, Sampler, Space
from ..search.spaces import space_named
from ..selection import Selection, named
from ..session import Run, Session
from .export import t4_results
from .finals import finals, write_best
from .plot import page, plot
from .progress import Progress, time_text
from .shared import Shared
from .study import Study, Trial, front, read_trials, verified, write_lines
from .throttling import Watch
from .workers import devices_for, kind_of


def say(text: str) -> None:
    print(f"mneme-tune: {text}", file=sys.stderr, flush=True)


def say_what_cannot_vary(selection: Selection) -> None:
    if selection.has_ir:
        return
    rest = "a limit of registers, the assembler's level and the launch vary" if selection.has_ptx else "only the launch varies"
    say(f"kernel '{named([selection.name])}' has no IR, which passes, code generation, unrolling, inlining, "
        f"constants and launch bounds need: {rest}")


PAUSE = 0.2  # seconds between looks at what other processes do


@dataclasses.dataclass(frozen=True)
class Asked:
    """A trial that is being made."""

    point: Point
    configuration: dict[str, Any]
    claim: int
    begin: float


class Refused:
    """Another process makes that trial, or the last one."""


class Search:
    """One kernel's, in a folder. Options are mneme-tune's."""

    def __init__(self, options: Namespace, selection: Selection, folder: pathlib.Path) -> None:
        self.options, self.selection, self.folder = options, selection, folder
        self.space: Space = space_named(options.space, selection)
        self.trials: float = options.trials
        self.time: float = options.time or math.inf
        if options.part == "report":  # of the trials that there are
            self.trials, self.time = 0, 0.0

    @property
    def name(self) -> str:
        return named([self.selection.name])

    def values(self) -> dict[str, list[Any]]:
        return {name: list(parameter.values) for name, parameter in self.space.parameters.items()}

    def about(self) -> dict[str, Any]:
        options = self.options
        return {"bundle": os.path.basename(options.bundle), "instances": self.selection.ids(), "parameters": self.values(),
                "target": options.target, "pareto": options.pareto, "flags": [getattr(options, f"{name}_flags") for name in TOOLS]}

    def study(self) -> Study:
        return Study(self.folder, {**self.about(), "storage": self.options.storage})

    def shared(self) -> contextlib.AbstractContextManager[Shared | None]:
        """With other processes, if there is a storage."""
        storage = self.options.storage
        if not storage:
            return contextlib.nullcontext()
        return Shared(storage, f"mneme-{self.selection.kernel.id[:16]}", self.space, self.about())

    def session(self, devices: Sequence[str] = ()) -> Session:
        options = self.options
        return Session(self.selection.kernel.bundle, kernel=self.selection.expression, instance=options.instance,
                       devices=devices, target=options.target, warmup=options.warmup, iterations=options.iterations,
                       precision=options.precision or 0.0,
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

    def sampler(self, study: Study) -> tuple[Sampler, dict[tuple[str, ...], Point]]:
        """It knows the trials so far; the baseline, too, if that is a point of the space. And the point of each code."""
        options = self.options
        seed = None if options.seed is None else options.seed + len(study.others)
        sampler = Sampler(self.space, options.sampler, seed=seed, budget=self.trials - len(study.trials), patience=options.patience)
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

    def search(self, session: Session, study: Study, shared: Shared | None) -> None:
        if shared:
            del study.trials[1:]  # they come from the storage
            study.begin(study.trials[0])
        end, pareto = time.monotonic() + self.time, self.options.pareto
        sampler, points = self.sampler(study)
        left = self.space.allowed_size() - len(sampler.values) if sampler.kind == "grid" else math.inf
        total = min(self.trials, len(study.trials) + left) or math.inf
        progress = Progress(len(study.trials), total, end)
        waiting: dict[concurrent.futures.Future[Any], Asked] = {}

        def hear() -> int:
            """What other processes have done; how many trials they are making."""
            if not shared:
                return 0
            ended, claimed, lost = shared.sync()
            for trial in ended:
                sampler.observe(trial.parameters, trial.value(pareto))
                if trial.executed and self.space.has(trial.parameters):
                    points.setdefault(trial.executed, self.space.point(trial.parameters))
                study.add(dataclasses.replace(trial, trial=len(study.trials)))
            for key in claimed:
                sampler.reserve(json.loads(key))
            for key in lost:
                sampler.release(self.space.point(json.loads(key)))
            return len(shared.running)

        def ask() -> Asked | Refused | None:
            point = sampler.ask()
            if not point:
                return None
            claim = shared.claim(point, self.trials - 1) if shared else 0
            if claim is None:
                sampler.release(point)
                return Refused()
            return Asked(point, self.space.configuration(point.parameters), claim, time.monotonic())

        def take(asked: Asked, run: Run) -> None:
            trial = Trial.of(len(study.trials), asked.point.parameters, asked.configuration, run, time.monotonic() - asked.begin)
            if shared and not shared.done(asked.claim, trial, trial.value(pareto)):
                return  # another process took this one for dead
            study.add(trial)
            same = points.setdefault(trial.executed, asked.point) if trial.executed else asked.point
            sampler.tell(asked.point, trial.value(pareto), same_as=None if same == asked.point else same)

        def say_between(text: str) -> None:
            progress.end()
            say(text)

        progress.show(study.trials)
        watch = Watch(session, self.options.baseline, kind_of(self.selection) == "cuda", say_between)
        try:
            while True:
                watch.step()
                elsewhere = hear()
                while (len(waiting) < len(session.workers) and time.monotonic() < end
                       and len(study.trials) + len(waiting) + elsewhere < self.trials and (asked := ask())):
                    if isinstance(asked, Refused):
                        elsewhere += 1
                        break
                    waiting[session.submit(asked.configuration)] = asked
                if not waiting:
                    if not elsewhere or time.monotonic() >= end:
                        break
                    time.sleep(PAUSE)  # a trial that is lost with its process is made here
                    continue
                for future in concurrent.futures.wait(waiting, return_when="FIRST_COMPLETED").done:
                    take(waiting.pop(future), future.result())
                progress.show(study.trials)
        finally:
            watch.close()
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
        if self.options.export_t4:
            write_lines(self.folder / "t4.json", [t4_results(study.trials)])
        if self.options.plot:
            plot(self.folder, study.trials)
            if reason := page(self.folder / "trials.html", self.selection.name, self.space, study.trials):
                say(reason)

    def devices(self) -> list[str]:
        """Those of several workers; none where there is one."""
        return devices_for(self.options.workers, self.selection, self.session, self.options.baseline, say)

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
        kind = Sampler(space, self.options.sampler, budget=self.trials).kind
        budget = [f"{self.trials:.0f} trials"] if self.trials < math.inf else []
        budget += [f"{self.time:g} s"] if self.time < math.inf else []
        print(f"{self.name}: {len(self.selection.instances)} launch(es), {len(space.parameters)} parameter(s), "
              f"{space.allowed_size()} combinations, sampler {kind}, {' or '.join(budget)}; results go to '{self.folder}'")

    def run(self) -> None:
        say_what_cannot_vary(self.selection)
        with self.study() as study:
            with self.session(self.devices()) as session:
                baseline = self.baseline(session, study)
                if not self.options.baseline_only:
                    with self.shared() as shared:
                        self.search(session, study, shared)
            if self.options.part == "search":
                return
            if self.options.baseline_only or not study.others:
                print(f"{self.name}: the baseline takes {time_text(baseline.median_ns or 0)}; nothing else was tried")
                return
            with self.session() as session:  # of one worker, with the whole device
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
