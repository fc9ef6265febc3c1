# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trying configurations on recorded launches, by tools that live on, one set of them for each device."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, Any, Generic, TypeVar

from .bundle import Bundle
from .configuration import Configuration
from .devices import device_named
from .errors import MnemeError
from .pipe import Pipe, Row, Settings, rows_of
from .selection import Selection, select_one
from .verify import Verify

Result = TypeVar("Result")

RESOURCES = "registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes", "shared_bytes", "occupancy"


@dataclass(frozen=True)
class Run:
    """A configuration that was tried: on one launch, or on all that were selected."""

    status: str  # verified, not verified, varies, failed
    verified: bool
    reasons: tuple[str, ...]  # why not; empty where it is verified
    median_ns: float | None  # of several launches the sum
    code_bytes: int | None  # of several launches the largest
    variant: str = ""
    instance: str = ""  # empty for several launches
    executed: tuple[str, ...] = ()  # the variants whose code ran, one a launch: equal codes have equal ones
    resources: Mapping[str, int] = field(default_factory=dict)  # of a GPU: registers, spilled bytes, shared memory, occupancy
    comparison: Mapping[str, Any] | None = None  # with the first configuration (Session.compare)
    launch_changed_memory: bool | None = None  # the recorded launch, any of several; nothing where nothing was run
    launches: tuple["Run", ...] = ()  # of several

    @property
    def reason(self) -> str:
        return self.reasons[0] if self.reasons else ""


def _failed(reason: str) -> Run:
    return Run("failed", False, (reason,), None, None)


def run_of(row: Row) -> Run:
    """Of mneme-verify's row, or {"failed": reason}."""
    if "variant" not in row:
        return _failed(row["failed"])
    is_timed = bool(row.get("median_ns"))
    verified = row["verified"] is True and is_timed
    reasons = () if verified else tuple(row["reasons"]) or ("it has no times",)
    status = row["status"] if verified or row["status"] != "verified" else "failed"
    return Run(status, verified, reasons, row["median_ns"] if is_timed else None, row.get("code_bytes"), row["variant"],
               row.get("instance", ""), (row.get("same_as") or row["variant"],),
               MappingProxyType({key: row[key] for key in RESOURCES if key in row}), row.get("comparison"),
               row.get("launch_changed_memory"))


def summed(runs: Sequence[Run]) -> Run:
    """What the launches come to: where all are verified, the sum of the times."""
    if len(runs) == 1:
        return runs[0]
    for run in runs:
        if not run.verified:
            return Run(run.status, False, run.reasons, None, None, launches=tuple(runs))
    first = runs[0]
    return Run("verified", True, (), sum(run.median_ns or 0 for run in runs), max(run.code_bytes or 0 for run in runs),
               first.variant, "", tuple(run.executed[0] for run in runs), first.resources, None,
               any(run.launch_changed_memory for run in runs), tuple(runs))


class Worker:
    """One device's tools: a pipe a launch."""

    def __init__(self, settings: Settings, selection: Selection, messages: IO[bytes]) -> None:
        self.settings, self.selection, self.messages = settings, selection, messages
        self.comparing: list[subprocess.Popen[bytes]] = []
        self.pipes = [Pipe(settings, instance.id, messages, selection.code_bytes) for instance in selection.instances]

    def judge(self, configuration: Mapping[str, Any]) -> Run:
        with self.settings.device.alone():
            return summed([run_of(pipe.judge(configuration)) for pipe in self.pipes])

    def compare(self, configurations: Sequence[Mapping[str, Any]], rounds: int, keep: pathlib.Path) -> list[list[Run]]:
        for pipe in self.pipes:
            pipe.stop()
        with self.settings.device.alone():
            found = [self._compare(instance.id, configurations, rounds, keep / f"{instance.id}.tar")
                     for instance in self.selection.instances]
        return [list(runs) for runs in zip(*found)]

    def _compare(self, instance: str, configurations: Sequence[Mapping[str, Any]], rounds: int, path: pathlib.Path) -> list[Run]:
        """On one launch; the bundle with the runs goes to the path."""
        settings, select = self.settings, self.settings.selection(instance)
        with tempfile.NamedTemporaryFile("r") as answers, open(path, "w+b") as bundle:
            how: dict[str, Any] = {"stderr": self.messages, "env": settings.environment(), "start_new_session": True}
            compile = subprocess.Popen(settings.compile(instance, answers.name), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, **how)
            assert compile.stdin and compile.stdout
            run = subprocess.Popen([*settings.command("run", "--rounds", str(rounds)), *select], stdin=compile.stdout,
                                   stdout=bundle, **how)
            compile.stdout.close()
            self.comparing = [compile, run]
            lines = "".join(json.dumps(dict(one)) + "\n" for one in configurations)
            with contextlib.suppress(BrokenPipeError), compile.stdin:  # it has ended, and said why; there are no rows then
                compile.stdin.write(lines.encode())
            compile.wait()
            run.wait()
            bundle.seek(0)
            verify = subprocess.run([*settings.command("verify", "--reference", "first"), *select], stdin=bundle,
                                    stdout=subprocess.PIPE, check=False, **how)
            rows = {row["variant"]: row for row in rows_of(verify.stdout)}
            said = {line["line"]: line for line in rows_of(answers.read())}
        found = [said.get(number + 1, {}) for number in range(len(configurations))]
        return [run_of(rows[line["variant"]]) if line.get("variant") in rows
                else _failed(line.get("failed", "the tools have ended without a result")) for line in found]

    def kill(self) -> None:
        for process in self.comparing:
            process.kill()
        for pipe in self.pipes:
            pipe.kill()

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()


