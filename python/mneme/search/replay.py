# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replays searches on spaces whose every point was measured: how much of the optimum is found after how many trials.

    python3 -m mneme.search.replay [--seeds N] [--kinds KIND,…] FILE…
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

from .caches import Measured, read
from .sampler import Sampler

AFTER = 50, 100, 200


def best_so_far(measured: Measured, kind: str, seed: int, trials: int) -> list[float]:
    """The optimum by the best value that was found, after each trial: 0 as long as all fail, at most 1."""
    optimum = measured.best()
    sampler = Sampler(measured.space, kind, seed=seed, budget=trials)
    found: list[float] = []
    while len(found) < trials and (point := sampler.ask()):
        sampler.tell(point, measured.values[point])
        found.append(optimum / sampler.best[1] if sampler.best else 0.0)
    return found + [found[-1]] * (trials - len(found))


def fractions(measured: Measured, kind: str, seeds: Sequence[int], after: Sequence[int] = AFTER) -> list[float]:
    """Means over the seeds, after so many trials."""
    if kind == "perfect":
        return [1.0] * len(after)
    curves = [best_so_far(measured, kind, seed, max(after)) for seed in seeds]
    return [statistics.mean(curve[trials - 1] for curve in curves) for trials in after]


def described(measured: Measured) -> str:
    times = sorted(value for value in measured.values.values() if value is not None)
    return (f"{measured.name}: {measured.space.size()} points, {len(measured.values)} allowed, "
            f"{len(measured.values) - len(times)} of them fail; median / best {statistics.median(times) / times[0]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="mneme.search.replay", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--kinds", default="tpe,genetic,random")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    spaces = [read(file) for file in options.files]
    kinds = options.kinds.split(",")
    totals: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
    for measured in spaces:
        print(described(measured))
        for kind in kinds:
            row = fractions(measured, kind, range(options.seeds))
            totals[kind].append(row)
            print(f"  {kind:<10} " + " ".join(f"{value:.3f}" for value in row), flush=True)
    print(f"mean of {len(spaces)} spaces, {options.seeds} seeds, after {', '.join(map(str, AFTER))} trials")
    for kind, rows in totals.items():
        print(f"  {kind:<10} " + " ".join(f"{statistics.mean(column):.3f}" for column in zip(*rows)))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
