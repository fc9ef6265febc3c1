# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-compile, mneme-run and mneme-verify, kept running: each configuration goes in as a line, and comes out judged."""

import contextlib
import json
import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from .devices import Device
from .errors import MnemeError
from .tools import sentence_of, tool
from .verify import Verify

TOOLS = "compile", "run", "verify"
Row = dict[str, Any]  # mneme-verify's

# What of each tool goes where, and when, and of which launch, is said here: no flag is to say otherwise, and no variable
# that stands for one. (What mneme-run compiles to check memory would be executed first, and taken for the baseline.)
SAID_HERE = {"compile": ("--variants", "--follow", "--as-recorded"), "run": ("--rounds", "--check-memory"),
             "verify": ("--format", "--reference", "--fail-if-slower")}
SAID_TO_ALL = "--kernel", "--instance", "--output"
END_AT_ONCE = "--help", "--version"
SHORT = {"o": "--output", "h": "--help"}

PATIENCE = 5.0  # seconds without a word from the tools, at first


class Dead(Exception):
    """The tools have ended; the status is that of the one that says why, or nothing where none does."""

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


def refused(name: str, words: Sequence[str]) -> str | None:
    """Which of these words the user cannot give to a tool; nothing where all can be given."""
    for word in words:
        short = re.match("-v*([oh])", word)
        option = SHORT[short[1]] if short else word.partition("=")[0]
        if option in SAID_HERE[name] + SAID_TO_ALL + END_AT_ONCE:
            return option
    return None


def variables() -> list[str]:
    """Of the environment, those that the tools are not to see."""
    return ["MNEME_" + option[2:].upper().replace("-", "_") for option in (*sum(SAID_HERE.values(), ()), *SAID_TO_ALL)]


def environment() -> dict[str, str]:
    hidden = variables()
    return {name: value for name, value in os.environ.items() if name not in hidden}


def rows_of(report: str | bytes) -> Iterator[Row]:
    """A report's, and none of a line that is none: mneme-verify may have ended within it."""
    for line in report.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            pass


