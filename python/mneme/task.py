# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel as a task for programs that write kernels: a folder with its code, its recorded launches, and commands that judge
a candidate (docs/tasks.md).

A verdict is an object of JSON. It passes only on evidence: a candidate that changes no memory, and one that is faster than
memory can be written, do not pass."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from .bundle import Bundle
from .devices import device_named
from .errors import MnemeError
from .pipe import Row, Settings, rows_of
from .selection import Selection, select_one
from .tools import run_tool, sentence_of
from .verify import Verify

Path = str | os.PathLike[str]

# Options of mneme-compile that take a candidate, by the end of its name.
OPTIONS = {".ll": "--ir", ".bc": "--ir", ".ptx": "--ir", ".cubin": "--code", ".json": "--variants", ".jsonl": "--variants",
           ".hip": "--source", ".cu": "--source", ".cc": "--source", ".cpp": "--source"}

# No x86-64 core stores more than 64 bytes a cycle, nor has more cycles; no GPU's L2 cache takes more.
HOST_BYTES_PER_SECOND_OF_A_CORE = 64 * 6.5e9
GPU_BYTES_PER_SECOND = 1e13

REASONS = {
    "verified": "the candidate leaves the memory that the recorded launches left",
    "faster": "it is verified, and faster than the baseline",
    "not-faster": "it is verified, and not faster than the baseline beyond noise",
    "not-compiled": "the candidate cannot be compiled",
    "failed": "the candidate crashes, or cannot be launched",
    "timeout": "the candidate does not end within the limit",
    "wrong-result": "memory differs from the recorded",
    "output-equals-input": "the candidate changes no memory",
    "launch-changes-nothing": "the recorded launch changes no memory, so it is no evidence",
    "suspicious": "the candidate is faster than the memory that it has to write can be written",
    "no-result": "the tools have ended without a result",
}


@dataclass(frozen=True)
class Verdict:
    passed: bool
    reason: str  # a key of REASONS
    message: str
    launches: tuple[Mapping[str, Any], ...] = ()
    speedup: float | None = None  # over the baseline: the least of all launches
    low: float | None = None  # of its 95 % interval

    def line(self) -> dict[str, Any]:
        return {"verdict": "pass" if self.passed else "suspicious" if self.reason == "suspicious" else "fail",
                **{key: value for key, value in asdict(self).items() if key != "passed" and value not in (None, ())}}


def _verdict(reason: str, message: str = "", launches: Sequence[Mapping[str, Any]] = ()) -> Verdict:
    return Verdict(reason in ("verified", "faster"), reason, message or REASONS[reason], tuple(launches))


@dataclass(frozen=True)
class Task:
    """What task.json has."""

    kernel: str
    expression: str  # for the tools' --kernel
    device: str
    target: str
    is_nvidia: bool
    launches: Mapping[str, Mapping[str, Any]]  # by hash: grid, block, the bytes that it has to write, the baseline's time
    verify_flags: Sequence[str]
    bytes_per_second: float  # at which memory can be written at most
    limits: Mapping[str, float]  # seconds of a kernel, and of a command

    @staticmethod
    def read(folder: Path) -> "Task":
        path = pathlib.Path(folder) / "task.json"
        try:
            found = json.loads(path.read_text())
            return Task(**{key: found[key] for key in Task.__dataclass_fields__})
        except OSError as error:
            raise MnemeError(f"'{path}' cannot be read: {error.strerror}") from None
        except (ValueError, LookupError, TypeError):
            raise MnemeError(f"'{path}' is no task: name a folder that mneme-export --task made") from None

    def floor_ns(self, launch: str) -> float:
        return float(self.launches[launch]["written_bytes"]) / self.bytes_per_second * 1e9

    def settings(self, folder: Path) -> Settings:
        flags = {"verify": self.verify_flags, "run": ["--timeout", f"{self.limits['kernel_seconds']:g}"]}
        bundle = os.path.join(os.path.abspath(folder), "bundle.tar")
        return Settings(bundle, device_named(self.device, self.is_nvidia), self.expression, self.target,
                        verify=Verify(), flags=flags)


