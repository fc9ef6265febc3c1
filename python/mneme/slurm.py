# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slurm, as far as its commands tell: job arrays that are submitted, asked for and cancelled."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence

from .errors import MnemeError

# A task in one of these states does not come back; in all others it is yet to run, runs, or is on its way out.
OVER = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
        "TIMEOUT"}
FORGOTTEN = "not known to Slurm any more"
PAUSES = 0.5, 10.0  # seconds between two questions, at first and at most

Task = tuple[str, str]  # the job's number, and the task's


def _ask(*words: str | os.PathLike[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, input=text, capture_output=True, text=True, check=False)


class Cluster:
    """Jobs of one name. `options` are sbatch's, as one text; `patience`, seconds that Slurm may give no answer."""

    def __init__(self, name: str, options: str = "", patience: float = 600) -> None:
        for command in ("sbatch", "squeue", "scontrol", "scancel"):
            if not shutil.which(command):
                raise MnemeError(f"ENGINE=slurm needs Slurm's {command}, which is not found: put its folder into PATH")
        self.name, self.options, self.patience = name, options, patience
        self.silent_since: float | None = None

    def array_size(self) -> int:
        """The most tasks that an array may have."""
        said = _ask("scontrol", "show", "config")
        for line in said.stdout.splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "MaxArraySize":
                if int(value) < 2:
                    raise MnemeError(f"this cluster allows no job arrays: its MaxArraySize is {value.strip()}")
                return int(value)
        raise MnemeError(f"Slurm does not state the limit of its job arrays: {said.stderr.strip() or 'no MaxArraySize'}")

    def submit(self, script: str, array: str, output: str | os.PathLike[str], more: Sequence[str] = ()) -> tuple[str | None, str]:
        """A job array of these tasks, whose output goes to OUTPUT-TASK.out: the job's number; or None, and why sbatch
        refuses."""
        said = _ask("sbatch", "--parsable", f"--job-name={self.name}", f"--array={array}",
                    "--output=" + os.fspath(output).replace("%", "%%") + "-%a.out", *more, *shlex.split(self.options),
                    text=script)
        if said.returncode:
            return None, said.stderr.strip()
        return said.stdout.strip().split(";")[0], ""

    def states(self) -> dict[Task, tuple[str, str]] | None:
        """{task: (state, reason)} of all tasks of this name that Slurm knows; None when it does not answer."""
        said = _ask("squeue", "--me", "--array", "--states=all", "--noheader", f"--name={self.name}", "--format=%F|%K|%T|%r")
        if said.returncode == 0:
            self.silent_since = None
            rows = [line.split("|") for line in said.stdout.splitlines()]
            return {(row[0], row[1]): (row[2], row[3]) for row in rows if len(row) == 4}
        self.silent_since = self.silent_since or time.monotonic()
        if time.monotonic() - self.silent_since > self.patience:
            raise MnemeError(f"Slurm does not answer: {said.stderr.strip()}; the submitted jobs go on, and the same command "
                             "collects what they do")
        return None

    def last_word(self, task: Task) -> str:
        """The state of a task that the queue does not list any more: the accounting may remember it."""
        if shutil.which("sacct"):
            said = _ask("sacct", "--noheader", "--allocations", "--parsable2", "--format=State", f"--jobs={'_'.join(task)}")
            if said.returncode == 0 and said.stdout.strip():
                return said.stdout.split("\n")[0]
        return FORGOTTEN

    def cancel(self, *jobs: str) -> None:
        _ask("scancel", "--quiet", *jobs)


def counted(states: Sequence[tuple[str, str]]) -> str:
    """"2 running, 1 pending (Resources)", of states and reasons."""
    counts: dict[str, int] = {}
    for state, reason in states:
        what = state.lower() + (f" ({reason})" if state == "PENDING" and reason not in ("", "None") else "")
        counts[what] = counts.get(what, 0) + 1
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
