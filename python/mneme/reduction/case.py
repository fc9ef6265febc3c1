# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fault, and whether IR and a launch show it.

Reduced IR computes something else than the recorded kernel, so the expected memory is that of the good configuration. Other
configurations that are as safe have to leave the same memory, and to change some. Then the bad configuration is judged by it."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..bisection.oracle import MOST_ROUNDS, of_times
from ..devices import device_named
from ..edits import edit
from ..errors import MnemeError
from ..pipe import Row, Settings, rows_of
from ..session import run_of

# What the bad configuration does.
DIFFERS, FAILS, NOT_COMPILED, SLOWER = "leaves other memory", "fails", "is not compiled", "is slower"

UNOPTIMISED: Mapping[str, Any] = {"passes": "default<O0>", "codegen_opt": 0, "plugins": ""}


@dataclass(frozen=True)
class Case:
    bundle: str
    kernel: str  # for the tools' --kernel
    instance: str
    good: Mapping[str, Any]
    bad: Mapping[str, Any]
    target: str = ""
    device: str = "auto"
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    slower: float | None = None
    rounds: int = 15
    seconds: float = 10  # that compiling, and running, a configuration may take
    symptom: str = ""
    on_host: bool = False
    is_watched: bool = False  # IR whose threads race is no evidence; what was recorded has no races

    def save(self, path: pathlib.Path) -> None:
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Case":
        return cls(**json.loads(pathlib.Path(path).read_text()))

    def settings(self, bundle: str | os.PathLike[str]) -> Settings:
        return Settings(os.fspath(bundle), device_named(self.device), self.kernel, self.target, warmup=0, iterations=1,
                        flags=self.flags)

    def controls(self) -> list[Mapping[str, Any]]:
        """The good configuration, and the one without optimisation, which agree where the IR means one thing only. On the
        host device the latter checks each access: IR that leads out of the recorded memory is no evidence either."""
        return [self.good, {**UNOPTIMISED, **({"check_memory": True} if self.on_host else {})}]


@dataclass(frozen=True)
class Result:
    """Of a configuration."""

    variant: str
    failed: str = ""  # why there is no memory
    compiled: bool = True
    found: bool = False  # faults, in code that looks for them
    changed: int = 0  # bytes
    blocks: Mapping[int, str] = field(default_factory=dict)  # that are not as recorded, with their digests


def _run(stages: Sequence[Sequence[str | os.PathLike[str]]], lines: str, environment: Mapping[str, str], seconds: float,
         output: pathlib.Path | None = None) -> bytes:
    """What the last of a pipe's stages writes; with a file for its output nothing. A pipe that takes too long is ended."""
    processes: list[subprocess.Popen[bytes]] = []
    upstream: Any = subprocess.PIPE
    with contextlib.ExitStack() as files:
        sink: Any = files.enter_context(open(output, "wb")) if output else subprocess.PIPE
        for number, stage in enumerate(stages):
            process = subprocess.Popen(stage, stdin=upstream, stdout=sink if number + 1 == len(stages) else subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, env=environment, start_new_session=True)
            if processes:
                upstream.close()
            upstream = process.stdout
            processes.append(process)
        first = processes[0].stdin
        assert first
        with contextlib.suppress(BrokenPipeError), first:
            first.write(lines.encode())
        processes[0].stdin = None
        try:
            written, _ = processes[-1].communicate(timeout=seconds)
            for process in processes:
                process.wait(seconds)
        except subprocess.TimeoutExpired:
            written = b""
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
    return written or b""


def _members(path: pathlib.Path, folder: str) -> dict[str, dict[str, Any]]:
    """json by the last part of its name: of runs, by the variant."""
    found = {}
    with contextlib.suppress(tarfile.TarError), tarfile.open(path) as archive:
        for member in archive:
            if member.name.startswith(folder + "/") and (file := archive.extractfile(member)):
                found[member.name.rpartition("/")[2].removesuffix(".json")] = json.loads(file.read())
    return found


def _compile(case: Case, bundle: pathlib.Path, answers: str, instance: str,
             ir: pathlib.Path | None) -> list[str | os.PathLike[str]]:
    words = ["--compile-timeout", str(case.seconds), *(["--ir", os.fspath(ir)] if ir else [])]
    return case.settings(bundle).compile(instance, answers, *words)


