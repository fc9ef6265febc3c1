# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which point of a space is tried next.

    sampler = Sampler(space, "auto", seed=1, budget=100)
    while (point := sampler.ask()) is not None:
        sampler.tell(point, time_of(space.configuration(point.parameters)))     # None: it failed

A strategy proposes points; Sampler passes on those that are new. It keeps back points that are not allowed, that are
known or open, and that have the same configuration as one that is; the strategy learns the time of these for free.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol

from .space import Parameters, Point, Space, SpaceError, key_of

KINDS = "auto", "tpe", "genetic", "random", "grid"

MOST_DRAWS = 2_000       # random points of a large space in turn that are not new; then they are looked for in order
MOST_LOOKED_AT = 50_000  # in order
MOST_WARM = 10           # points of an earlier study that are tried first


class History(Protocol):
    """What a strategy sees of its sampler."""

    space: Space
    values: dict[Point, float | None]  # of all points that are known; nothing where a trial failed
    random: random.Random

    def is_new(self, point: Point) -> bool: ...

    def ranked(self) -> list[Point]: ...

    def opened(self) -> list[Point]: ...


class Strategy(Protocol):
    PROPOSALS: int  # in turn that are not new; then a random point takes their place

    def propose(self) -> Point | None:
        """A point, new or not; nothing where any will do."""

    def refuse(self, point: Point) -> None:
        """What it proposed is not tried, and its time is not known."""

    def learn(self, point: Point, value: float | None) -> None:
        """The time of a point, which it need not have proposed; nothing where the trial failed."""


