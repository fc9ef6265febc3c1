# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a recording to a bug report."""

import json
import os
import pathlib
import shlex
import subprocess
from argparse import Namespace
from dataclasses import asdict, replace

from ..bundle import Bundle, Instance
from ..edits import edit
from ..errors import MnemeError
from ..pipe import variables
from ..selection import select_one
from ..tools import tool
from .case import NOT_COMPILED, Case, accept, results_of, symptom_of
from .interesting import BEST, CASE, RECORDED
from .ir import assemble, lines_of, llvm_tool, reduce_ir
from .launch import LaunchReducer


def say(text: str) -> None:
    print(text, flush=True)


def bytes_of(instance: Instance) -> int:
    return sum(segment.size for segment in instance.segments)


def case_of(options: Namespace) -> Case:
    """The fault on the launch with the least memory that shows it."""
    with Bundle.open(options.bundle) as bundle:
        selection = select_one(bundle, kernel=options.kernel, instance=options.instance, target=options.target)
        if not selection.has_ir:
            raise MnemeError(f"kernel '{selection.name}' has no IR that could be reduced")
        good = options.good if options.good is not None else {**options.bad, "opt_bisect": 0}
        case = Case(os.path.abspath(options.bundle), selection.expression, "", good, options.bad, options.target, options.device,
                    options.flags, options.slower, options.rounds, options.timeout,
                    on_host=(options.target or bundle.device).startswith("host"))
        for instance in sorted(selection.instances, key=bytes_of):
            if symptom := symptom_of(case, case.bundle, None, instance.id):
                say(f"launch {instance.id[:12]}: the bad configuration {symptom}")
                return watched(replace(case, instance=instance.id, symptom=symptom))
            say(f"launch {instance.id[:12]}: nothing to be seen")
    raise MnemeError("no launch shows it: the bad configuration does as the good one; or the good one fails, changes no memory, or "
                     "leaves other memory than code without optimisation", 1)


def watched(case: Case) -> Case:
    """That takes no IR with races for evidence, where what was recorded has none."""
    checked = replace(case, is_watched=True)
    if symptom_of(checked, case.bundle, None, case.instance) == case.symptom:
        return checked
    say("the recorded kernel has races, or cannot be checked for them (mneme-run --check races): those of reduced IR are not "
        "looked for")
    return case


def check_folder(folder: pathlib.Path, case: Case) -> None:
    """An earlier run's folder is of this fault."""
    path = folder / CASE
    if path.exists() and asdict(Case.load(path)) != json.loads(json.dumps(asdict(case))):
        raise MnemeError(f"'{folder}' has another fault's reduction: give another folder with -o")


def finish(case: Case, edited: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The bundle in which the good configuration's result is expected."""
    made, runs = folder / "reduced.tar", folder / "runs.partial"
    try:
        [good] = results_of(case, edited, [case.good], runs, None, "")
        accept(case, runs, good.variant, made)
    finally:
        runs.unlink(missing_ok=True)
    if symptom_of(case, made) != case.symptom:
        raise MnemeError(f"'{made}' does not show it, although each step did: it may be a matter of chance", 1)
    return made


def version_of(command: list[str]) -> str:
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().splitlines()
    return next((line.strip() for line in shown if "version" in line or line.startswith("mneme")), "")


def write_report(case: Case, made: pathlib.Path, folder: pathlib.Path) -> None:
    """report.md and show.sh."""
    ir = (folder / BEST).read_text()
    settings = replace(case, flags={name: words for name, words in case.flags.items() if words}).settings(made.name)
    shown = settings.shell([case.good, case.bad], run=["--rounds", str(case.rounds)] if case.slower else [],
                           verify=["--reference", "first"] if case.slower else [])
    shown = shown.replace(shlex.quote(os.path.abspath(made.name)), made.name)
    for name in ("compile", "run", "verify"):
        shown = shown.replace(tool(name), f"mneme-{name}")
    path = f"{os.path.dirname(tool('run'))}:{os.environ.get('PATH', '')}"
    said = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, check=False, cwd=folder,
                          env={**settings.environment(), "PATH": path})
    with Bundle.open(made) as bundle:
        [kernel], [instance] = bundle.kernels, bundle.instances
    (folder / "report.md").write_text(f"""\
# Kernel `{kernel.name}` {case.symptom} with `{json.dumps(dict(case.bad))}`

The good configuration is `{json.dumps(dict(case.good))}`.

| | |
|---|---|
| symptom | the bad configuration {case.symptom} |
| built for | {kernel.target} |
| launch | {instance.grid} blocks of {instance.block} threads, {bytes_of(instance)} bytes of memory |
| bundle | {made.name}, {made.stat().st_size} bytes |
| tools | {version_of([tool('run'), '--version'])}; {version_of([llvm_tool('opt'), '--version'])} |

## To see it

`{made.name}` has the kernel's IR, the memory that it reads, and the memory that the good configuration leaves.

```sh
{shown}
```

```
{(said.stdout + said.stderr).strip()}
```

The IR: `mneme-extract-ir -S {made.name}`. The pass: `mneme-bisect --good {shlex.quote(json.dumps(dict(case.good)))} \
--bad {shlex.quote(json.dumps(dict(case.bad)))} {made.name}`.

## IR

```llvm
{ir.strip()}
```
""")
    (folder / "show.sh").write_text(f"#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit 2\nunset {' '.join(variables())}\n"
                                    f"PATH=$PATH:{shlex.quote(os.path.dirname(tool('run')))}\n{shown}\n")


def reduce(options: Namespace) -> int:
    """All that mneme-reduce does; its exit status."""
    llvm_tool("llvm-reduce")
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    case = case_of(options)
    check_folder(folder, case)
    best = folder / BEST
    if best.exists():
        say(f"the IR goes on from '{best}'")
    reduce_ir(case, folder, options.jobs, options.time)
    say(f"IR: {lines_of(best)} of {lines_of(folder / RECORDED)} lines")
    bitcode, base, edited = (folder / name for name in ("reduced.bc", "base.partial", "edited.partial"))
    try:
        assemble(best, bitcode)
        edit(case.bundle, {"ir": str(bitcode.absolute())}, case.settings(case.bundle).selection(case.instance), base)
        if symptom_of(case, base) != case.symptom and case.symptom != NOT_COMPILED:
            raise MnemeError("a bundle with the reduced IR does not show it: it may be a matter of chance", 1)
        reducer = LaunchReducer(case, base, best, say)
        reducer.write(reducer.run(), edited)
        made = finish(case, edited, folder)
    finally:
        for path in (bitcode, base, edited):
            path.unlink(missing_ok=True)
    write_report(case, made, folder)
    say(f"{made}: {made.stat().st_size} bytes, of {os.stat(case.bundle).st_size}")
    say(f"report: {folder / 'report.md'}; to see it: sh {folder / 'show.sh'}")
    return 0
