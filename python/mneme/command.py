# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools that are written in Python have in common: their command line, and how they end."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .configuration import Configuration
from .errors import MnemeError
from .pipe import SAID_TO_ALL, TOOLS, refused
from .tools import tool

LEAST_ROUNDS = 6  # of which mneme-verify gives an interval


def configuration_of(text: str) -> dict[str, Any]:
    """An object of JSON, a level such as O2, or a pipeline."""
    if text.lstrip().startswith("{"):
        return dict(Configuration.from_json(text))
    level = text.removeprefix("-").removeprefix("O")
    if level in ("0", "1", "2", "3", "s", "z"):
        return {"passes": f"default<O{level}>", "codegen_opt": 2 if level in "sz" else int(level)}
    return {"passes": text}


class Version(argparse.Action):
    """--version: that of the tools, of which this is one."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        shown = subprocess.run([tool("run"), "--version"], check=True, capture_output=True, text=True).stdout
        sys.stdout.write(shown.replace("mneme-run", parser.prog, 1))
        parser.exit()


class Parser(argparse.ArgumentParser):
    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(prog=prog, description=description, add_help=False,
                         formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=32, width=110))

    def error(self, message: str) -> NoReturn:
        """A sentence, as the other tools say it, without the list of options ahead of it."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def add_flags(self, add: Callable[..., Any]) -> None:
        for name in TOOLS:
            add(f"--{name}-flags", default="", metavar="FLAGS", help=f"further options of mneme-{name}")

    def add_pair(self, add: Callable[..., Any]) -> None:
        """A good and a bad configuration."""
        add("--bad", default="{}", metavar="CONFIGURATION",
            help="what is wrong or slow: a configuration in JSON, a level such as O2, or a pipeline (default: {}, which is O3)")
        add("--good", metavar="CONFIGURATION", help="what is not (default: the bad one without optional passes)")
        add("--slower", type=float, metavar="RATIO",
            help="bad is what takes so many times as long as the good configuration")
        add("--rounds", type=int, default=15, metavar="N",
            help="with --slower: rounds in which both take turns (default: 15)")

    def check_pair(self, options: argparse.Namespace) -> None:
        for name in ("good", "bad"):
            try:
                if getattr(options, name) is not None:
                    setattr(options, name, configuration_of(getattr(options, name)))
            except MnemeError as error:
                self.error(f"--{name}: {error}")
        if options.slower is not None:
            if not 1 < options.slower < float("inf"):
                self.error("--slower takes a ratio above 1")
            if options.good is None:
                self.error("--slower needs --good, beside which it is slower")
        if options.rounds < LEAST_ROUNDS:
            self.error(f"--rounds takes a number from {LEAST_ROUNDS} on")

    def flags(self, options: argparse.Namespace, *own: str) -> dict[str, list[str]]:
        """The words of these. `own`: options of the tools that this one has, too."""
        made = {}
        for name in TOOLS:
            flags = getattr(options, f"{name}_flags")
            try:
                made[name] = shlex.split(flags)
            except ValueError:
                self.error(f"--{name}-flags has a quotation mark or a backslash that nothing follows: {flags}")
            if option := refused(name, made[name]):
                instead = f"give {self.prog} its {option}" if option in (*SAID_TO_ALL[:2], *own) else "leave it out"
                self.error(f"--{name}-flags has {option}, which {self.prog} itself gives to mneme-{name}: {instead}")
        return made


def flush() -> None:
    """What cannot be written is an error, and not left to the interpreter's end."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # it tries again at its end
        raise MnemeError(f"cannot write standard output: {error.strerror}") from None


def end_as(prog: str, work: Callable[[], int], stopped: Callable[[], str] = lambda: "stopped") -> NoReturn:
    """Does the work, and ends with its status, or with a sentence. `stopped`: what to say after Ctrl-C."""
    def say(text: str) -> None:
        print(f"{prog}: {text}", file=sys.stderr, flush=True)
    try:
        try:
            status = work()
        finally:
            flush()
    except MnemeError as error:
        say(f"error: {error}")
        raise SystemExit(error.status)
    except OSError as error:
        what = f"'{error.filename}' cannot be used" if error.filename else "something cannot be read or written"
        say(f"error: {what}: {error.strerror or error}")
        raise SystemExit(2)
    except KeyboardInterrupt:
        say(stopped())
        raise SystemExit(130)
    raise SystemExit(status)