@contextmanager
def _ending(processes: list["subprocess.Popen[bytes]"]) -> Iterator[None]:
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _pipe(stages: Sequence[Sequence[Path]], settings: Settings, seconds: float) -> tuple[list[Row], str]:
    """Rows of the report, and messages. TimeoutError after so long."""
    processes: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryFile() as said, settings.device.alone(), _ending(processes):
        upstream: Any = subprocess.DEVNULL
        for stage in stages:
            processes.append(subprocess.Popen(stage, stdin=upstream, stdout=subprocess.PIPE, stderr=said,
                                              env=settings.environment(), start_new_session=True))
            if upstream != subprocess.DEVNULL:
                upstream.close()
            upstream = processes[-1].stdout
        try:
            report = processes[-1].communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        said.seek(0)
        return list(rows_of(report)), said.read().decode(errors="replace")


def _option(task: Task, candidate: Path) -> list[str]:
    path = pathlib.Path(candidate)
    if path.suffix not in OPTIONS:
        raise MnemeError(f"'{path}' is no candidate: its name ends in none of {', '.join(OPTIONS)}")
    if not path.is_file():
        raise MnemeError(f"'{path}' cannot be read: there is no such file")
    # An assembler takes PTX as it is; the host device, and a recompilation, make IR of it.
    option = "--code" if path.suffix == ".ptx" and task.is_nvidia else OPTIONS[path.suffix]
    return [option, str(path.absolute())]


def _failure(rows: Sequence[Row], said: str, task: Task) -> Verdict | None:
    """Why the candidate's rows do not pass, before times are looked at."""
    if not rows:
        sentence = sentence_of(said)[1]
        return _verdict("not-compiled" if "mneme-compile: error" in said else "no-result", sentence or "")
    for row in rows:
        reasons = "; ".join(row.get("reasons", ()))
        if "device" not in row or row["status"] == "failed":
            reason = ("timeout" if "(--timeout)" in reasons else
                      "not-compiled" if reasons.startswith("it was not compiled") else "failed")
            return _verdict(reason, reasons, [_launch(row, task)])
        if not row.get("launch_changed_memory"):
            continue  # of the launches of the task, this is seen below
        if not row.get("changed_bytes"):
            return _verdict("output-equals-input", "", [_launch(row, task)])
        if row["verified"] is not True:
            return _verdict("wrong-result", reasons, [_launch(row, task)])
    judged = {row["instance"]: row for row in rows}
    for launch in task.launches:
        if launch not in judged:
            return _verdict("no-result", f"launch {launch[:12]} has no result")
        if not judged[launch].get("launch_changed_memory"):
            return _verdict("launch-changes-nothing", "", [_launch(judged[launch], task)])
    if any(row["verified"] is not True for row in rows):
        return _verdict("wrong-result", "", [_launch(row, task) for row in rows if row["verified"] is not True])
    return None


def _suspicion(rows: Sequence[Row], task: Task) -> Verdict | None:
    for row in rows:
        if row["instance"] in task.launches and not (row.get("min_ns") or 0) >= max(task.floor_ns(row["instance"]), 1):
            return _verdict("suspicious", f"launch {row['instance'][:12]} takes {row.get('min_ns') or 0} ns, and writing "
                            f"{task.launches[row['instance']]['written_bytes']} bytes takes at least "
                            f"{task.floor_ns(row['instance']):.0f} ns", [_launch(row, task)])
    return None


def _launch(row: Row, task: Task) -> dict[str, Any]:
    kept = {key: row[key] for key in ("instance", "status", "min_ns", "median_ns", "changed_bytes", "reasons", "comparison")
            if row.get(key) not in (None, [])}
    return {**kept, **({"floor_ns": task.floor_ns(row["instance"])} if row.get("instance") in task.launches else {})}