def results_of(case: Case, bundle: pathlib.Path, configurations: Sequence[Mapping[str, Any]], runs: pathlib.Path,
               ir: pathlib.Path | None, instance: str) -> list[Result]:
    """Of each configuration; the bundle with the runs and the memory goes to `runs`."""
    settings = case.settings(bundle)
    select = settings.selection(instance)
    with tempfile.NamedTemporaryFile("r") as answers:
        _run([_compile(case, bundle, answers.name, instance, ir),
              [*settings.command("run", "--keep", "--warmup", "0", "--iterations", "1", "--timeout", str(case.seconds)), *select]],
             "".join(json.dumps(dict(one)) + "\n" for one in configurations), settings.environment(),
             case.seconds * (2 * len(configurations) + 2), runs)
        said = {line["line"]: line for line in rows_of(answers.read())}
    ran = _members(runs, "runs")
    results = []
    for number in range(len(configurations)):
        answer = said.get(number + 1, {})
        run = ran.get(answer.get("variant", ""))
        if "failed" in answer or not answer:
            results.append(Result("", answer.get("failed", "the compiler took too long"), compiled=False))
        elif not run or run["status"] != "completed":
            results.append(Result(answer["variant"], run["reason"] if run else "it was not run"))
        else:
            found = any(not one.get("lesser") for one in run.get("findings", ()))
            results.append(Result(answer["variant"], "", True, found, run["changed_bytes"],
                                  {int(block["address"], 16): block["actual"] for block in run["blocks"]}))
    return results


def accept(case: Case, runs: pathlib.Path, variant: str, accepted: pathlib.Path) -> None:
    """The bundle in which that variant's result is expected."""
    edit(runs, {"accept": variant}, case.settings(runs).selection(), accepted)


def _row(case: Case, accepted: pathlib.Path, ir: pathlib.Path | None, rounds: int) -> Row | None:
    """What mneme-verify says of the bad configuration."""
    settings = case.settings(accepted)
    lines = [case.good, case.bad] if case.slower else [case.bad]
    times = ["--rounds", str(rounds)] if case.slower else ["--warmup", "0", "--iterations", "1"]
    with tempfile.NamedTemporaryFile("r") as answers:
        written = _run([_compile(case, accepted, answers.name, "", ir),
                        [*settings.command("run", *times, "--timeout", str(case.seconds)), *settings.selection()],
                        [*settings.command("verify", *(["--reference", "first"] if case.slower else [])), *settings.selection()]],
                       "".join(json.dumps(dict(one)) + "\n" for one in lines), settings.environment(), case.seconds * 6)
        said = {line["line"]: line for line in rows_of(answers.read())}
    variant = said.get(len(lines), {}).get("variant", "")
    return next((row for row in rows_of(written) if row.get("variant") == variant), None)


def _verdict(case: Case, accepted: pathlib.Path, ir: pathlib.Path | None) -> str:
    rounds = case.rounds
    while row := _row(case, accepted, ir, rounds):
        if not case.slower:
            return {"not verified": DIFFERS, "failed": FAILS}.get(row["status"], "")
        verdict, told = of_times([run_of(row)], case.slower)
        if told or not verdict.bad or rounds >= MOST_ROUNDS * case.rounds:
            return SLOWER if verdict.bad and told and row["verified"] is True else ""
        rounds *= 2
    return ""


def symptom_of(case: Case, bundle: str | os.PathLike[str], ir: str | os.PathLike[str] | None = None, instance: str = "") -> str:
    """What the bad configuration does; empty where it is good, and where nothing is evidence: where the good configuration
    fails, changes no memory, leaves other memory than code that was not optimised, or its threads race."""
    path, ir = pathlib.Path(bundle), pathlib.Path(ir) if ir else None
    with tempfile.TemporaryDirectory(prefix="mneme-reduce-") as name:
        runs, accepted = pathlib.Path(name) / "runs.tar", pathlib.Path(name) / "accepted.tar"
        *good, bad = results_of(case, path, [*case.controls(), case.bad], runs, ir, instance)
        if any(one.failed or not one.changed or one.blocks != good[0].blocks for one in good):
            return ""
        if case.is_watched and (bad.failed or case.slower or bad.blocks != good[0].blocks):
            on_host = replace(case, target="host", device="host")
            [checked] = results_of(on_host, path, [{"checks": "races"}], pathlib.Path(name) / "checked.tar", ir, instance)
            if checked.failed or checked.found:
                return ""
        if bad.failed:
            return FAILS if bad.compiled else NOT_COMPILED
        if not case.slower and bad.blocks == good[0].blocks:
            return ""
        try:
            accept(case, runs, good[0].variant, accepted)
        except MnemeError:
            return ""
        return _verdict(case, accepted, ir)
