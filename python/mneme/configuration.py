# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a kernel is compiled and launched to be replayed (docs/configurations.md)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import MnemeError

_TEXT, _NUMBER, _TRUTH, _DIMENSIONS = "a text", "a whole number from 0", "true or false", "a list of three numbers"

# As lib/bundle/json/configuration.cc has them; a test compares the two.
KEYS: Mapping[str, str] = {
    "target": _TEXT, "passes": _TEXT, "codegen_opt": _NUMBER, "form": _TEXT, "fuse": _TRUTH, "ir": _TEXT,
    "check_memory": _TRUTH, "baseline": _TRUTH, "assembler": _TEXT, "ptxas_level": _NUMBER, "max_registers": _NUMBER,
    "cpu": _TEXT, "features": _TEXT, "code_object": _NUMBER, "max_threads": _NUMBER, "min_blocks": _NUMBER,
    "unroll_threshold": _NUMBER, "inline_threshold": _NUMBER, "fast_math": _TEXT, "attributes": _TEXT,
    "plugins": _TEXT, "grid": _DIMENSIONS, "block": _DIMENSIONS, "shared_mem": _NUMBER, "specialize_args": _TEXT,
    "specialize_dims": _TRUTH, "instance": _TEXT, "warmup": _NUMBER, "iterations": _NUMBER, "contract": _TRUTH,
    "code": _TEXT, "checks": _TEXT, "opt_bisect": _NUMBER, "llvm": _TEXT,
    "algebra": _TRUTH,
}


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _fits(kind: str, value: object) -> bool:
    if value is None:  # it is not set, whatever the tools' options say
        return True
    if kind == _TEXT:
        return isinstance(value, str)
    if kind == _TRUTH:
        return isinstance(value, bool)
    if kind == _NUMBER:
        return _is_number(value)
    return isinstance(value, (list, tuple)) and len(value) == 3 and all(_is_number(number) for number in value)


class Configuration(Mapping[str, Any]):
    """An immutable mapping of the keys that are set: `Configuration(passes="default<O2>", block=[128, 1, 1])`. A key that
    no configuration has, and a value of another type, is a MnemeError. The compiler checks ranges and what goes together."""

    def __init__(self, keys: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        self._keys: dict[str, Any] = {**(keys or {}), **more}
        for key, value in self._keys.items():
            if key not in KEYS:
                raise MnemeError(f"no configuration has the key '{key}'; there are {', '.join(KEYS)}")
            if not _fits(KEYS[key], value):
                raise MnemeError(f"the configuration's '{key}' is {value!r}, and not {KEYS[key]}")
            if isinstance(value, tuple):
                self._keys[key] = list(value)

    @classmethod
    def from_json(cls, text: str) -> "Configuration":
        try:
            keys = json.loads(text)
        except (ValueError, RecursionError):
            keys = None
        if not isinstance(keys, dict):
            raise MnemeError("a configuration is an object of JSON, such as " '{"passes":"default<O2>"}')
        return cls(keys)

    def to_json(self) -> str:
        """A line for `mneme-compile --variants`."""
        return json.dumps(self._keys)

    def __getitem__(self, key: str) -> Any:
        return self._keys[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __hash__(self) -> int:
        return hash(json.dumps(self._keys, sort_keys=True))

    def __repr__(self) -> str:
        return f"Configuration({self._keys})"
