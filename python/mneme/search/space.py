# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A search space: named parameters with lists of values, some of them active only under conditions."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = Any  # what JSON has: None, a truth value, a number, a text, a list
Parameters = Mapping[str, Value]

MOST_LISTED = 100_000  # points of a space that is listed whole
INACTIVE = -1


class SpaceError(Exception):
    """A search space that cannot be used; a sentence."""


def key_of(value: Value) -> str:
    return json.dumps(value, sort_keys=True)


def is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Parameter:
    """A name and its values. Neighbouring values of an ordered parameter are alike. Where `when` names parameters that
    come before, this one is active only if each of them is active and has one of the listed values."""

    name: str
    values: tuple[Value, ...]
    ordered: bool = False
    when: Mapping[str, Sequence[Value]] = field(default_factory=dict)

    @staticmethod
    def of(name: str, values: Iterable[Value], *, ordered: bool | None = None,
           when: Mapping[str, Sequence[Value]] | None = None) -> Parameter:
        """Ordered, unless said otherwise, if the values are at least three numbers in ascending or descending order."""
        listed = tuple(values)
        if ordered is None:
            ordered = len(listed) > 2 and all(map(is_number, listed)) and (
                list(listed) in (sorted(listed), sorted(listed, reverse=True)))
        return Parameter(name, listed, ordered, dict(when or {}))


@dataclass(frozen=True)
class Point:
    """A value for each active parameter. Two points with the same `indices` are equal."""

    indices: tuple[int, ...]  # a parameter's place in its list of values; INACTIVE where it is not active
    parameters: dict[str, Value] = field(compare=False)

    @property
    def key(self) -> str:
        """The same text for the same parameters, in each process."""
        return key_of(self.parameters)


