# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A multivariate tree-structured Parzen estimator over the points of a space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from .sampler import History
from .space import INACTIVE, Point

# Of each parameter: the weight of each place under the kernel around each place.
Tables = list[dict[int, dict[int, float]]]


class Tpe:
    """Each known point is a kernel over points, a product over the parameters; the good ones sum to one density, the
    others and those that are open to another. Of some new points drawn from the good ones' density, that with the
    greatest ratio of the two is proposed.

        known points by time      | good: 1/10 |  others           | failed | open |
        density                   |     l      |             g                     |

    Parameters with conditions need nothing more: that a parameter is not active is a value like others."""

    STARTUP, CANDIDATES, MOST_DRAWS, MOST_GOOD, MOST_OTHERS = 10, 24, 240, 25, 400
    GOOD = 0.2
    NEAR = 0.5      # weight of a neighbouring place of an ordered parameter, beside 1 for the place itself

    def __init__(self, history: History) -> None:
        self._history, self._space = history, history.space
        self._counts = [len(parameter.values) for parameter in self._space.parameters.values()]
        self._ordered = [parameter.ordered for parameter in self._space.parameters.values()]
        self._varying = [at for at, count in enumerate(self._counts) if count > 1]

    def propose(self) -> Point | None:
        known = self._history.values
        if len(known) < self.STARTUP or not self._varying:
            return None
        ranked = self._history.ranked()
        if len(ranked) < 2:
            return None
        n_good = min(math.ceil(self.GOOD * len(known)), self.MOST_GOOD, len(ranked))
        good = [point.indices for point in ranked[:n_good]]
        rest = [point.indices for point in ranked[n_good:]] + [point.indices for point, v in known.items() if v is None]
        rest += [point.indices for point in self._history.opened()]
        if len(rest) > self.MOST_OTHERS:  # so that a proposal does not take the longer the longer the search is
            rest = self._history.random.sample(rest, self.MOST_OTHERS)
        tables_good, tables_rest = self._tables(len(good)), self._tables(max(len(rest), 1))
        best: tuple[float, Point] | None = None
        for candidate in islice(self._candidates(good, tables_good), self.CANDIDATES):
            ratio = self._density(candidate, good, tables_good) - self._density(candidate, rest, tables_rest)
            if best is None or ratio > best[0]:
                best = ratio, candidate
        return best[1] if best else None

    def refuse(self, point: Point) -> None:
        pass

    def learn(self, point: Point, value: float | None) -> None:
        pass

    def _tables(self, kernels: int) -> Tables:
        """The fewer kernels, the wider each."""
        tables = []
        floor = 1.0 / kernels
        for count, ordered in zip(self._counts, self._ordered):
            table = {}
            for center in range(INACTIVE, count):
                row = {}
                for place in range(INACTIVE, count):
                    near = INACTIVE not in (center, place) and ordered
                    row[place] = floor + ((self.NEAR ** abs(place - center)) if near else float(place == center))
                total = sum(row.values())
                table[center] = {place: weight / total for place, weight in row.items()}
            tables.append(table)
        return tables

    def _candidates(self, good: list[tuple[int, ...]], tables: Tables) -> Iterator[Point]:
        """New points, drawn around good ones."""
        random = self._history.random
        seen: set[tuple[int, ...]] = set()
        for _ in range(self.MOST_DRAWS):
            draw = random.randrange(len(good) + 1)
            if draw == len(good):  # the prior
                point = self._space.random_point(random)
            else:
                indices = []
                for at, center in enumerate(good[draw]):
                    row = tables[at][center]
                    indices.append(random.choices(list(row), list(row.values()))[0])
                point = self._space.at(indices)
            if point.indices not in seen and self._history.is_new(point):
                yield point
            seen.add(point.indices)

    def _density(self, point: Point, kernels: list[tuple[int, ...]], tables: Tables) -> float:
        """Its logarithm."""
        rows = [(at, tables[at], point.indices[at]) for at in self._varying]
        total = math.prod(1.0 / self._counts[at] for at in self._varying)  # the prior
        for kernel in kernels:
            product = 1.0
            for at, table, place in rows:
                product *= table[kernel[at]][place]
            total += product
        return math.log(total / (len(kernels) + 1))
