# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of mneme-bisect and mneme-reduce: a good and a bad configuration."""

import argparse
from collections.abc import Callable
from typing import Any

from ..command_line import Parser
from ..configuration import Configuration
from ..errors import MnemeError

LEAST_ROUNDS = 6  # of which mneme-verify gives an interval


def configuration_of(text: str) -> dict[str, Any]:
    """An object of JSON, a level such as O2, or a pipeline."""
    if text.lstrip().startswith("{"):
        return dict(Configuration.from_json(text))
    level = text.removeprefix("-").removeprefix("O")
    if level in ("0", "1", "2", "3", "s", "z"):
        return {"passes": f"default<O{level}>", "codegen_opt": 2 if level in "sz" else int(level)}
    return {"passes": text}


def add_pair(add: Callable[..., Any]) -> None:
    add("--bad", default="{}", metavar="CONFIGURATION",
        help="what is wrong or slow: a configuration in JSON, a level such as O2, or a pipeline (default: {}, which is O3)")
    add("--good", metavar="CONFIGURATION", help="what is not (default: the bad one without optional passes)")
    add("--slower", type=float, metavar="RATIO",
        help="bad is what takes so many times as long as the good configuration")
    add("--rounds", type=int, default=15, metavar="N",
        help="with --slower: rounds in which both take turns (default: 15)")


def check_pair(parser: Parser, options: argparse.Namespace) -> None:
    for name in ("good", "bad"):
        try:
            if getattr(options, name) is not None:
                setattr(options, name, configuration_of(getattr(options, name)))
        except MnemeError as error:
            parser.error(f"--{name}: {error}")
    if options.slower is not None:
        if not 1 < options.slower < float("inf"):
            parser.error("--slower takes a ratio above 1")
        if options.good is None:
            parser.error("--slower needs --good, beside which it is slower")
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds takes a number from {LEAST_ROUNDS} on")
