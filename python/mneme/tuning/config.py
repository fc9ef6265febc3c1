# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-tune's options in a file."""

import json
import math
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from ..errors import MnemeError
from ..tools import option_words

NOT_KEPT = "config", "dump_config", "dry_run", "print_space", "version", "part"


def _parsed(path: str, text: str) -> Any:
    try:
        import yaml
    except ImportError:  # JSON is YAML
        try:
            return json.loads(text)
        except ValueError:
            raise MnemeError(f"'{path}' needs Debian's python3-yaml, unless it is JSON", 3) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise MnemeError(f"'{path}' is not YAML: {' '.join(str(error).split())}") from None


def config_words(path: str, known: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """A file's options, as words of a command line, and its bundle. `known` has the names of all options."""
    with open(path) as file:
        found = _parsed(path, file.read())
    if not isinstance(found, dict):
        raise MnemeError(f"'{path}' has no options: write a line such as 'trials: 200' for each")
    given = {str(name).replace("-", "_"): value for name, value in found.items()}
    for name in given:
        if name not in known or name in NOT_KEPT:
            raise MnemeError(f"'{path}' has '{name}', which is no option of mneme-tune")
    bundle = given.pop("bundle", None)
    if isinstance(given.get("baseline"), dict):
        given["baseline"] = json.dumps(given["baseline"])
    return option_words(given), bundle


def given(options: Namespace) -> dict[str, Any]:
    """Those with a value."""
    return {name: value for name, value in vars(options).items()
            if not (value is None or value is False or value in ("", math.inf, {}) or name in NOT_KEPT)}


def dump_config(options: Namespace) -> int:
    """Prints them as such a file, in lines that are YAML."""
    for name, value in given(options).items():
        print(f"{name}: {json.dumps(value)}")
    return 0
