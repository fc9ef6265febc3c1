# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials, drawn: over time by gnuplot; by their parameters by Optuna and plotly."""

import html
import importlib
import math
import pathlib
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import MnemeError
from ..search import Space
from .export import optuna_study
from .study import Trial

PLOT = """
set style fill solid
set xlabel "trial"
set ylabel "time in us"
set logscale y
set key top right
plot $trials using 1:2 with points pointtype 7 pointsize 0.5 linecolor "#6baed6" title "verified", \\
     $trials using 1:3 with steps linewidth 2 linecolor "#08519c" title "best so far", \\
     {baseline} with lines dashtype 2 linecolor "black" title "baseline"
"""


def plot(folder: pathlib.Path, trials: Sequence[Trial]) -> None:
    """trials.svg and trials.png, if a trial is verified."""
    times = [(trial.trial, trial.median_ns) for trial in trials if trial.median_ns]
    if not times:
        return
    if not shutil.which("gnuplot"):
        raise MnemeError("plots are drawn by gnuplot, which is not installed", 3)
    best, lines = math.inf, []
    for number, nanoseconds in times:
        best = min(best, nanoseconds)
        lines.append(f"{number} {nanoseconds / 1000} {best / 1000}")
    data = "$trials << EOD\n" + "\n".join(lines) + "\nEOD\n"
    for kind, terminal in (("svg", "svg size 800,450 noenhanced background 'white'"), ("png", "pngcairo size 800,450 noenhanced")):
        quoted = f"{folder}/trials.{kind}".replace("'", "''")
        text = f"set terminal {terminal}\nset output '{quoted}'\n{data}{PLOT.format(baseline=times[0][1] / 1000)}"
        drawn = subprocess.run(["gnuplot"], input=text, text=True, capture_output=True, check=False)
        if drawn.returncode:
            raise MnemeError(f"gnuplot cannot draw '{folder}/trials.{kind}': {drawn.stderr.strip()}")


NEEDED = "a page of parameters needs Debian's python3-optuna, python3-plotly and python3-sklearn for this Python"
FEWEST = 4  # trials with a time, below which importances are not estimated


def page(path: pathlib.Path, name: str, space: Space, trials: Sequence[Trial]) -> str:
    """Importances of the parameters and parallel coordinates, by Optuna's own functions, as one file of HTML that needs no
    network. Returns why there is none; else an empty text."""
    try:
        study = optuna_study(space, trials)
        visualization: Any = importlib.import_module("optuna.visualization")
        importlib.import_module("plotly")
        importlib.import_module("sklearn")
    except ModuleNotFoundError as error:
        return f"there is no '{path}': {NEEDED} (there is no {error.name})"
    varying = {name for name in space.parameters if len({str(trial.params.get(name)) for trial in study.trials}) > 1}
    if len(study.trials) < FEWEST or not varying:
        return f"there is no '{path}': it needs {FEWEST} trials with a time, and a parameter that varies among them"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = [visualization.plot_param_importances(study, target_name="time"),
                   visualization.plot_parallel_coordinate(study, target_name="time in us")]
    shown = "".join(figure.to_html(full_html=False, include_plotlyjs=not place) for place, figure in enumerate(figures))
    title = html.escape(name)
    path.write_text(f"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title></head>\n"
                    f"<body><h1>{title}</h1>\n{shown}</body></html>\n")
    return ""
