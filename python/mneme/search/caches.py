# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spaces whose every point was measured, in the formats of published tuning caches: Kernel Tuner's JSON, and T4.

Either may be compressed with gzip. A point that the file does not have is not allowed; one that failed has no value.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .space import Parameters, Point, Space, SpaceError, Value, is_number, key_of


@dataclass(frozen=True)
class Measured:
    """A space, and the value of each of its allowed points: None where it failed."""

    name: str
    space: Space
    values: dict[Point, float | None]

    @staticmethod
    def of(name: str, lists: dict[str, list[Value]], trials: Iterable[tuple[Parameters, float | None]]) -> Measured:
        space = Space(lists)
        values = {space.point(parameters): value for parameters, value in trials}
        kept = {point.indices for point in values}
        allowing = Space(space.parameters.values(),
                         allowed=lambda parameters: space.point(parameters).indices in kept or "it was not measured")
        return Measured(name, allowing, values)

    def best(self) -> float:
        return min(value for value in self.values.values() if value is not None)


def read(path: str | pathlib.Path) -> Measured:
    """A file of either format."""
    path = pathlib.Path(path)
    data = path.read_bytes()
    try:
        document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        name = path.name.removesuffix(".gz").removesuffix(".json")
        found = of_t4(name, document) if "results" in document else of_kernel_tuner(name, document)
        found.best()
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError, SpaceError) as error:
        raise SpaceError(f"'{path}' is neither a cache of Kernel Tuner's nor T4 results: {error}") from None
    return found


def of_kernel_tuner(name: str, document: dict[str, Any]) -> Measured:
    objective = document.get("objective", "time")
    names = document["tune_params_keys"]
    trials = []
    for entry in document["cache"].values():
        value = entry.get(objective)
        trials.append(({key: entry[key] for key in names}, float(value) if is_number(value) else None))
    return Measured.of(name, {key: document["tune_params"][key] for key in names}, trials)


def of_t4(name: str, document: dict[str, Any]) -> Measured:
    """T4 results have no lists of values: these are the values met, numbers in ascending order."""
    lists: dict[str, dict[str, Value]] = {}
    trials = []
    for result in document["results"]:
        parameters = result["configuration"]
        for key, value in parameters.items():
            lists.setdefault(key, {})[key_of(value)] = value
        objective = (result.get("objectives") or ["time"])[0]
        measured = {one["name"]: one["value"] for one in result.get("measurements") or []}
        is_valid = result.get("invalidity", "correct") == "correct"
        value = measured.get(objective) if is_valid else None
        trials.append((parameters, float(value) if value is not None and is_number(value) else None))
    return Measured.of(name, {key: ordered(list(values.values())) for key, values in lists.items()}, trials)


def ordered(values: list[Value]) -> list[Value]:
    return sorted(values) if all(map(is_number, values)) else values


INVALID = "RuntimeFailedConfig"  # as Kernel Tuner has it


def kernel_tuner(kernel: str, device: str, lists: dict[str, list[Value]],
                 trials: Iterable[tuple[Parameters, float | None]]) -> dict[str, Any]:
    """Trials as a cache of Kernel Tuner's; times in milliseconds."""
    cache = {}
    for parameters, value in trials:
        entry: dict[str, Any] = {name: parameters[name] for name in lists}
        entry["time"] = INVALID if value is None else value
        cache[",".join(str(entry[name]) for name in lists)] = entry
    return {"device_name": device, "kernel_name": kernel, "problem_size": [], "tune_params_keys": list(lists),
            "tune_params": lists, "objective": "time", "cache": cache}


def text(cache: dict[str, Any]) -> str:
    """A cache of Kernel Tuner's as JSON, a line an entry."""
    head = json.dumps({key: value for key, value in cache.items() if key != "cache"})
    entries = ",\n".join(f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in cache["cache"].items())
    return f'{head[:-1]}, "cache": {{\n{entries}\n}}}}\n'


def t4_result(parameters: Parameters, value: float | None, invalidity: str = "runtime",
              others: Mapping[str, tuple[float, str]] = MappingProxyType({})) -> dict[str, Any]:
    """A trial as one of T4 results; its time is in milliseconds. `others` are measurements by name, with their units."""
    measured = {} if value is None else {"time": (value, "milliseconds"), **others}
    return {"configuration": dict(parameters), "objectives": ["time"],
            "times": {"runtimes": [] if value is None else [value]},
            "invalidity": invalidity if value is None else "correct", "correctness": int(value is not None),
            "measurements": [{"name": name, "value": number, "unit": unit} for name, (number, unit) in measured.items()]}


def t4(results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """T4 results: the auto-tuning community's schema, version 1.0.0."""
    return {"schema_version": "1.0.0", "results": list(results)}
