# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools that are written in Python have in common: options, messages and exit statuses as the other tools'."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .errors import MnemeError
from .pipe import SAID_TO_ALL, TOOLS, refused
from .search import SpaceError
from .tools import tool


class Version(argparse.Action):
    """--version: that of the tools, of which this is one."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        shown = subprocess.run([tool("run"), "--version"], check=True, capture_output=True, text=True).stdout
        sys.stdout.write(shown.replace("mneme-run", parser.prog, 1))
        parser.exit()


class Parser(argparse.ArgumentParser):
    def __init__(self, name: str, description: str | None) -> None:
        super().__init__(prog=name, description=description, add_help=False,
                         formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=32, width=110))

    def error(self, message: str) -> NoReturn:
        """A sentence, as the other tools say it, without the list of options ahead of it."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def add_flags(self, add: Callable[..., Any]) -> None:
        for name in TOOLS:
            add(f"--{name}-flags", default="", metavar="FLAGS", help=f"further options of mneme-{name}")

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


def _flush() -> None:
    """What cannot be written is an error, and not left to the interpreter's end."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # it tries again at its end
        raise MnemeError(f"cannot write standard output: {error.strerror}") from None


class Stopped:
    """A sentence for Ctrl-C. `what` is in the folder, from which the same command goes on, once that is known."""

    def __init__(self, what: str = "") -> None:
        self.what, self.folder = what, ""

    def __str__(self) -> str:
        return "stopped" + (f"; the same command goes on with the {self.what} in '{self.folder}'" if self.folder else "")


def run_main(name: str, main: Callable[[], int], stopped: Stopped | None = None) -> NoReturn:
    """Ends the program with main's status. An error is a sentence on standard error."""
    def say(text: str) -> None:
        print(f"{name}: {text}", file=sys.stderr, flush=True)

    try:
        try:
            status = main()
        finally:
            _flush()
    except (MnemeError, SpaceError) as error:
        say(f"error: {error}")
        status = getattr(error, "status", 2)
    except OSError as error:
        what = f"'{error.filename}' cannot be used" if error.filename else "something cannot be read or written"
        say(f"error: {what}: {error.strerror or error}")
        status = 2
    except KeyboardInterrupt:
        say(str(stopped or Stopped()))
        status = 130
    raise SystemExit(status)
