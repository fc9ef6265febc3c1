# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools as mneme-tune keeps them running."""

import fcntl
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from tune_spaces import Wrong


TOOLS = "compile", "run", "verify"

# What of each tool goes where, and when, and of which launch, is said here: no flag is to say otherwise, and no variable
# that stands for one. (What mneme-run compiles to check memory would be executed first, and taken for the baseline.)
SAID_HERE = {"compile": ("--variants", "--follow", "--as-recorded"), "run": ("--rounds", "--check-memory"),
             "verify": ("--format", "--reference", "--fail-if-slower")}
SAID_TO_ALL = "--kernel", "--instance", "--output"
END_AT_ONCE = "--help", "--version"
SHORT = {"o": "--output", "h": "--help"}
HERE_INSTEAD = "--kernel", "--instance", "--rounds"  # which mneme-tune has, too

PATIENCE = 5  # seconds without a word from the tools, at first


class Dead(Exception):
    """The tools have ended; the status is that of the one that says why, or nothing where none does."""

    def __init__(self, sentence, status=None):
        super().__init__(sentence)
        self.status = status


def tool(name):
    """Beside an installed copy of this, else wherever the shell finds it."""
    beside = pathlib.Path(sys.argv[0]).absolute().parent / f"mneme-{name}"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(f"mneme-{name}")
    if not found:
        raise Wrong(f"mneme-{name} is not found: put its folder into PATH", 3)
    return found


def words(options, name):
    own = shlex.split(getattr(options, f"{name}_flags"))
    # Passes may choose the sign and payload of a NaN as they like: that makes no code wrong. A user may say otherwise.
    return ["--nan", "equal", *own] if name == "verify" and "--nan" not in getattr(options, "verify_flags") else own


def judging_words(options):
    """Those of mneme-verify's that say how it judges: mneme-restore --tuned judges the same."""
    kept, given = [], iter(words(options, "verify"))
    for word in given:
        if word == "--junit":
            next(given, None)
        elif not word.startswith("--junit="):
            kept.append(word)
    return kept


def refused(name, words):
    """Which of these words mneme-tune cannot leave to its user; nothing where it can."""
    for word in words:
        short = re.match("-v*([oh])", word)
        option = SHORT[short[1]] if short else word.partition("=")[0]
        if option in SAID_HERE[name] + SAID_TO_ALL + END_AT_ONCE:
            return option
    return None


def variables():
    """Of the environment, those that the tools are not to see."""
    return ["MNEME_" + option[2:].upper().replace("-", "_") for option in (*sum(SAID_HERE.values(), ()), *SAID_TO_ALL)]


def environment():
    hidden = variables()
    return {name: value for name, value in os.environ.items() if name not in hidden}


def rows_of(report):
    """A report's, and none of a line that is none: mneme-verify may have ended within it."""
    for line in report.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            pass


def compile_words(options, instance, answers):
    target = ["--target", options.target] if options.target else []
    kernel = ["--kernel", options.kernel] if options.kernel else []
    return [*target, *words(options, "compile"), *kernel, "--instance", instance, "--variants", "-", "--follow", answers,
            options.bundle]


class Lines:
    """What a tool writes, a line at a time."""

    def __init__(self, file):
        self.file, self.rest = file, b""

    def next(self, seconds=None):
        """Empty at the end; nothing where none has come after so long."""
        while b"\n" not in self.rest:
            if not select.select([self.file], [], [], seconds)[0]:
                return None
            more = os.read(self.file.fileno(), 1 << 16)
            if not more:
                line, self.rest = self.rest, b""
                return line
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line + b"\n"