class Space:
    """Parameters, the combinations that are allowed, and the configuration that each makes.

    `parameters` is a dict of lists, or a list of Parameter. `allowed` gets a dict of the active parameters and returns
    true, or false, or the reason why not. `configuration` gets the same and returns a configuration, from which keys
    without a value are dropped. Both depend on nothing else."""

    def __init__(self, parameters: Mapping[str, Iterable[Value]] | Iterable[Parameter],
                 configuration: Callable[[dict[str, Value]], dict[str, Value]] | None = None,
                 allowed: Callable[[dict[str, Value]], bool | str] | None = None, *,
                 conditions: Mapping[str, Mapping[str, Sequence[Value]]] | None = None) -> None:
        when = dict(conditions or {})
        if isinstance(parameters, Mapping):
            listed = [Parameter.of(name, values, when=when.pop(name, None)) for name, values in parameters.items()]
        else:
            listed = list(parameters)
        if when:
            raise SpaceError(f"the search space has a condition for {next(iter(when))}, which is no parameter")
        self.parameters: dict[str, Parameter] = {}
        self._places: list[dict[str, int]] = []
        self._conditions: list[list[tuple[int, frozenset[int]]]] = []
        for parameter in listed:
            self._add(parameter)
        self.names = list(self.parameters)
        self._make: Callable[[dict[str, Value]], dict[str, Value]] = configuration or dict
        self._allow: Callable[[dict[str, Value]], bool | str] = allowed or (lambda _: True)
        self._listed: list[Point] | None = None

    def _add(self, parameter: Parameter) -> None:
        name = parameter.name
        if not parameter.values:
            raise SpaceError(f"the search space has no value for {name}")
        if name in self.parameters:
            raise SpaceError(f"the search space has two parameters {name}")
        try:
            places = {key_of(value): place for place, value in enumerate(parameter.values)}
        except (TypeError, ValueError) as error:
            raise SpaceError(f"the search space has a value for {name} that JSON does not have: {error}") from None
        if len(places) < len(parameter.values):
            raise SpaceError(f"the search space has a value twice for {name}")
        conditions = []
        for other, values in parameter.when.items():
            if other not in self.parameters:
                raise SpaceError(f"{name} is active under a condition on {other}, which is no parameter before it")
            at = list(self.parameters).index(other)
            known = [self._places[at].get(key_of(value)) for value in values]
            if None in known:
                raise SpaceError(f"{name} is active under a condition on {other}, which does not have that value")
            conditions.append((at, frozenset(place for place in known if place is not None)))
        self.parameters[name] = parameter
        self._places.append(places)
        self._conditions.append(conditions)

    # ---- points ----

    def is_active(self, at: int, indices: Sequence[int]) -> bool:
        """Whether the parameter at this place is active, by the places of the values of those before it."""
        return all(indices[other] in places for other, places in self._conditions[at])

    def at(self, indices: Sequence[int]) -> Point:
        """The point with these places of values; a place of a parameter that is not active does not matter."""
        made: list[int] = []
        for at, place in enumerate(indices):
            made.append(max(place, 0) if self.is_active(at, made) else INACTIVE)
        values = {name: parameter.values[place] for (name, parameter), place in zip(self.parameters.items(), made)
                  if place != INACTIVE}
        return Point(tuple(made), values)

    def point(self, parameters: Parameters) -> Point:
        """The point with these values; values of parameters that are not active do not matter."""
        indices: list[int] = []
        for at, name in enumerate(self.names):
            if not self.is_active(at, indices):
                indices.append(INACTIVE)
                continue
            if name not in parameters:
                raise SpaceError(f"{name} has no value in {dict(parameters)}")
            place = self._places[at].get(key_of(parameters[name]))
            if place is None:
                raise SpaceError(f"{name} has no value {parameters[name]!r} in the search space")
            indices.append(place)
        return self.at(indices)

    def has(self, parameters: Parameters) -> bool:
        try:
            self.point(parameters)
        except (SpaceError, TypeError, ValueError):
            return False
        return True

    def random_point(self, random: random.Random) -> Point:
        """Of all, allowed or not."""
        return self.at([random.randrange(len(self.parameters[name].values)) for name in self.names])

    def points(self) -> Iterator[Point]:
        """All, allowed or not, in order: the last parameter varies fastest."""
        return map(self.at, self._indices([]))

    def _indices(self, before: list[int]) -> Iterator[list[int]]:
        at = len(before)
        if at == len(self.names):
            yield before
        elif not self.is_active(at, before):
            yield from self._indices([*before, INACTIVE])
        else:
            for place in range(len(self.parameters[self.names[at]].values)):
                yield from self._indices([*before, place])

    def __iter__(self) -> Iterator[Point]:
        """The allowed points, in order."""
        if self._listed is not None:
            yield from self._listed
            return
        for point in self.points():
            if not self.refusal(point.parameters):
                yield point

    def size(self) -> int:
        """How many points there are, allowed or not."""
        controls = {at for conditions in self._conditions for at, _ in conditions}
        counts = [len(self.parameters[name].values) for name in self.names]
        always = [at for at, conditions in enumerate(self._conditions) if not conditions and at not in controls]
        others = [at for at in range(len(self.names)) if at not in always]

        def count(place: int, indices: list[int]) -> int:
            if place == len(others):
                return 1
            at = others[place]
            if not self.is_active(at, indices):
                indices[at] = INACTIVE
                return count(place + 1, indices)
            if at not in controls:
                return counts[at] * count(place + 1, indices)
            total = 0
            for value in range(counts[at]):
                indices[at] = value
                total += count(place + 1, indices)
            indices[at] = INACTIVE
            return total
        return math.prod(counts[at] for at in always) * count(0, [INACTIVE] * len(self.names))

    def listed(self) -> list[Point] | None:
        """The allowed points, unless there are too many points to look at."""
        if self._listed is None and self.size() <= MOST_LISTED:
            self._listed = list(self)
        return self._listed

    def allowed_size(self) -> int:
        """How many points are allowed, or how many there are if those are too many to look at."""
        listed = self.listed()
        return self.size() if listed is None else len(listed)

    # ---- what they mean ----

    def allowed(self, parameters: Parameters) -> bool | str:
        """True, false, or the reason why not."""
        try:
            return self._allow(dict(parameters))
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's own function)
            raise self._failure(parameters, error) from None

    def refusal(self, parameters: Parameters) -> str | None:
        """Why these are not tried; nothing where they are."""
        answer = self.allowed(parameters)
        return answer if isinstance(answer, str) else None if answer else "the search space does not allow it"

    def configuration(self, parameters: Parameters) -> dict[str, Value]:
        try:
            made = {key: value for key, value in self._make(dict(parameters)).items() if value is not None}
            json.dumps(made)
            return made
        except (Exception, SystemExit) as error:  # noqa: BLE001  (likewise)
            raise self._failure(parameters, error) from None

    @staticmethod
    def _failure(parameters: Parameters, error: BaseException) -> SpaceError:
        if isinstance(error, SpaceError):
            return error
        return SpaceError(f"the search space fails with {dict(parameters)}: {type(error).__name__}: {error}")

    def joined(self, other: Space) -> Space:
        """All combinations of the points of both. The other's keys of a configuration win."""
        def own(space: Space, parameters: Parameters) -> dict[str, Value]:
            return {name: value for name, value in parameters.items() if name in space.parameters}

        def allowed(parameters: dict[str, Value]) -> bool | str:
            return self.refusal(own(self, parameters)) or other.refusal(own(other, parameters)) or True

        def configuration(parameters: dict[str, Value]) -> dict[str, Value]:
            return {**self.configuration(own(self, parameters)), **other.configuration(own(other, parameters))}
        return Space(itertools.chain(self.parameters.values(), other.parameters.values()), configuration, allowed)
