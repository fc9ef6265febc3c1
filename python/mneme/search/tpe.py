# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optuna's tree-structured Parzen estimator as a strategy."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from .sampler import History
from .space import INACTIVE, Parameter, Point


class Tpe:
    """Multivariate, grouped where parameters have conditions, and aware of points that are open.

    Optuna sees places in the lists of values: numbers of ordered parameters, categories of the others."""

    STARTUP = 10

    def __init__(self, history: History) -> None:
        optuna: Any = importlib.import_module("optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._history, self._space = history, history.space
        self._varying = [at for at, p in enumerate(self._space.parameters.values()) if len(p.values) > 1]
        conditional = any(parameter.when for parameter in self._space.parameters.values())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is experimental
            sampler = optuna.samplers.TPESampler(
                seed=history.random.randrange(1 << 31), multivariate=True, group=conditional, constant_liar=True,
                n_startup_trials=self.STARTUP, warn_independent_sampling=False)
        self._study = optuna.create_study(sampler=sampler)
        self._asked: dict[Point, Any] = {}

    def _distribution(self, parameter: Parameter) -> Any:
        last = len(parameter.values) - 1
        if parameter.ordered:
            return self._optuna.distributions.IntDistribution(0, last)
        return self._optuna.distributions.CategoricalDistribution(list(range(last + 1)))

    def propose(self) -> Point | None:
        if len(self._history.values) < self.STARTUP or not self._varying:
            return None
        trial = self._study.ask()
        indices: list[int] = []
        for at, (name, parameter) in enumerate(self._space.parameters.items()):
            if not self._space.is_active(at, indices):
                indices.append(INACTIVE)
            elif len(parameter.values) == 1:
                indices.append(0)
            elif parameter.ordered:
                indices.append(trial.suggest_int(name, 0, len(parameter.values) - 1))
            else:
                indices.append(trial.suggest_categorical(name, list(range(len(parameter.values)))))
        point = self._space.at(indices)
        self._last = trial
        self._asked.setdefault(point, trial)
        return point

    def refuse(self, point: Point) -> None:
        self._study.tell(self._last, state=self._optuna.trial.TrialState.FAIL)
        if self._asked.get(point) is self._last:  # else it is open
            del self._asked[point]

    def learn(self, point: Point, value: float | None) -> None:
        states = self._optuna.trial.TrialState
        trial = self._asked.pop(point, None)
        if trial is not None:
            # What is pruned counts as worse than all values.
            if value is None:
                self._study.tell(trial, state=states.PRUNED)
            else:
                self._study.tell(trial, value)
            return
        names = [self._space.names[at] for at in self._varying if point.indices[at] != INACTIVE]
        places = dict(zip(self._space.names, point.indices))
        self._study.add_trial(self._optuna.trial.create_trial(
            state=states.PRUNED if value is None else states.COMPLETE, value=value,
            params={name: places[name] for name in names},
            distributions={name: self._distribution(self._space.parameters[name]) for name in names}))