class Sampler:
    """Chooses points, none twice. The same seed and the same answers give the same points.

    `budget` is the number of trials that are planned, for the choice of "auto" only. With `patience`, ask() returns
    None once so many trials in turn have found nothing better."""

    def __init__(self, space: Space, kind: str = "auto", *, seed: int | None = None, budget: float = math.inf,
                 patience: int | None = None) -> None:
        from .strategies import chosen, made
        self.space, self.patience = space, patience
        self.random = random.Random(seed)
        self.kind = chosen(kind, space, budget)
        self.values: dict[Point, float | None] = {}
        self.trials = 0  # that were told; neither those for free nor those that were observed
        self.best: tuple[Point, float] | None = None
        self.ended: str | None = None  # why ask() has returned None
        self._since_best = 0
        self._open: dict[Point, str] = {}  # with the keys of their configurations
        self._by_configuration: dict[str, Point] = {}
        self._waiting: list[Point] = []
        self._rest: Iterator[Point] | None = None
        self._ranked: list[Point] | None = None
        self._strategy: Strategy = made(self.kind, self, budget)

    # ---- ask and tell ----

    def ask(self) -> Point | None:
        """The next point. It is open until tell() or release(). Returns None when no new point is left, or when the
        patience is exhausted; `ended` has the reason."""
        if self.patience is not None and self._since_best >= self.patience:
            self.ended = f"the last {self.patience} trials have found nothing better"
            return None
        point = self._next()
        self.ended = None if point else "all that the search space allows is done"
        if point:
            self._open[point] = self._configuration(point)
        return point

    def tell(self, point: Point, value: float | None = None, *, same_as: Point | None = None) -> None:
        """The value of an open point, the less the better, or None if the trial failed. `same_as` is a point that is
        known and comes to the same code: its value is this one's, and the trial is not counted."""
        if same_as is not None:
            if same_as not in self.values:
                raise ValueError(f"{same_as.parameters} is not known")
            self._learn(point, self.values[same_as])
            return
        self.trials += 1
        if self._learn(point, value):
            self._since_best = 0
        else:
            self._since_best += 1

    def observe(self, parameters: Parameters, value: float | None) -> None:
        """The value of a trial that was made elsewhere: by another process, in an earlier run, or of the baseline. It
        is not counted. Parameters that are not of this space are passed over."""
        if self.space.has(parameters):
            self._learn(self.space.point(parameters), value)

    def reserve(self, parameters: Parameters) -> None:
        """A trial of these is being made elsewhere: they are not asked here."""
        if self.space.has(parameters):
            point = self.space.point(parameters)
            if point not in self.values:
                self._open[point] = self._configuration(point)

    def release(self, point: Point) -> None:
        """An open point gets no value, as its worker has died: it is asked again, the next time."""
        if self._open.pop(point, None) is not None:
            self._waiting.insert(0, point)

    def warm_start(self, trials: Iterable[tuple[Parameters, float | None]]) -> int:
        """Tries the best points of an earlier study first: of another launch, kernel or device, whose values are not
        comparable. How many those are."""
        valued = [(value, place, parameters) for place, (parameters, value) in enumerate(trials) if value is not None]
        chosen: list[Point] = []
        for _, _, parameters in sorted(valued, key=lambda trial: trial[:2]):
            if len(chosen) < MOST_WARM and self.space.has(parameters):
                point = self.space.point(parameters)
                if point not in chosen and self.is_new(point):
                    chosen.append(point)
        self._waiting += chosen
        return len(chosen)

    # ---- what strategies see ----

    def is_new(self, point: Point) -> bool:
        """Whether it is allowed, and neither known nor open, nor is one with the same configuration."""
        if point in self.values or point in self._open or self.space.refusal(point.parameters):
            return False
        configuration = self._configuration(point)
        return configuration not in self._by_configuration and configuration not in self._open.values()

    def ranked(self) -> list[Point]:
        """Points with a value, the best first."""
        if self._ranked is None:
            valued = [(value, point.indices, point) for point, value in self.values.items() if value is not None]
            self._ranked = [point for _, _, point in sorted(valued, key=lambda one: one[:2])]
        return self._ranked

    def opened(self) -> list[Point]:
        return list(self._open)

    # ---- how it works ----

    def _configuration(self, point: Point) -> str:
        return key_of(self.space.configuration(point.parameters))

    def _learn(self, point: Point, value: float | None) -> bool:
        """Whether it is the best so far."""
        if value is not None and not math.isfinite(value):
            value = None
        configuration = self._open.pop(point, None) or self._configuration(point)
        self.values[point] = value
        self._ranked = None
        self._by_configuration.setdefault(configuration, point)
        self._strategy.learn(point, value)
        if value is None or (self.best and value >= self.best[1]):
            return False
        self.best = point, value
        return True

    def _next(self) -> Point | None:
        while self._waiting:
            point = self._waiting.pop(0)
            if self.is_new(point):
                return point
        for _ in range(self._strategy.PROPOSALS):
            proposed = self._strategy.propose()
            if proposed is None:
                break
            if self.is_new(proposed):
                return proposed
            self._take_for_free(proposed)
        return self._any()

    def _take_for_free(self, point: Point) -> None:
        """A proposal that is not new: where its configuration is known, the strategy learns the value again."""
        if point not in self.values and not self.space.refusal(point.parameters):
            twin = self._by_configuration.get(self._configuration(point))
            if twin is not None and point not in self._open:
                self._learn(point, self.values[twin])
                return
        self._strategy.refuse(point)

    def _any(self) -> Point | None:
        """A random new point; nothing where there is none."""
        if self._rest is None:
            listed = self.space.listed()
            if listed is not None:
                self._rest = iter(self.random.sample(listed, len(listed)))
        if self._rest is not None:
            return next((point for point in self._rest if self.is_new(point)), None)
        for _ in range(MOST_DRAWS):
            point = self.space.random_point(self.random)
            if self.is_new(point):
                return point
        refusal = None
        for point in islice(self.space.points(), MOST_LOOKED_AT):
            if self.is_new(point):
                return point
            refusal = self.space.refusal(point.parameters) or refusal
        if refusal and not self.values and not self._open:
            raise SpaceError(f"{MOST_LOOKED_AT} combinations were not allowed: {refusal}")
        return None