def _rows(folder: Path, task: Task, candidate: Path, measured: bool) -> tuple[list[Row], str]:
    settings, select = task.settings(folder), task.settings(folder).selection()
    compile = settings.command("compile", *select, *_option(task, candidate))
    if measured:  # the variants of a later stage come first
        stages = [[*compile, settings.bundle], settings.command("compile", *select),
                  settings.command("run", "--rounds", "15", *select), settings.command("verify", "--reference", "first", *select)]
    else:
        stages = [[*compile, settings.bundle], settings.command("run", *select), settings.command("verify", *select)]
    rows, said = _pipe(stages, settings, task.limits["seconds"])
    if measured:  # without the baseline's own, unless the candidate is the baseline
        rows = [row for row in rows if (row.get("comparison") or {}).get("outcome") != "reference"] or rows
    return rows, said


def check(folder: Path, candidate: Path) -> Verdict:
    """Whether a candidate leaves what the recorded launches left."""
    task = Task.read(folder)
    try:
        rows, said = _rows(folder, task, candidate, False)
    except TimeoutError:
        return _verdict("timeout", f"nothing has come after {task.limits['seconds']:g} seconds")
    return (_failure(rows, said, task) or _suspicion(rows, task)
            or _verdict("verified", "", [_launch(row, task) for row in rows]))


def measure(folder: Path, candidate: Path) -> Verdict:
    """Whether it is faster than the baseline, too: both take turns on each launch."""
    task = Task.read(folder)
    try:
        rows, said = _rows(folder, task, candidate, True)
    except TimeoutError:
        return _verdict("timeout", f"nothing has come after {task.limits['seconds']:g} seconds")
    if failure := _failure(rows, said, task) or _suspicion(rows, task):
        return failure
    compared = [row.get("comparison") or {} for row in rows]
    outcomes = {one.get("outcome") for one in compared}
    is_faster = "faster" in outcomes and "slower" not in outcomes
    worst = min(compared, key=lambda one: one.get("speedup", 0.0))
    verdict = _verdict("faster" if is_faster else "not-faster", "", [_launch(row, task) for row in rows])
    return Verdict(is_faster, verdict.reason, verdict.message, verdict.launches, worst.get("speedup"), worst.get("low"))


# ---- making one ----

SCRIPTS = {
    "check": 'exec mneme-export --check "$(dirname "$0")" "$@"\n',
    "measure": 'exec mneme-export --measure "$(dirname "$0")" "$@"\n',
}

PAGE = """# {kernel}

Write a faster version of this kernel. `task.json` has its launches and limits.

| file | content |
|---|---|
{files}
| `bundle.tar` | the recorded launches: arguments, memory before and after |
| `./replay [OPTIONS]` | replays them; options are mneme-compile's, such as `--ir kernel.ll` |
| `./check CANDIDATE` | a verdict on the results; exit status 0 if it passes, 1 if not |
| `./measure CANDIDATE` | likewise, and the speed-up over the recorded kernel at -O3 |

The commands need Mneme in `PATH`. A candidate is a file: {candidates}.

A verdict is a line of JSON: `verdict` is `pass`, `fail` or `suspicious`, `reason` one of these, and `message` a sentence:

| `reason` | meaning |
|---|---|
{reasons}

A kernel may take {limits[kernel_seconds]:g} seconds, a command {limits[seconds]:g}.
"""


def _bytes_per_second(selection: Selection) -> float:
    target = selection.target or selection.device
    if selection.is_nvidia or target.startswith(("gfx", "hip")):
        return GPU_BYTES_PER_SECOND
    return (os.cpu_count() or 1) * HOST_BYTES_PER_SECOND_OF_A_CORE


def _kernel(expression: str) -> list[str]:
    return ["--kernel", expression] if expression else []


def _write_code(selection: Selection, folder: pathlib.Path) -> dict[str, str]:
    """Files with the kernel's code, and what each is."""
    kernel, files = selection.kernel, {}
    bundle = kernel.bundle
    if bundle.file_of(kernel, "kernel.source"):
        run_tool("extract-ir", ["--source", folder / "source", *_kernel(selection.expression), bundle.path])
        files[f"source/{pathlib.Path(kernel.source).name}"] = "its source; headers, and the command that compiled it, lie beside it"
    if kernel.has_ir:
        run_tool("extract-ir", ["-S", *_kernel(selection.expression), "-o", folder / "kernel.ll", bundle.path])
        files["kernel.ll"] = "its LLVM IR"
    if ptx := bundle.file_of(kernel, "kernel.ptx"):
        (folder / "kernel.ptx").write_bytes(ptx)
        files["kernel.ptx"] = "its PTX"
    if not files:
        raise MnemeError(f"kernel '{kernel.name}' has neither source nor IR nor PTX: there is nothing to start from")
    return files


