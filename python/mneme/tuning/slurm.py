# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--engine slurm: the workers of a search are the tasks of a job array.

    this process      submits the array, shows how the search is getting on, ends the tasks when the budget is spent
    a task            mneme-tune --part search: searches with the others through the storage, and compares nothing at the end
    a last job        mneme-tune --part report: has all trials from the storage, compares the fastest, and writes the results

A task that is lost with its node is submitted again; its open trial is made by another."""

import contextlib
import hashlib
import json
import os
import pathlib
import shlex
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..errors import MnemeError
from ..slurm import OVER, PAUSES, Cluster, Task, counted
from ..tools import option_words, sentence_of, tool
from .config import given
from .progress import Progress
from .search import Search, say

MOST_LOSSES = 5  # of one worker
SETTLE = 10.0  # seconds, unless --slurm-settle says otherwise
REPORT = "report"


def _words(options: Namespace, changes: Mapping[str, Any]) -> list[str]:
    """mneme-tune's command line, with these options in the place of its own."""
    kept = {**given(options), **changes}
    kept["baseline"] = json.dumps(kept.get("baseline", {}))
    return [tool("tune"), *map(str, option_words(kept))]


class Workers:
    """Tasks that search. Of each there is a file with its exit status as soon as it has ended by itself."""

    def __init__(self, cluster: Cluster, folder: pathlib.Path, words: Sequence[str], settle: float) -> None:
        self.cluster, self.folder, self.words = cluster, folder, words
        self.settle = settle  # seconds that a file of a task may take to be seen here
        self.tasks: dict[str, Task] = {}  # by the worker's name
        self.losses: dict[str, int] = {}
        self.over_since: dict[str, float] = {}
        self.pause = PAUSES[0]
        self.shown = ""

    def submit(self, workers: Sequence[str]) -> None:
        for worker in workers:
            (self.folder / f"{worker}.status").unlink(missing_ok=True)
        place = shlex.quote(str(self.folder)) + "/$SLURM_ARRAY_TASK_ID"
        script = f"#!/bin/sh\n{shlex.join(self.words)} --output={place}\necho $? > {place}.new; mv {place}.new {place}.status\n"
        job, refusal = self.cluster.submit(script, ",".join(workers), self.folder / "worker", ["--open-mode=append"])
        if not job:
            raise MnemeError(f"sbatch does not take the workers: {refusal}")
        self.tasks.update({worker: (job, worker) for worker in workers})

    def status(self, worker: str) -> int | None:
        """Of one that has ended by itself."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / f"{worker}.status").read_text())
        return None

    def log(self, worker: str) -> str:
        with contextlib.suppress(OSError):
            return (self.folder / f"worker-{worker}.out").read_text(errors="replace")
        return ""

    def look(self) -> bool:
        """Whether any is left. Those that were lost are submitted again."""
        states = self.cluster.states()
        if states is None:
            return True
        lost = []
        for worker, task in list(self.tasks.items()):
            state = states.get(task, ("GONE", ""))[0]
            if self.status(worker) is not None:
                del self.tasks[worker]
            elif state not in OVER and state != "GONE":
                self.over_since.pop(worker, None)
            elif time.monotonic() - self.over_since.setdefault(worker, time.monotonic()) >= self.settle:
                del self.over_since[worker]
                last = state if state != "GONE" else self.cluster.last_word(task)
                self.losses[worker] = self.losses.get(worker, 0) + 1
                again = self.losses[worker] <= MOST_LOSSES
                say(f"worker {worker} (Slurm job {'_'.join(task)}) is lost: {last}"
                    + ("; it is submitted again" if again else f", {MOST_LOSSES + 1} times"))
                del self.tasks[worker]
                lost += [worker] if again else []
        if lost:
            self.submit(lost)
        shown = counted([states.get(task, ("gone", "")) for task in self.tasks.values()])
        if shown and shown != self.shown:
            say(f"workers: {shown}")
        self.shown = shown
        return bool(self.tasks)

    def cancel(self) -> None:
        self.cluster.cancel(*{job for job, _ in self.tasks.values()})

    def check(self, workers: int) -> None:
        """Where all have failed, the sentence of one of them."""
        statuses = [self.status(str(worker)) for worker in range(workers)]
        if all(statuses):  # neither 0 nor cancelled
            _, sentence = sentence_of(self.log("0"))
            raise MnemeError(f"no worker has searched: {sentence or self.log('0')[-200:].strip()}", statuses[0] or 3)


def _search(searches: Sequence[Search], workers: Workers) -> None:
    """Until the budget is spent, or no worker is left."""
    with contextlib.ExitStack() as opened:
        budget = sum(search.trials - 1 for search in searches)
        progress = Progress(0, budget, time.monotonic() + sum(search.time for search in searches))
        studies = [opened.enter_context(search.shared()) for search in searches]
        ended: list[Any] = []
        while True:
            found = [trial for shared in studies if shared for trial in shared.sync()[0]]
            ended += found
            if found and len(searches) == 1:
                progress.show(ended)
            if len(ended) >= budget or not workers.look():
                break
            time.sleep(workers.pause)
            workers.pause = min(1.2 * workers.pause, PAUSES[1])
        progress.end()


def _report(cluster: Cluster, folder: pathlib.Path, words: Sequence[str], settle: float) -> int:
    """The last job: what it writes is written here."""
    last = Workers(cluster, folder, words, settle)
    for path in folder.glob(f"{REPORT}*"):
        path.unlink()
    out = folder / f"{REPORT}.txt"
    place = shlex.quote(str(folder / REPORT))
    script = f"#!/bin/sh\n{shlex.join(words)} > {shlex.quote(str(out))}\necho $? > {place}.new; mv {place}.new {place}.status\n"
    job, refusal = cluster.submit(script, "0", folder / REPORT)
    if not job:
        raise MnemeError(f"sbatch does not take the last comparison: {refusal}")
    last.tasks[REPORT] = job, "0"
    over, pause = None, PAUSES[0]
    while (status := last.status(REPORT)) is None:
        states = cluster.states()
        state = states.get((job, "0"), ("GONE", ""))[0] if states is not None else ""
        if state and (state in OVER or state == "GONE"):
            over = over or time.monotonic()
            if time.monotonic() - over >= settle:
                raise MnemeError(f"the last comparison (Slurm job {job}) is lost: {state}; the same command makes it again", 3)
        time.sleep(pause)
        pause = min(1.2 * pause, PAUSES[1])
    with contextlib.suppress(OSError):
        sys.stderr.write((folder / f"{REPORT}-0.out").read_text(errors="replace"))
    sys.stdout.write(out.read_text(errors="replace"))
    return status


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def tune_by_slurm(options: Namespace, searches: Sequence[Search]) -> int:
    """All of a search; the exit status of its last job."""
    signal.signal(signal.SIGTERM, _interrupt)
    output = pathlib.Path(os.path.abspath(options.output))
    folder = output / "workers"
    folder.mkdir(parents=True, exist_ok=True)
    name = "mneme-tune-" + hashlib.sha256(str(output).encode()).hexdigest()[:8]
    cluster = Cluster(name, options.slurm_options)
    if options.workers > cluster.array_size():
        raise MnemeError(f"--workers {options.workers} is more than the {cluster.array_size()} tasks that an array may have here")
    settle = SETTLE if options.slurm_settle is None else options.slurm_settle
    common = {"bundle": None, "engine": "local", "slurm_options": None, "slurm_settle": None, "workers": None, "output": None,
              "storage": options.storage, "plot": None, "pareto": options.pareto, "export_t4": None}
    bundle = os.path.abspath(options.bundle)
    workers = Workers(cluster, folder, [*_words(options, {**common, "part": "search"}), bundle], settle)
    try:
        workers.submit(list(map(str, range(options.workers))))
        _search(searches, workers)
        workers.cancel()
        workers.check(options.workers)
        last = {**common, "warm_start": None, "plot": options.plot, "export_t4": options.export_t4, "part": REPORT,
                "output": str(output)}
        return _report(cluster, folder, [*_words(options, last), bundle], settle)
    except KeyboardInterrupt:
        cluster.cancel(f"--name={name}")
        say("interrupted: the submitted jobs are cancelled")
        raise
