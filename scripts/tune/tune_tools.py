# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools as mneme-tune keeps them running."""

import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from tune_spaces import Wrong


class Dead(Exception):
    """One of the tools has ended."""


def tool(name):
    """Beside an installed copy of this, else wherever the shell finds it."""
    beside = pathlib.Path(sys.argv[0]).absolute().parent / f"mneme-{name}"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(f"mneme-{name}")
    if not found:
        raise Wrong(f"mneme-{name} is not to be found: have its folder in PATH", 3)
    return found


def words(options, name):
    return shlex.split(getattr(options, f"{name}_flags"))


def compile_words(options, instance, answers):
    target = ["--target", options.target] if options.target else []
    kernel = ["--kernel", options.kernel] if options.kernel else []
    return [*target, *words(options, "compile"), *kernel, "--instance", instance, "--variants", "-", "--follow", answers,
            options.bundle]


class Pair:
    """mneme-compile, mneme-run and mneme-verify, that live on: each configuration goes in as a line, and comes out judged."""

    def __init__(self, options, instance, messages, code_bytes):
        self.options, self.instance, self.messages = options, instance, messages
        self.code_bytes = code_bytes  # of variants that the bundle has
        self.processes, self.known = [], {}

    def start(self):
        self.stop()
        self.known.clear()
        self.begin = os.path.getsize(self.messages.name)  # of what these have to say
        source, answers = os.pipe()
        select = ["--instance", self.instance, *(["--kernel", self.options.kernel] if self.options.kernel else [])]
        stages = [[tool("compile"), "-j", "1", *compile_words(self.options, self.instance, f"/dev/fd/{answers}")],
                  [tool("run"), "--warmup", str(self.options.warmup), "--iterations", str(self.options.iterations),
                   *words(self.options, "run"), *select],
                  [tool("verify"), *words(self.options, "verify"), *select]]
        upstream = subprocess.PIPE
        for stage in stages:
            # In a session of its own: what Ctrl-C ends is decided here.
            process = subprocess.Popen(stage, stdin=upstream, stdout=subprocess.PIPE, stderr=self.messages,
                                       start_new_session=True, pass_fds=[answers] if not self.processes else [])
            if self.processes:
                upstream.close()
            upstream = process.stdout
            self.processes.append(process)
        os.close(answers)
        self.answers = os.fdopen(source)

    def stop(self):
        for process in self.processes[::-1]:  # so that none sees another go
            process.kill()
        for process in self.processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    try:
                        stream.close()
                    except BrokenPipeError:
                        pass
        if self.processes:
            self.answers.close()
        self.processes = []

    def read(self, stream):
        line = stream.readline()
        if not line:
            raise Dead(f"the tools have ended: {self.last_message()}")
        return json.loads(line)

    def last_message(self):
        for process in self.processes:  # what they have to say is there when they have ended
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                pass
        text = pathlib.Path(self.messages.name).read_bytes()[self.begin:].decode(errors="replace")
        said = [line for line in text.splitlines() if "error" in line]
        # That the next one is gone is no reason.
        return next((line for line in said if "Broken pipe" not in line), said[-1] if said else "without a message")

    def try_once(self, configuration):
        """mneme-verify's row of it, with the size of its code; or {"failed": reason}."""
        if not self.processes:
            self.start()
        try:
            self.processes[0].stdin.write((json.dumps(configuration) + "\n").encode())
            self.processes[0].stdin.flush()
        except BrokenPipeError:
            raise Dead(f"the tools have ended: {self.last_message()}") from None
        answer = self.read(self.answers)
        if "variant" not in answer:
            return answer
        if answer["variant"] not in self.known:
            row = self.read(self.processes[-1].stdout)
            while row["variant"] != answer["variant"]:  # of variants that the bundle had, for which a line may ask later
                self.keep(row)
                row = self.read(self.processes[-1].stdout)
            self.keep(row, answer.get("code_bytes"))
        return self.known[answer["variant"]]

    def keep(self, row, code_bytes=None):
        if code_bytes is None:
            code_bytes = self.code_bytes.get(row.get("same_as") or row["variant"])
        self.known[row["variant"]] = {**row, "code_bytes": code_bytes}

    def judge(self, configuration):
        try:
            return self.try_once(configuration)
        except Dead:
            self.start()
        try:
            return self.try_once(configuration)
        except Dead as error:
            self.stop()
            return {"failed": str(error)}


def summed(rows):
    """What the rows of all instances come to: a status, and where all are verified the time and the size."""
    for row in rows:
        if "variant" not in row:
            return {"status": "failed", "reason": row["failed"]}
        if row["verified"] is not True or not row.get("median_ns"):
            reason = (row["reasons"] or ["it has no times"])[0]
            return {"status": row["status"] if row["status"] != "verified" else "failed", "reason": reason}
    return {"status": "verified", "median_ns": sum(row["median_ns"] for row in rows),
            "code_bytes": max(row["code_bytes"] or 0 for row in rows), "executed": [row.get("same_as") or row["variant"] for row in rows]}


def lock_of(recording):
    """The same as a grid's cells take (mneme-grid)."""
    device = "host"
    if recording.is_nvidia:
        given = os.environ.get("SLURM_JOB_GPUS") or os.environ.get("CUDA_VISIBLE_DEVICES") or "0"
        device = "gpu-" + re.sub(r"[^A-Za-z0-9-]", "_", given.split(",")[0])
    return pathlib.Path(tempfile.gettempdir()) / f"mneme-grid-{os.getuid()}-{device}.lock"


class Device:
    """All pairs; what is timed has the device alone, as the cells of a grid have it."""

    def __init__(self, options, recording, messages):
        self.pairs = [Pair(options, instance, messages, recording.code_bytes) for instance in recording.ids()]
        self.lock = lock_of(recording)

    def alone(self):
        # The folder is everybody's: a link that lies there is not followed.
        lock = os.fdopen(os.open(self.lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def judge(self, configuration):
        with self.alone():
            return summed([pair.judge(configuration) for pair in self.pairs])

    def stop(self):
        for pair in self.pairs:
            pair.stop()