class Pair:
    """mneme-compile, mneme-run and mneme-verify, that live on: each configuration goes in as a line, and comes out judged."""

    def __init__(self, options, instance, messages, code_bytes):
        self.options, self.instance, self.messages = options, instance, messages
        self.code_bytes = code_bytes  # of variants that the bundle has
        self.processes, self.known = [], {}
        self.patience, self.is_ending, self.has_answered = PATIENCE, False, False

    def start(self):
        self.stop()
        self.known.clear()
        self.is_ending = False
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
            process = subprocess.Popen(stage, stdin=upstream, stdout=subprocess.PIPE, stderr=self.messages, env=environment(),
                                       start_new_session=True, pass_fds=[answers] if not self.processes else [])
            if self.processes:
                upstream.close()
            upstream = process.stdout
            self.processes.append(process)
        os.close(answers)
        self.answers = Lines(os.fdopen(source))
        self.report = Lines(upstream)

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
            self.answers.file.close()
        self.processes = []

    def end(self):
        """There is no further configuration: they end with this one."""
        self.is_ending = True
        try:
            self.processes[0].stdin.close()
        except BrokenPipeError:
            pass

    def read(self, lines):
        """The next line. A launch that is not run has none, and no tool says so before its end: where nothing comes for a
        while, that is brought about. What only took long is there then, and is waited for longer from then on."""
        line = lines.next(None if self.is_ending else self.patience)
        if line is None:
            self.end()
            line = lines.next()
            if line:
                self.patience *= 4
        if not line:
            raise self.death()
        try:
            return json.loads(line)
        except ValueError:
            raise Dead(f"the tools write a line that is not JSON: {line[:80].decode(errors='replace').strip()}") from None

    def row(self):
        row = self.read(self.report)
        if "device" not in row:  # it was not run, which mneme-verify says when nothing is left to come
            raise self.death()
        return row

    def death(self):
        for process in self.processes:  # what they have to say is there when they have ended
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                pass
        statuses = {f"mneme-{name}": process.returncode for name, process in zip(TOOLS, self.processes)}
        for name, status in statuses.items():  # of this the others know only that their input or output is gone
            if status is not None and status < 0:
                return Dead(f"the tools have ended: {name}, by signal {-status} ({signal.strsignal(-status)})")
        text = pathlib.Path(self.messages.name).read_bytes()[self.begin:].decode(errors="replace")
        said = [line for line in text.splitlines() if ": error: " in line]
        # That the next one is gone is no reason.
        line = next((line for line in said if "Broken pipe" not in line), said[-1] if said else "without a message")
        return Dead(f"the tools have ended: {line}", statuses.get(line.partition(":")[0]))

    def try_once(self, configuration):
        """mneme-verify's row of it, with the size of its code; or {"failed": reason}."""
        if not self.processes or self.is_ending:
            self.start()
        try:
            self.processes[0].stdin.write((json.dumps(configuration) + "\n").encode())
            self.processes[0].stdin.flush()
        except BrokenPipeError:
            raise self.death() from None
        answer = self.read(self.answers)
        if "variant" not in answer:
            return answer
        if answer["variant"] not in self.known:
            row = self.row()
            while row["variant"] != answer["variant"]:  # of variants that the bundle had, for which a line may ask later
                self.keep(row)
                row = self.row()
            self.keep(row, answer.get("code_bytes"))
        self.has_answered = True
        return self.known[answer["variant"]]

    def keep(self, row, code_bytes=None):
        if code_bytes is None:
            code_bytes = self.code_bytes.get(row.get("same_as") or row["variant"])
        self.known[row["variant"]] = {**row, "code_bytes": code_bytes}

    def judge(self, configuration):
        for is_last in (False, True):
            try:
                return self.try_once(configuration)
            except Dead as error:
                self.stop()
                # Of no use to try again, or another: it is nothing that a configuration changes.
                if not self.has_answered and error.status in (2, 3):
                    hint = " (that is --run-flags=--force here)" if "--force" in str(error) else ""
                    raise Wrong(f"nothing can be tried on launch {self.instance[:12]}: {error}{hint}", error.status) from None
                if is_last or self.is_ending:
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
