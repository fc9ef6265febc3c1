#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs whose lanes exchange values in step, on the host device, against an interpreter that is in step.

  lock_step.py [--seed S] [--kernels N] [--seconds T]   programs S, S + 1, …: N of them, or as many as fit the time
  lock_step.py --seed S --kernels 1 --target NAME --level L   program S as a failure names it
  lock_step.py --self                                   whether this tells right from wrong

Each program is run in both forms, is recorded, and is replayed in both forms at all levels; with --modes M, each file of
programs in M of these modes, chosen by the seed. Targets and levels take turns. $MNEME_BUILD is the build folder. On a
difference the program is reduced and printed with the command that shows it again, and the exit status is 1. --keep
leaves the applications.
"""

import argparse
import collections
import pathlib
import random
import shutil
import sys
import tempfile
import time

import lock_step_programs
import lock_step_source
import lock_step_trial
from lock_step_interpreter import OUTPUTS, Interpreter, Undefined
from lock_step_reduce import Reducer
from lock_step_tree import Barrier
from lock_step_trial import BUILT_AT, FORMS, LEVELS, RUN, TARGETS, Trial

BATCH = 25      # programs in one application
FEW = 10        # the same where time is short, so that all targets have their turn
REDUCING = 120  # seconds that making a program small may take
NAMED = 20      # failures at most that are named one by one


def targets(options):
    asked = [target for dialect in TARGETS.values() for target in dialect if target.name == options.target]
    cuda = TARGETS["cuda"]
    if (options.dialect == "cuda" or asked == cuda) and not lock_step_trial.has_toolkit():
        raise SystemExit("lock_step: mneme-inject finds no CUDA toolkit")
    if asked or options.dialect:
        return asked or TARGETS[options.dialect]
    return TARGETS["hip"] + (cuda if lock_step_trial.has_toolkit() else [])


class Session:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.counts = collections.Counter()  # by flavour, form, level and verdict
        self.failed = []                     # program, target, level built at, modes
        self.programs = 0

    def run(self):
        start, number = time.monotonic(), 0
        chosen = targets(self.options)
        levels = [self.options.level] if self.options.level else BUILT_AT
        while self.goes_on(time.monotonic() - start):
            count = FEW if self.options.seconds else BATCH
            if self.options.kernels:
                count = min(count, self.options.kernels - self.programs)
            self.batch(self.options.seed + self.programs, count, chosen[number % len(chosen)],
                       levels[number // len(chosen) % len(levels)])
            number += 1
        print(f"{self.programs} programs: {len(self.failed)} go wrong ({time.monotonic() - start:.0f} s)")
        if self.failed:
            self.table()
            self.reduce()
        return 1 if self.failed else 0

    def goes_on(self, seconds):
        if self.options.kernels and self.programs >= self.options.kernels:
            return False
        return not self.options.seconds or seconds < self.options.seconds

    def batch(self, seed, count, target, level):
        flavours = [self.options.flavour] if self.options.flavour else lock_step_programs.FLAVOURS
        expected = [lock_step_programs.program(seed + i, target.wave, flavours) for i in range(count)]
        trial = Trial(self.folder / f"{seed}", expected, target, level)
        trial.build()
        modes = [(form, step) for form in FORMS for step in [RUN, *LEVELS]]
        if self.options.modes:
            modes = random.Random(seed).sample(modes, min(self.options.modes, len(modes)))
        verdicts, said = trial.verdicts(modes)
        for program, _ in expected:
            wrong = []
            for mode in modes:
                verdict = verdicts.get((program.name, *mode), False)
                self.counts[(program.flavour, *mode, verdict)] += 1
                if verdict is not True:
                    wrong.append((*mode, verdict))
            if wrong:
                self.name(program, target, level, wrong, len(modes))
                self.say(program.name, trial, said)
        self.programs += count
        if not self.options.keep:
            shutil.rmtree(trial.folder, ignore_errors=True)

    def name(self, program, target, level, wrong, modes):
        self.failed.append((program, target, level, wrong))
        if len(self.failed) <= NAMED:
            shape = "x".join(map(str, program.shape))
            where = "all modes" if len(wrong) == modes else ", ".join(f"{form} {step}" for form, step, _ in wrong)
            kinds = " and ".join(sorted({memory.kind for memory in program.memories}))
            print(f"FAILED: {program.name} ({program.flavour}, {kinds}, {target.name}, built at {level}, "
                  f"{program.blocks} blocks of {shape}): {where}\n"
                  f"  shown by --seed {program.seed} --kernels 1 --target {target.name} --level={level}", flush=True)

    def say(self, name, trial, said):
        """How an application differs, for failures that do not come again."""
        for form, lines in said.items():
            for wanted, got in zip(trial.expected[name], lines[name] or [["nothing"]]):
                differ = [i for i, (word, found) in enumerate(zip(wanted, got)) if word != found]
                if len(wanted) != len(got):
                    print(f"  {form}: said {' '.join(got)[-300:]}", flush=True)
                elif differ:
                    print(f"  {form}: {wanted[1]}: {len(differ)} of {len(wanted)} words differ, from {differ[0] - 2}: "
                          f"{got[differ[0]]}, not {wanted[differ[0]]}", flush=True)

    def table(self):
        """Programs that go wrong, of how many; with a plus, those of which that cannot be told."""
        print(f"{'':18}" + "".join(f"{step:>10}" for step in [RUN, *LEVELS]))
        for flavour in sorted({key[0] for key in self.counts}):
            for form in FORMS:
                cells = []
                for step in [RUN, *LEVELS]:
                    right, wrong, unknown = (self.counts[(flavour, form, step, verdict)]
                                             for verdict in (True, False, None))
                    cells.append(f"{wrong}{f'+{unknown}' if unknown else ''}/{right + wrong + unknown}")
                print(f"{flavour:10} {form:6} " + "".join(f"{cell:>10}" for cell in cells))

    def reduce(self):
        program, target, level, wrong = min(self.failed, key=lambda failed: len(lock_step_source.text([failed[0]])))
        mode = next(((form, step) for form, step, _ in wrong if step == RUN), wrong[0][:2])
        print(f"Making {program.name} small …", flush=True)
        found = Reducer(self.folder / "reduced", program, target, level, mode, REDUCING).run()
        if not found:
            print("It does not go wrong again.")
            return
        smallest, wanted, got = found
        shape = "x".join(map(str, smallest.shape))
        how = "as the application ran" if mode[1] == RUN else f"replayed at {mode[1]}"
        print(f"{smallest.flavour}, {target.name} (waves of {target.wave}), built at {level}, "
              f"{smallest.blocks} blocks of {shape}; form {mode[0]}, {how}:")
        print(lock_step_source.Source(smallest).kernel())
        self.differences(smallest, wanted, got)

    def differences(self, program, wanted, got):
        if got is None or len(got) != len(wanted):
            print(f"said: {' '.join(got[0]) if got else 'nothing'}")
            return
        lines = []
        for line, other in zip(wanted, got):
            for i, (word, found) in enumerate(zip(line[2:], other[2:])):
                if word == found:
                    continue
                where = f"byte {i} of global memory"
                if line[1] == "out":
                    thread, variable = divmod(i, OUTPUTS)
                    where = f"block {thread // program.threads}, thread {thread % program.threads}, v{variable}"
                lines.append(f"  {where}: {found}, not {word}")
        print("\n".join([*lines[:8], f"  {len(lines)} values differ"]))


def test_barriers(seed):
    """A load from another wave's memory without its barriers is refused: such a program has no one meaning."""
    for program, _ in (lock_step_programs.program(seed + i, 32) for i in range(200)):
        barriers = [node for node in program.body if isinstance(node, Barrier)]
        for barrier in barriers:
            program.body = lock_step_programs.without(program.body, barrier)
        try:
            Interpreter(program).run()
        except Undefined as undefined:
            print(f"without its barriers {program.name} is refused: {undefined}")
            return
    raise SystemExit("lock_step: no program without its barriers is refused")