@dataclass(frozen=True)
class Settings:
    """What all configurations have in common."""

    bundle: str
    device: Device
    kernel: str = ""
    target: str = ""
    warmup: int = 1
    iterations: int = 10
    precision: float = 0.0  # 0: all iterations
    verify: Verify = Verify()
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)  # further options, by the tool's name

    def command(self, name: str, *words: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
        own = {"compile": ["--target", self.target] if self.target else [], "run": list(self.device.words),
               "verify": self.verify.words()}
        return [*self.device.prefix, tool(name), *own[name], *words, *self.flags.get(name, ())]

    def selection(self, instance: str = "") -> list[str]:
        kernel = ["--kernel", self.kernel] if self.kernel else []
        return [*kernel, *(["--instance", instance] if instance else [])]

    def compile(self, instance: str, answers: str, *words: str) -> list[str | os.PathLike[str]]:
        """mneme-compile's command, which takes configurations from standard input."""
        return [*self.command("compile", *words), *self.selection(instance), "--variants", "-", "--follow", answers, self.bundle]

    def environment(self) -> dict[str, str]:
        return {**environment(), **self.device.environment}

    def shell(self, configurations: Sequence[Mapping[str, Any]], instance: str = "", *, run: Sequence[str] = (),
              verify: Sequence[str] = ()) -> str:
        """The pipe for these configurations, as one would type it."""
        select = self.selection(instance)
        lines = shlex.join(["printf", "%s\\n", *(json.dumps(dict(one)) for one in configurations)])
        stages = [self.command("compile", "--variants", "-", *select, os.path.abspath(self.bundle)),
                  self.command("run", *run, *select), self.command("verify", *verify, "--format", "table", *select)]
        return " | ".join([lines, *(shlex.join([os.fspath(word) for word in stage]) for stage in stages)])


class Lines:
    """What a tool writes, a line at a time."""

    def __init__(self, file: IO[Any]) -> None:
        self.file, self.rest = file, b""

    def next(self, seconds: float | None = None) -> bytes | None:
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


class Pipe:
    """The three tools for one launch. All but kill() is for one thread."""

    def __init__(self, settings: Settings, instance: str, messages: IO[bytes], code_bytes: Mapping[str, int | None]) -> None:
        self.settings, self.instance = settings, instance
        self.messages = messages  # gets what the tools say, when they have ended
        self.code_bytes = code_bytes  # of variants that the bundle has
        self.said = tempfile.TemporaryFile()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.known: dict[str, Row] = {}
        self.patience, self.is_ending, self.has_answered = PATIENCE, False, False
        self.lock, self.is_killed = threading.Lock(), False

    def start(self) -> None:
        self.stop()
        self.known.clear()
        self.is_ending = False
        source, answers = os.pipe()
        settings, select = self.settings, self.settings.selection(self.instance)
        times = ["--warmup", str(settings.warmup), "--iterations", str(settings.iterations)]
        if settings.precision:
            times += ["--precision", str(settings.precision)]
        stages = [settings.compile(self.instance, f"/dev/fd/{answers}", "-j", "1"),
                  [*settings.command("run", *times), *select], [*settings.command("verify"), *select]]
        upstream: Any = subprocess.PIPE
        with self.lock:
            if self.is_killed:
                stages = []
            for stage in stages:
                # In a session of its own: what Ctrl-C ends is decided here.
                process = subprocess.Popen(stage, stdin=upstream, stdout=subprocess.PIPE, stderr=self.said,
                                           env=settings.environment(), start_new_session=True,
                                           pass_fds=[answers] if not self.processes else [])
                if self.processes:
                    upstream.close()
                upstream = process.stdout
                self.processes.append(process)
        os.close(answers)
        self.answers = Lines(os.fdopen(source))
        if not stages:
            self.answers.file.close()
            raise Dead("the tools were ended")
        self.report = Lines(upstream)

    def kill(self) -> None:
        """Ends the tools for good, and what another thread waits for."""
        with self.lock:
            self.is_killed = True
            for process in self.processes[::-1]:
                process.kill()

    def stop(self) -> None:
        for process in self.processes[::-1]:  # so that none sees another go
            process.kill()
        for process in self.processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        if self.processes:
            self.answers.file.close()
            self.messages.write(self.text().encode())
            self.messages.flush()
            self.said.truncate(0)
            self.said.seek(0)
        self.processes = []

    def close(self) -> None:
        self.stop()
        self.said.close()

    def text(self) -> str:
        """What the tools have said since they began."""
        return os.pread(self.said.fileno(), os.fstat(self.said.fileno()).st_size, 0).decode(errors="replace")

    @property
    def input(self) -> IO[bytes]:
        stream = self.processes[0].stdin
        assert stream
        return stream

    def end(self) -> None:
        """There is no further configuration: they end with this one."""
        self.is_ending = True
        with contextlib.suppress(BrokenPipeError):
            self.input.close()

    def read(self, lines: Lines) -> Row:
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
            row: Row = json.loads(line)
            return row
        except ValueError:
            raise Dead(f"the tools write a line that is not JSON: {line[:80].decode(errors='replace').strip()}") from None

    def row(self) -> Row:
        row = self.read(self.report)
        if "device" not in row:  # it was not run, which mneme-verify says when nothing is left to come
            raise self.death()
        return row

    def death(self) -> Dead:
        for process in self.processes:  # what they have to say is there when they have ended
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
        statuses = {f"mneme-{name}": process.returncode for name, process in zip(TOOLS, self.processes)}
        for name, status in statuses.items():  # of this the others know only that their input or output is gone
            if status is not None and status < 0:
                return Dead(f"the tools have ended: {name}, by signal {-status} ({signal.strsignal(-status)})")
        said_by, sentence = sentence_of(self.text())
        if said_by is None:
            return Dead("the tools have ended: without a message")
        return Dead(f"the tools have ended: {said_by}: error: {sentence}", statuses.get(said_by))

    def try_once(self, configuration: Mapping[str, Any]) -> Row:
        """mneme-verify's row of it, with the size of its code; or {"failed": reason}."""
        if not self.processes or self.is_ending:
            self.start()
        try:
            self.input.write((json.dumps(dict(configuration)) + "\n").encode())
            self.input.flush()
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

    def keep(self, row: Row, code_bytes: int | None = None) -> None:
        if code_bytes is None:
            code_bytes = self.code_bytes.get(row.get("same_as") or row["variant"])
        self.known[row["variant"]] = {**row, "code_bytes": code_bytes}

    def judge(self, configuration: Mapping[str, Any]) -> Row:
        """As try_once(). Tools that die are replaced; where they die of it again, it has failed."""
        for is_last in (False, True):
            try:
                return self.try_once(configuration)
            except Dead as error:
                self.stop()
                # Of no use to try again, or another: it is nothing that a configuration changes.
                if not self.has_answered and error.status in (2, 3):
                    hint = " (that is --run-flags=--force here)" if "--force" in str(error) else ""
                    raise MnemeError(f"nothing can be tried on launch {self.instance[:12]}: {error}{hint}",
                                     error.status) from None
                if is_last or self.is_ending:
                    return {"failed": str(error)}
        raise AssertionError