class _Job(Generic[Result]):
    def __init__(self, work: Callable[[Worker], Result]) -> None:
        self.work, self.future = work, concurrent.futures.Future[Result]()

    def do(self, worker: Worker) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.work(worker))
        except BaseException as error:  # it is the one's who waits for it
            self.future.set_exception(error)


class Session:
    """Tries configurations of one kernel on its recorded launches:

        with Session("app.tar", kernel="matmul") as session:
            run = session.submit({"passes": "default<O2>"}).result()

    `instance` chooses one launch by the beginning of its hash, else a run is of all of the kernel's. `devices` names
    several: each takes the next configuration when it is free. What waits is done in order. close() ends at once.

    With a `precision` a run's iterations end when the standard error of their median is at most so much of it."""

    def __init__(self, bundle: Bundle | str | os.PathLike[str], *, kernel: str = "", instance: str = "", device: str = "auto",
                 devices: Sequence[str] = (), target: str = "", verify: Verify = Verify(), warmup: int = 1, iterations: int = 10,
                 precision: float = 0.0, flags: Mapping[str, Sequence[str]] = MappingProxyType({}),
                 messages: str | os.PathLike[str] | None = None) -> None:
        self.bundle = bundle if isinstance(bundle, Bundle) else Bundle.open(bundle)
        self.selection = select_one(self.bundle, kernel=kernel, instance=instance, target=target)
        self.verify, self.flags = verify, flags
        self._messages: IO[bytes] = open(messages, "ab") if messages else tempfile.TemporaryFile()
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._closed = False
        self.workers = []
        for name in devices or [device]:
            settings = Settings(os.fspath(self.bundle.path), device_named(name, self.selection.is_nvidia),
                                self.selection.expression, target, warmup, iterations, precision, verify, flags)
            self.workers.append(Worker(settings, self.selection, self._messages))
        self._threads = [threading.Thread(target=self._serve, args=[worker], daemon=True) for worker in self.workers]
        for thread in self._threads:
            thread.start()

    def _serve(self, worker: Worker) -> None:
        while job := self._jobs.get():
            job.do(worker)
        worker.close()

    def _enqueue(self, work: Callable[[Worker], Result]) -> "concurrent.futures.Future[Result]":
        if self._closed:
            raise MnemeError("the session is closed")
        job = _Job(work)
        self._jobs.put(job)
        return job.future

    def submit(self, configuration: Mapping[str, Any]) -> "concurrent.futures.Future[Run]":
        """Compiles, replays and judges it, on the next device that is free. The future's exception is a MnemeError where
        nothing can be tried at all, as without a device; what a configuration does wrong is a Run's status."""
        checked = Configuration(configuration)
        return self._enqueue(lambda worker: worker.judge(checked))

    def compare(self, configurations: Sequence[Mapping[str, Any]], *, rounds: int = 15,
                keep: str | os.PathLike[str] | None = None) -> "concurrent.futures.Future[list[list[Run]]]":
        """Has these take turns, `rounds` times. For each configuration a run a launch, with its speed-up over the first. The
        bundles with the runs, one a launch, go to the folder `keep`, for tuned()."""
        checked = [Configuration(one) for one in configurations]

        def work(worker: Worker) -> list[list[Run]]:
            with tempfile.TemporaryDirectory(prefix="mneme-compare-") as folder:
                return worker.compare(checked, rounds, pathlib.Path(keep or folder))
        return self._enqueue(work)

    def close(self) -> None:
        """Ends the tools, and what is being tried; what waits is cancelled."""
        self._closed = True
        for worker in self.workers:
            worker.kill()
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job:
                job.future.cancel()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(5)  # it takes longer where another has the device: then it ends with this program, or after that
        if not any(thread.is_alive() for thread in self._threads):
            self._messages.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