def test_itself(options, folder):
    """With barriers, programs depend on no order of lanes; and what is wrong shows."""
    test_barriers(options.seed)
    for target in targets(options):
        expected = [lock_step_programs.program(options.seed + i, target.wave, barriers=True) for i in range(FEW)]
        trial = Trial(folder / target.name, expected, target, BUILT_AT[0])
        trial.build()
        verdicts, said = trial.verdicts([(form, step) for form in FORMS for step in (RUN, "O0", "O3")])
        for mode, verdict in verdicts.items():
            if verdict is not True:
                raise SystemExit(f"lock_step: {target.name}: {mode} is wrong, with all barriers there")
        mistaken = 0
        for program, _ in expected:
            lines = trial.lines(program, *Interpreter(program, in_step=False).run())
            mistaken += lines != said[FORMS[0]][program.name]
        print(f"{target.name}: {len(expected)} programs with barriers are right; an interpreter out of step differs in "
              f"{mistaken}")
        if not mistaken:
            raise SystemExit("lock_step: it has to differ in some")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--dialect", choices=sorted(TARGETS), help="this one only; else each that there is, in turn")
    parser.add_argument("--target", choices=[target.name for dialect in TARGETS.values() for target in dialect])
    parser.add_argument("--level", choices=BUILT_AT, help="that applications are built at: --level=-O3")
    parser.add_argument("--modes", type=int, default=0)
    parser.add_argument("--flavour", choices=sorted({*lock_step_programs.FLAVOURS}), help="programs of this one only")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--self", action="store_true")
    options = parser.parse_args()
    if not options.kernels and not options.seconds:
        options.kernels = 3 * BATCH
    print(f"seed {options.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mneme-stress-"))
    try:
        if options.self:
            return test_itself(options, folder)
        return Session(options, folder).run()
    finally:
        if options.keep:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
