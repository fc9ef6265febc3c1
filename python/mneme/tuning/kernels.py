# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The searches of all kernels that are selected, one after another."""

import functools
import math
import pathlib
import re
import shlex
from argparse import Namespace
from collections.abc import Callable, Sequence

from ..bundle import Bundle
from ..errors import MnemeError
from ..search import SpaceError
from ..selection import Selection, named, select
from ..tools import run_tool
from .search import Search, say
from .slurm import tune_by_slurm


def folders(output: str, selections: Sequence[Selection]) -> list[pathlib.Path]:
    """One kernel's results are in the folder, those of several in one each, by the function's name."""
    if len(selections) == 1:
        return [pathlib.Path(output)]
    names = [re.sub(r"[^A-Za-z0-9_.-]+", "_", re.sub(r"^void |[<(].*", "", selection.name)).strip("._")[:80] or "kernel"
             for selection in selections]
    return [pathlib.Path(output) / (name if names.count(name) == 1 else f"{name}-{selection.kernel.id[:8]}")
            for name, selection in zip(names, selections)]


def share_out(options: Namespace, searches: Sequence[Search]) -> None:
    """Divides the trials and the time among the kernels, by the time that the application spends in each."""
    times = [search.application_time() for search in searches]
    for search, spent in zip(searches, times):
        share = spent / sum(times)
        if search.trials < math.inf:
            search.trials = max(2, round(options.trials * share))
        search.time *= share
        budget = [f"{search.trials:.0f} trials"] if search.trials < math.inf else []
        budget += [f"{search.time:.1f} s"] if search.time < math.inf else []
        say(f"kernel '{search.name}' takes {100 * share:.0f} % of the kernels' time: {' or '.join(budget)}")


def tune(options: Namespace) -> int:
    """All that mneme-tune does; its exit status. A kernel that cannot be tuned does not keep the others from it."""
    found = select(Bundle.open(options.bundle), kernel=options.kernel, instance=options.instance, target=options.target)
    searches: list[Search] = []
    statuses = [0]

    def done(selection: Selection, step: Callable[[], object]) -> bool:
        try:
            step()
            return True
        except (MnemeError, SpaceError) as error:
            if len(found) == 1:
                raise
            say(f"error: kernel '{named([selection.name])}': {error}")
            statuses.append(getattr(error, "status", 2))
            return False

    for selection, folder in zip(found, folders(options.output, found)):
        done(selection, functools.partial(lambda *what: searches.append(Search(options, *what)), selection, folder))
    if options.print_space or options.dry_run:
        for search in searches:
            search.describe()
        return max(statuses)
    if options.engine == "slurm" and searches:
        return tune_by_slurm(options, searches)
    if options.share and len(searches) > 1:
        searches = [search for search in searches if done(search.selection, search.begin)]
        share_out(options, searches)
    searches = [search for search in searches if done(search.selection, search.run)]
    made = [path for search in searches if (path := search.folder / "tuned.tar").exists()]
    if len(found) > 1:
        whole = pathlib.Path(options.output) / "tuned.tar"
        whole.unlink(missing_ok=True)  # an earlier one
        if made:
            run_tool("restore", ["--tuned", "-o", whole, *made])
            print(f"to run the application with all of it: {shlex.join(['mneme-capture', '--apply', str(whole)])} APPLICATION")
    return max(statuses)
