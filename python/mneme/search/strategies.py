# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How samplers propose points (docs/search.md has what each finds)."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from itertools import islice

from .sampler import KINDS, MOST_LOOKED_AT, History, Strategy
from .space import MOST_LISTED, Point, Space
from .tpe import Tpe

LONG = 500  # trials after which both samplers that learn have found the best; the genetic one takes less time


class Random:
    """Any: the sampler draws them."""

    PROPOSALS = 50

    def propose(self) -> Point | None:
        return None

    def refuse(self, point: Point) -> None:
        pass

    def learn(self, point: Point, value: float | None) -> None:
        pass


class Grid(Random):
    """All, in order, unless too many in turn are not allowed."""

    def __init__(self, history: History) -> None:
        self._points: Iterator[Point] = history.space.points()
        self._history = history

    def propose(self) -> Point | None:
        points = islice(self._points, MOST_LOOKED_AT)
        return next((point for point in points if self._history.is_new(point)), None)


class Genetic(Random):
    """The best points are the population, without generations: each child of two of them is tried at once.

    The parents are the best of a few that are drawn; the child has each value from either of them, and some values
    change: to a neighbour where the parameter is ordered, else to any other."""

    POPULATION, TOURNAMENT, STEP = 20, 3, 0.6

    def __init__(self, history: History) -> None:
        self._history = history
        self._names = history.space.names
        self._counts = [len(parameter.values) for parameter in history.space.parameters.values()]
        self._ordered = [parameter.ordered for parameter in history.space.parameters.values()]
        self._varying = [at for at, count in enumerate(self._counts) if count > 1]

    def propose(self) -> Point | None:
        population = self._history.ranked()[:self.POPULATION]
        if len(self._history.values) < self.POPULATION or len(population) < 2 or not self._varying:
            return None
        random = self._history.random
        mother, father = (population[min(random.randrange(len(population)) for _ in range(self.TOURNAMENT))]
                          for _ in range(2))
        child = [random.choice(pair) for pair in zip(mother.indices, father.indices)]
        for at, place in enumerate(child):
            if place < 0:  # not active in that parent; it may be in the child
                child[at] = max(mother.indices[at], father.indices[at], random.randrange(self._counts[at]))
        changes = 1.0 / len(self._varying)
        changed = [at for at in self._varying if random.random() < changes]
        while not changed and self._history.space.at(child) in (mother, father):
            changed = [random.choice(self._varying)]
        for at in changed:
            child[at] = self._changed(at, child[at])
        return self._history.space.at(child)

    def _changed(self, at: int, place: int) -> int:
        random, count = self._history.random, self._counts[at]
        if self._ordered[at] and random.random() < self.STEP:
            near = [other for other in (place - 1, place + 1) if 0 <= other < count]
            return random.choice(near)
        return (place + random.randrange(1, count)) % count


def chosen(kind: str, space: Space, budget: float) -> str:
    """What "auto" stands for."""
    if kind not in KINDS:
        raise ValueError(f"a sampler is one of {', '.join(KINDS)}, not '{kind}'")
    if kind == "auto" and space.size() <= MOST_LISTED and space.allowed_size() <= budget < math.inf:
        return "grid"
    if kind == "auto":
        return "genetic" if LONG < budget < math.inf or not importlib.util.find_spec("optuna") else "tpe"
    return kind


def made(kind: str, history: History, budget: float) -> Strategy:
    if kind == "grid":
        return Grid(history)
    if kind == "genetic":
        return Genetic(history)
    if kind == "random":
        return Random()
    return Tpe(history)
