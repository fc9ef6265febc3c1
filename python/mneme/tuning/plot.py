# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials, drawn by gnuplot."""

import math
import pathlib
import shutil
import subprocess
from collections.abc import Sequence

from ..errors import MnemeError
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
