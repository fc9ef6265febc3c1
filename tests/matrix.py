# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modes in which programs are replayed: settings of dimensions, {dimension: [setting, …]}. By default those of a
covering array, in which each pair of settings occurs that may have to do with each other; $MNEME_MATRIX=full is all."""

import collections
import itertools
import os


def everything(dimensions):
    mode = collections.namedtuple("Mode", dimensions)
    return [mode(*choice) for choice in itertools.product(*dimensions.values())]


def pairs(mode, unrelated=()):
    return {pair for pair in itertools.combinations(mode._asdict().items(), 2)
            if (pair[0][0], pair[1][0]) not in unrelated}


def covering_array(dimensions, unrelated=()):
    """Greedy, and the same every time. Unrelated: pairs of dimensions that have nothing to do with each other."""
    modes, chosen = everything(dimensions), []
    open_pairs = set().union(*(pairs(mode, unrelated) for mode in modes))
    while open_pairs:
        best = max(modes, key=lambda mode: len(pairs(mode, unrelated) & open_pairs))
        chosen.append(best)
        open_pairs -= pairs(best, unrelated)
    return chosen


def modes(dimensions, unrelated=()):
    is_full = os.environ.get("MNEME_MATRIX") == "full"
    return everything(dimensions) if is_full else covering_array(dimensions, unrelated)
