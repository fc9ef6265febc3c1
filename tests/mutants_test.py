#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is what is wrong found out? mutants_test.py PROGRAM.hip; --summary to add up what the tests of all programs found; or
--list to name the mutants that were not caught, and why.

The kernels of a program are replayed from IR with one mistake each. Every such mutant must fail, byte for byte and
with the tolerance that mneme-verify infers. A mutant that only rounds differently must pass with the tolerance, where
the kernel's stores tell what it is. What does not go so must have its explanation. Most find theirs by themselves:

  same code      it compiles to the same code as the kernel
  not reached    a trap in place of the mutation is never come to in the recorded launches
  no difference  a trap for when the changed instruction gives another value than the right one is never come to
  outside        what it does otherwise it does outside of all memory, which --check-memory finds
  barrier        it lacks a barrier, and may run a block's threads in an order that needs none

The others are explained in mutants/survivors.txt, which must hold no explanation of what needs none.
"""

import collections
import dataclasses
import json
import pathlib
import random
import re
import sys
import unittest

import mutations
from mutant_runs import Kernels
from recordings import recording_of
from support import BUILD, PROGRAMS, ROOT, TestCase

MOST = 12  # mutants of a program
MOST_OF = {"shuffle_forms": 5, "rocprim_block": 4, "rocprim_reduce_select": 4, "rocprim_scan_sort": 4,
           "wave_divergence": 6, "wave_operations": 8, "wave_shuffles": 8, "lock_step": 8,
           "half_pairs": 8,  # those above take long to compile
           "clock_rates": 0}  # what it does depends on the time
RARE = ["reassociated", "fused", "last bit"]  # kinds that few kernels offer a place for come first
# Of these each program has one, where it offers a place and has mutants enough.
NAMED = ["swapped", "reassociated", "fast flags", "comparison", "dropped store", "index"]
PATIENCE, LAST_PATIENCE = 1, 30  # seconds that a run may take, and that one may which should not have taken longer
JUDGES = {"bytes": [], "tolerance": ["--infer"]}
FOUND = BUILD / "tests" / "mutants"
SURVIVORS = ROOT / "tests" / "mutants" / "survivors.txt"


@dataclasses.dataclass(eq=False)
class Mutant:
    program: str
    kernel: str  # its hash
    name: str
    mutation: mutations.Mutation

    def key(self, judge):
        return self.program, self.name, str(self.mutation), judge

    @property
    def slight(self):
        return self.mutation.kind in mutations.SLIGHT


def chosen(kernels, program):
    """Of each kernel one mutant of each kind, then of each kind another: as many as are allowed."""
    queues = []
    for kernel, lines in kernels.lines.items():
        name = kernels.info[kernel]["demangled"]
        found = mutations.mutations(lines, f"{program} {name}")
        kinds = sorted(found)
        random.Random(f"{program} {name}").shuffle(kinds)  # or programs of many kernels would have the same few kinds
        kinds.sort(key=lambda kind: kind not in RARE)
        queues.append([Mutant(program, kernel, name, found[kind][i]) for i in range(2) for kind in kinds
                       if i < len(found[kind])])
    turns = [queue[i] for i in range(max(map(len, queues), default=0)) for queue in queues if i < len(queue)]
    most = MOST_OF.get(program, MOST)
    return with_named(turns[:most], turns[most:])


def with_named(mutants, others):
    """As many, with one of each of the NAMED kinds that `others` has and `mutants` lacks."""
    for kind in NAMED:
        counts = collections.Counter(m.mutation.kind for m in mutants)
        missing = next((m for m in others if m.mutation.kind == kind), None)
        spare = [m for m in mutants if m.mutation.kind not in NAMED or counts[m.mutation.kind] > 1]
        if missing and not counts[kind] and spare:
            mutants = [m for m in mutants if m is not spare[-1]] + [missing]
    return mutants


def explanations(text):
    """{(program, kernel, mutation, judge): why} of mutants/survivors.txt: a paragraph each."""
    found = {}
    for paragraph in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n", "", text)):
        if not paragraph.strip():
            continue
        place, mutation, *rest = (line.strip() for line in paragraph.strip().splitlines())
        program, kernel = place.split(": ", 1)
        judge, why = " ".join(rest).split(": ", 1)
        found[program, kernel, mutation, judge] = why
    return found


def paragraph_of(key, why):
    program, kernel, mutation, judge = key
    return f"{program}: {kernel}\n  {mutation}\n  {judge}: {why}\n"


def summary(found):
    """What mutants came to, for people: `found` is a list of {kind, bytes, tolerance}, where each verdict is "caught",
    "right", or what explains the mutant."""
    wrong = [f for f in found if f["kind"] not in mutations.SLIGHT]
    slight = [f for f in found if f["kind"] in mutations.SLIGHT]
    ended = collections.Counter(f["bytes"] for f in wrong)
    equivalent = {why: ended[why] for why in ("same code", "no difference", "barrier", "explained")}
    lines = [f"{ended['caught']} of {len(wrong)} mutants caught, {ended['outside']} more by --check-memory, "
             f"{ended['not reached']} not reached by the recording, {sum(equivalent.values())} equivalent: "
             + ", ".join(f"{count} {why}" for why, count in equivalent.items())]
    lost = sum(f["bytes"] == "caught" and f["tolerance"] != "caught" for f in wrong)
    differ = [f["tolerance"] for f in slight if f["bytes"] == "caught"]
    lines += [f"with tolerance {lost} of those caught pass: explained",
              f"{len(slight)} mutants that round differently: {len(differ)} change bytes; of these "
              f"{differ.count('right')} pass with tolerance, {differ.count('no tolerance')} where the stores do not "
              f"tell the type get none, {differ.count('explained')} fail: explained"]
    for kind in sorted({f["kind"] for f in found}):
        of_kind = [f["bytes"] for f in found if f["kind"] == kind]
        lines.append(f"  {kind:16} {len(of_kind):5} {of_kind.count('caught'):5} caught")
    return "\n".join(lines)


def late(reports):
    return any(" did not end within " in reason for report in reports for reason in report["reasons"])


def without_tolerance(reports):
    """Whether what is wrong was compared byte for byte although there is --infer: the stores have no one type."""
    wrong = [segment for report in reports for segment in report.get("segments", []) if not segment["verified"]]
    return bool(wrong) and all(segment["policy"] == "bytes" for segment in wrong)


class Mutants(TestCase):
    source = None  # set from the command line

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kernels = Kernels(recording_of(cls.source, cls), cls.folder, MOST)
        cls.lines, cls.program = cls.kernels.lines, cls.source.stem
        written = explanations(SURVIVORS.read_text())
        cls.written = {key: why for key, why in written.items() if key[0] == cls.program}

    def texts(self, mutants):
        return {m: (m.kernel, m.mutation.text(self.lines[m.kernel])) for m in mutants}

    def compiled(self, texts, *options):
        """{name: (kernel, text)} compiled: {name: (kernel, hash, members)}."""
        return {name: (kernel, *self.kernels.compile(kernel, text, options)) for name, (kernel, text) in texts.items()}

    def wrong(self, variants, judges, patience=LAST_PATIENCE):
        """Compiled variants replayed: {judge: {name: the reports of runs that are not verified}}."""
        members = {(kernel, variant): members for kernel, variant, members in variants.values()}
        judged = self.kernels.replay(members, patience, [JUDGES[judge] for judge in judges])
        return {judge: {name: [report for report in reports[kernel, variant] if report["status"] != "verified"]
                        for name, (kernel, variant, _) in variants.items()} for judge, reports in zip(judges, judged)}

    def wrong_mutants(self, originals, variants):
        """Like wrong(), of all mutants. What should be right is not called wrong because the machine is busy."""
        found = self.wrong({**originals, **variants}, JUDGES, PATIENCE)
        right = {name for name in found["bytes"] if name in originals or name.slight
                 or any(name.key(judge) in self.written for judge in JUDGES)}
        again = {name for name in right if late(found["bytes"][name])}
        if again:
            once_more = self.wrong({name: {**originals, **variants}[name] for name in again}, JUDGES)
            for judge in JUDGES:
                found[judge].update(once_more[judge])
        for judge in JUDGES:
            self.assertEqual([found[judge].pop(name) for name in originals], [[]] * len(originals), judge)
        return found

    def probed(self, mutants):
        """{mutant: "not reached" or "no difference"} of those of which the one or the other is so."""
        probes = {("not reached", m): (m.kernel, m.mutation.where_reached(self.lines[m.kernel])) for m in mutants}
        probes |= {("no difference", m): (m.kernel, m.mutation.where_different(self.lines[m.kernel]))
                   for m in mutants if m.mutation.probe}
        found = self.wrong(self.compiled(probes, "-O1"), ["bytes"])["bytes"]
        why = {}
        for (claim, m), reports in found.items():
            if not reports:
                why.setdefault(m, claim)
        return why

    def explained(self, mutants, control, originals, variants):
        """{mutant: explanation} of those mutants that explain by themselves why they were not caught. `control` are
        mutants that were."""
        why = {m: "same code" for m in mutants if variants[m][2][1].data == originals[m.kernel][2][1].data}
        why |= {m: "barrier" for m in mutants if m not in why and m.mutation.kind == "dropped barrier"}
        probed = self.probed([m for m in mutants if m not in why] + control)
        self.assertEqual([str(m.mutation) for m in control if m in probed], [], "caught, but the traps say otherwise")
        why |= probed
        rest = [m for m in mutants if m not in why]
        checked = self.compiled(self.texts(rest), "-O1", "--check-memory")
        found = self.wrong(checked, ["bytes"])["bytes"]
        return why | {m: "outside" for m, reports in found.items() if reports}

    def test_mutants(self):
        mutants = chosen(self.kernels, self.program)
        originals = {m.kernel: (m.kernel, mutations.edited(self.lines[m.kernel], {})) for m in mutants}
        originals = self.compiled(originals, "-O3")
        variants = self.compiled(self.texts(mutants), "-O3")
        wrong = self.wrong_mutants(originals, variants)
        right = [m for m in mutants if not m.slight and not wrong["bytes"][m]]
        control = [m for m in mutants if wrong["bytes"][m] and m.mutation.probe and self.program not in MOST_OF][:1]
        explained = self.explained(right, control, originals, variants)
        found, unused = [], set(self.written)
        for m in mutants:
            verdicts = {"program": m.program, "kernel": m.name, "mutation": str(m.mutation), "kind": m.mutation.kind}
            for judge in JUDGES:
                verdict = "caught" if wrong[judge][m] else explained.get(m, "right")
                if m.slight and judge == "tolerance" and without_tolerance(wrong[judge][m]):
                    verdict = "no tolerance"
                if verdict == "right" and verdicts.get("bytes") == "explained":
                    verdict = "explained"  # the same bytes are right with any tolerance
                if self.is_surprising(m, judge, verdict):
                    with self.subTest(judge=judge):
                        self.assertIn(m.key(judge), self.written, "\n" + paragraph_of(m.key(judge), f"{verdict} ?"))
                    unused.discard(m.key(judge))
                    verdict = "explained"
                verdicts[judge] = verdict
            found.append(verdicts)
        self.assertEqual(unused, set(), "explained, but there is nothing to explain")
        FOUND.mkdir(parents=True, exist_ok=True)
        (FOUND / f"{self.program}.json").write_text(json.dumps(found))
        print(summary(found))

    @staticmethod
    def is_surprising(mutant, judge, verdict):
        if not mutant.slight:
            return verdict == "right"
        return judge == "tolerance" and verdict == "caught"


def found_in_all():
    programs = {file.stem for file in PROGRAMS.glob("*.hip")}
    return [entry for file in sorted(FOUND.glob("*.json")) if file.stem in programs
            for entry in json.loads(file.read_text())]


def listing(found):
    """Those that were not caught, or, if they only round differently, do not pass."""
    written = explanations(SURVIVORS.read_text())
    lines = []
    for f in found:
        judge = next((judge for judge in JUDGES if f[judge] not in ("caught", "right")), None)
        key = f["program"], f["kernel"], f["mutation"], judge
        if judge:
            lines.append(paragraph_of(key, written.get(key, f[judge])))
    return "\n".join(lines)


if __name__ == "__main__":
    argument = sys.argv.pop(1)
    if argument == "--summary":
        print(summary(found_in_all()))
    elif argument == "--list":
        print(listing(found_in_all()))
    else:
        Mutants.source = pathlib.Path(argument).resolve()
        unittest.main(defaultTest=None if sys.argv[1:] else "Mutants", verbosity=2)