def export(bundle: Bundle, folder: Path, *, kernel: str = "", instance: str = "", device: str = "auto", target: str = "",
           verify_flags: Sequence[str] = (), bandwidth: float | None = None, kernel_seconds: float = 60,
           seconds: float = 600) -> Task:
    """Writes the task into a new folder, and tries its baseline. `bandwidth`: bytes a second that the device writes at most."""
    selection = select_one(bundle, kernel=kernel, instance=instance, target=target)
    folder = pathlib.Path(folder)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise MnemeError(f"'{folder}' is there already: name a new folder") from None
    select = [*_kernel(selection.expression), *(["--instance", instance] if instance else [])]
    run_tool("restore", ["--packs", *select, "-o", folder / "bundle.tar", bundle.path])
    files = _write_code(selection, folder)
    limits = {"kernel_seconds": kernel_seconds, "seconds": seconds}
    task = Task(selection.name, selection.expression, device, target, selection.is_nvidia, {}, list(verify_flags),
                bandwidth or _bytes_per_second(selection), limits)
    settings = task.settings(folder)
    rows, said = _pipe([settings.command("compile", *settings.selection(), settings.bundle),
                        settings.command("run", *settings.selection()), settings.command("verify", *settings.selection())],
                       settings, seconds)
    found = {row["instance"]: row for row in rows if "device" in row}
    wrong = [row for row in rows if row["verified"] is not True]
    if wrong or not found:
        reasons = wrong[0]["reasons"][0] if wrong else sentence_of(said)[1] or "the tools have ended without a result"
        raise MnemeError(f"the recorded kernel itself does not pass: {reasons}", 1)
    launches = {launch.id: {"grid": launch.grid, "block": launch.block, "shared_bytes": launch.shared_bytes,
                            "written_bytes": found[launch.id]["changed_bytes"], "baseline_ns": found[launch.id]["median_ns"]}
                for launch in selection.instances if found[launch.id]["launch_changed_memory"]}
    if not launches:
        raise MnemeError(f"no recorded launch of kernel '{selection.name}' changes memory: whatever does nothing would pass", 1)
    task = replace(task, launches=launches)
    commands = {"replay": "./replay", "correctness": "./check CANDIDATE", "performance": "./measure CANDIDATE"}
    arguments = [{"name": one.name, "kind": one.kind, "type": one.type} for one in selection.kernel.arguments]
    (folder / "task.json").write_text(json.dumps(
        {**asdict(task), "arguments": arguments, "files": files, "commands": commands, "reasons": REASONS}, indent=2) + "\n")
    stages = [["mneme-compile", *settings.selection(), *(["--target", target] if target else [])],
              ["mneme-run", *settings.device.words, *settings.selection()],
              ["mneme-verify", *Verify().words(), *verify_flags, "--format", "table", *settings.selection()]]
    words = [shlex.join(map(str, stage)) for stage in stages]
    words[0] += ' "$@" "$(dirname "$0")/bundle.tar"'
    for name, text in {**SCRIPTS, "replay": " | ".join(words) + "\n"}.items():
        (folder / name).write_text("#!/bin/sh\n" + text)
        (folder / name).chmod(0o755)
    has_source = any(OPTIONS.get(pathlib.Path(name).suffix) == "--source" for name in files)
    (folder / "README.md").write_text(PAGE.format(
        kernel=selection.name, files="\n".join(f"| `{name}` | {what} |" for name, what in files.items()),
        candidates=", ".join(f"`{end}`" for end, option in OPTIONS.items() if option != "--source" or has_source), limits=limits,
        reasons="\n".join(f"| `{reason}` | {meaning} |" for reason, meaning in REASONS.items())))
    return task
