# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials for other programs: the auto-tuning community's T4 results, and a study of Optuna's."""

import importlib
import json
import warnings
from collections.abc import Sequence
from typing import Any

from ..search import Space
from ..search.caches import t4, t4_result
from .study import Trial

UNITS = {"code_bytes": "bytes", "registers": "", "stack_bytes": "bytes", "spill_store_bytes": "bytes",
         "spill_load_bytes": "bytes", "shared_bytes": "bytes", "occupancy": "waves"}


def _invalidity(trial: Trial) -> str:
    """Why it has no time, in T4's words."""
    if trial.status != "failed":
        return "correctness"
    if "(--timeout)" in trial.reason:
        return "timeout"
    return "compile" if trial.reason.startswith("it was not compiled") else "runtime"


def t4_results(trials: Sequence[Trial]) -> dict[str, Any]:
    """All but the baseline, which is no point of the space."""
    results = []
    for trial in trials:
        if trial.baseline:
            continue
        numbers = {"code_bytes": trial.code_bytes or 0, **trial.resources}
        others = {name: (float(number), UNITS[name]) for name, number in numbers.items()}
        results.append(t4_result(trial.parameters, trial.median_ns / 1e6 if trial.median_ns else None, _invalidity(trial), others))
    return t4(results)


def choice(value: Any) -> Any:
    """A value as Optuna keeps it."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else json.dumps(value)


def optuna_study(space: Space, trials: Sequence[Trial]) -> Any:
    """The verified trials as a study, by their times in microseconds. ModuleNotFoundError without Optuna."""
    optuna: Any = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study()
    categories = {name: optuna.distributions.CategoricalDistribution([choice(value) for value in parameter.values])
                  for name, parameter in space.parameters.items()}
    study.add_trials([
        optuna.trial.create_trial(value=trial.median_ns / 1000,
                                  params={name: choice(value) for name, value in trial.parameters.items()},
                                  distributions={name: categories[name] for name in trial.parameters})
        for trial in trials if trial.median_ns and not trial.baseline and space.has(trial.parameters)])
    return study
