#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme.search: spaces, samplers, and that mneme-compile accepts each sequence of passes."""

import gzip
import importlib.util
import itertools
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import unittest
import unittest.mock
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True

from mneme.search import KINDS, Parameter, Sampler, Space, SpaceError, caches, passes, spaces  # noqa: E402
from mneme.search.replay import best_so_far  # noqa: E402
from support import TestCase, run, tool  # noqa: E402

LEARNING = "auto", "tpe", "genetic"


@dataclass
class Recorded:
    """What spaces depend on."""

    name: str = "kernel"
    device: str = "host"
    target: str = ""
    grid: list = field(default_factory=lambda: [10, 6, 1])
    block: list = field(default_factory=lambda: [16, 16, 1])
    shared_bytes: int = 0
    has_ir: bool = True
    has_ptx: bool = False


def bowl(point):
    """The further from the middle, the slower."""
    return 1.0 + sum((place - 3) ** 2 for place in point.indices)


def six_by_six():
    return Space({"a": range(6), "b": range(6)})


def searched(sampler, value=bowl, most=1000):
    """The points that are asked until none is left, or so many were."""
    asked = []
    while len(asked) < most and (point := sampler.ask()):
        sampler.tell(point, value(point))
        asked.append(point)
    return asked


class Spaces(unittest.TestCase):
    def test_points_have_the_active_parameters(self):
        space = Space({"bounds": [False, True], "blocks": [1, 2, 4], "block": [[32, 1], [64, 1]]},
                      conditions={"blocks": {"bounds": [True]}})
        points = list(space)
        self.assertEqual(space.size(), 2 + 6)
        self.assertEqual(space.allowed_size(), 8)
        self.assertEqual(len(set(points)), 8)
        self.assertEqual({tuple(p.parameters) for p in points if not p.parameters["bounds"]}, {("bounds", "block")})
        self.assertEqual(space.point({"bounds": False, "blocks": 4, "block": [64, 1]}),
                         space.point({"bounds": False, "block": [64, 1]}))
        for point in points:
            self.assertEqual(space.at(point.indices), point)
            self.assertEqual(space.point(json.loads(point.key)), point)

    def test_conditions_on_conditions(self):
        space = Space([Parameter.of("a", [0, 1]), Parameter.of("b", [0, 1, 2], when={"a": [1]}),
                       Parameter.of("c", [0, 1, 2, 3], when={"b": [1, 2]})])
        self.assertEqual(space.size(), 1 + 1 + 2 * 4)
        self.assertEqual(len(list(space.points())), 10)

    def test_size_without_looking_at_each_point(self):
        self.assertGreater(passes.pipelines_space().size(), 10**15)
        small = Space(passes.pass_parameters(["default<O2>"], longest=2))
        self.assertEqual(small.size(), sum(1 for _ in small.points()))

    def test_allowed(self):
        space = Space({"a": [1, 2, 3]}, allowed=lambda p: p["a"] == 1 or (p["a"] == 2 and "two is not tried"))
        self.assertEqual([space.allowed({"a": a}) for a in (1, 2, 3)], [True, "two is not tried", False])
        self.assertEqual(space.refusal({"a": 2}), "two is not tried")
        self.assertIn("does not allow", space.refusal({"a": 3}))
        self.assertEqual([p.parameters for p in space], [{"a": 1}])

    def test_ordered(self):
        ordered = {values: Parameter.of("p", values).ordered for values in
                   ((1, 2, 4), (4, 2, 1), (1, 4, 2), (0, 1), (False, True), (None, 1, 2), ("a", "b", "c"))}
        self.assertEqual([values for values, is_ordered in ordered.items() if is_ordered], [(1, 2, 4), (4, 2, 1)])

    def test_wrong_spaces(self):
        for message, make in {
            "no value for a": lambda: Space({"a": []}),
            "a value twice for a": lambda: Space({"a": [1, 1]}),
            "JSON does not have": lambda: Space({"a": [object()]}),
            "no parameter before it": lambda: Space({"a": [1], "b": [1]}, conditions={"a": {"b": [1]}}),
            "does not have that value": lambda: Space({"a": [1], "b": [1]}, conditions={"b": {"a": [2]}}),
            "which is no parameter": lambda: Space({"a": [1]}, conditions={"b": {"a": [1]}}),
            "b has no value 3": lambda: Space({"b": [1]}).point({"b": 3}),
            "the search space fails with": lambda: Space({"a": [1]}, allowed=lambda p: p["z"]).allowed({"a": 1}),
            "Object of type object": lambda: Space({"a": [1]}, lambda p: {"x": object()}).configuration({"a": 1}),
        }.items():
            with self.subTest(message), self.assertRaisesRegex(SpaceError, message):
                make()

    def test_joined(self):
        joined = Space({"a": [1, 2]}, lambda p: {"x": p["a"]}, lambda p: p["a"] == 1 or "not two").joined(
            Space({"b": [3, 4]}, lambda p: {"y": p["b"], "none": None}))
        self.assertEqual([joined.configuration(p.parameters) for p in joined], [{"x": 1, "y": 3}, {"x": 1, "y": 4}])


class Samplers(unittest.TestCase):
    def each(self, kinds=KINDS):
        for kind in kinds:
            with self.subTest(kind):
                yield kind

    def test_each_point_once_and_then_none(self):
        for kind in self.each():
            sampler = Sampler(six_by_six(), kind, seed=1, budget=20)
            asked = searched(sampler)
            self.assertEqual(len(asked), 36)
            self.assertEqual(len(set(asked)), 36)
            self.assertIn("is done", sampler.ended)
            self.assertEqual(sampler.trials, 36)
            self.assertEqual(sampler.best, (six_by_six().point({"a": 3, "b": 3}), 1.0))

    def test_the_same_seed_makes_the_same_choices(self):
        for kind in self.each():
            space = spaces.compiler_space(Recorded())
            first, again, other = ([p.key for p in searched(Sampler(space, kind, seed=seed), most=60)] for seed in (1, 1, 2))
            self.assertEqual(first, again)
            if kind != "grid":
                self.assertNotEqual(first, other)

    def test_what_is_not_allowed_is_not_asked(self):
        space = Space({"a": range(6), "b": range(6)}, allowed=lambda p: p["a"] <= p["b"] or "a is at most b")
        for kind in self.each():
            sampler = Sampler(space, kind, seed=1, budget=5)
            asked = searched(sampler)
            self.assertEqual(len(asked), 21)
            self.assertEqual(sampler.trials, 21)
            self.assertTrue(all(p.parameters["a"] <= p.parameters["b"] for p in asked))

    def test_same_configuration_is_not_tried_again(self):
        space = Space({"a": range(6), "unused": range(6)}, lambda p: {"a": p["a"]})
        for kind in self.each():
            asked = searched(Sampler(space, kind, seed=1, budget=100))
            self.assertEqual(sorted(p.parameters["a"] for p in asked), list(range(6)))

    def test_same_code_is_no_trial(self):
        for kind in self.each():
            sampler = Sampler(six_by_six(), kind, seed=1, patience=1000)
            first = sampler.ask()
            sampler.tell(first, 5.0)
            second = sampler.ask()
            sampler.tell(second, same_as=first)
            self.assertEqual(sampler.trials, 1)
            self.assertEqual(sampler.values[second], 5.0)
            with self.assertRaises(ValueError):
                sampler.tell(sampler.ask(), same_as=six_by_six().at([5, 5]))

    def test_open_points_are_distinct(self):
        for kind in self.each():
            sampler = Sampler(six_by_six(), kind, seed=1, budget=30)
            opened, asked = [], []
            while point := sampler.ask():
                asked.append(point)
                opened.append(point)
                if len(opened) == 8:
                    done = opened.pop(3)
                    sampler.tell(done, bowl(done))
            self.assertEqual(len(set(asked)), len(asked))
            self.assertEqual(len(asked), 36)
            for point in opened:
                sampler.tell(point, bowl(point))
            self.assertIsNone(sampler.ask())
            self.assertEqual(len(sampler.values), 36)

    def test_failures_have_no_value(self):
        for kind in self.each():
            sampler = Sampler(six_by_six(), kind, seed=1, budget=30)
            asked = searched(sampler, lambda p: None if sum(p.indices) % 2 else bowl(p))
            self.assertEqual(len(set(asked)), 36)
            self.assertEqual(sampler.best[1], 1.0)
            self.assertIsNone(Sampler(six_by_six(), kind).best)
            self.assertEqual(len(searched(Sampler(six_by_six(), kind, seed=1), lambda p: None)), 36)

    def test_conditional_space(self):
        space = passes.pipelines_space()
        for kind in self.each():
            asked = searched(Sampler(space, kind, seed=3, budget=40), lambda p: float(len(p.parameters)), most=40)
            self.assertEqual(len({passes.sequence_of(p.parameters) for p in asked}), 40)
            for point in asked:
                active = {name for name, parameter in space.parameters.items() if all(
                    point.parameters.get(other) in values for other, values in parameter.when.items())}
                self.assertEqual(set(point.parameters), active)

    def test_trials_made_elsewhere(self):
        for kind in self.each():
            sampler = Sampler(six_by_six(), kind, seed=1)
            sampler.observe({"a": 3, "b": 3}, 1.0)
            sampler.observe({"a": 99, "b": 3}, 0.1)
            sampler.observe({"passes": "default<O3>"}, 0.1)
            sampler.reserve({"a": 0, "b": 0})
            self.assertEqual(sampler.trials, 0)
            self.assertEqual(sampler.best[1], 1.0)
            asked = searched(sampler)
            self.assertEqual(len(asked), 34)
            self.assertNotIn(six_by_six().at([0, 0]), asked)
            sampler.observe({"a": 0, "b": 0}, 19.0)
            self.assertEqual(len(sampler.values), 36)

    def test_released_points_are_asked_again(self):
        sampler = Sampler(six_by_six(), "tpe", seed=1)
        point = sampler.ask()
        sampler.release(point)
        self.assertEqual(sampler.ask(), point)

    def test_warm_start(self):
        earlier = [(point.parameters, 100.0 * bowl(point)) for point in six_by_six()]
        for kind in self.each():
            sampler = Sampler(six_by_six(), kind, seed=1)
            self.assertEqual(sampler.warm_start([*earlier, ({"a": 77, "b": 1}, 0.0), ({"a": 1, "b": 1}, None)]), 10)
            asked = searched(sampler, most=10)
            self.assertEqual(asked[0].parameters, {"a": 3, "b": 3})
            self.assertEqual(sorted(map(bowl, asked)), sorted(value / 100 for _, value in earlier)[:10])

    def test_patience(self):
        for kind in self.each():
            sampler = Sampler(spaces.compiler_space(Recorded()), kind, seed=1, patience=7)
            values = itertools.chain([5.0, 4.0, 3.0], itertools.repeat(9.0))
            self.assertEqual(len(searched(sampler, lambda _: next(values))), 3 + 7)
            self.assertIn("the last 7 trials", sampler.ended)

    def test_hardly_anything_is_allowed(self):
        huge = {f"p{i}": range(10) for i in range(8)}
        for kind in self.each(["grid", "tpe"]):
            with self.assertRaisesRegex(SpaceError, "combinations were not allowed: never"):
                Sampler(Space(huge, allowed=lambda p: "never"), kind, seed=1).ask()
            one = Sampler(Space(huge, allowed=lambda p: sum(p.values()) == 1), kind, seed=1)
            self.assertEqual(sum(one.ask().parameters.values()), 1)

    def test_auto_is_a_grid_where_all_can_be_tried(self):
        self.assertEqual(Sampler(six_by_six(), budget=36).kind, "grid")
        self.assertEqual(Sampler(six_by_six(), budget=35).kind, "tpe")
        self.assertEqual(Sampler(six_by_six()).kind, "tpe")
        self.assertEqual(Sampler(passes.pipelines_space(), budget=5000).kind, "genetic")
        with self.assertRaisesRegex(ValueError, "a sampler is one of"):
            Sampler(six_by_six(), "best")

    def test_without_optuna(self):
        with unittest.mock.patch.dict(sys.modules, {"optuna": None}):
            with unittest.mock.patch.object(importlib.util, "find_spec", lambda name: None):
                self.assertEqual(Sampler(six_by_six(), budget=35).kind, "genetic")
            with self.assertRaisesRegex(SpaceError, "--sampler tpe needs Optuna for this Python: Debian's python3-optuna"):
                Sampler(six_by_six(), "tpe")

    def test_samplers_that_learn_find_more_than_random_search(self):
        measured = caches.read(ROOT / "tests" / "bench" / "search" / "sums.json")
        found = {kind: statistics.mean(best_so_far(measured, kind, seed, 100)[-1] for seed in range(3))
                 for kind in ("tpe", "genetic", "random")}
        for kind in ("tpe", "genetic"):
            self.assertGreater(found[kind], found["random"] + 0.05, found)


class SpacesOfKernels(unittest.TestCase):
    def test_launch(self):
        space = spaces.launch_space(Recorded())
        for point in space:
            block = space.configuration(point.parameters).get("block", [16, 16, 1])
            self.assertTrue(32 <= block[0] * block[1] * block[2] <= 1024)
        recorded = space.configuration({"block_x": 16, "block_y": 16, "bounds": False})
        self.assertEqual(recorded, {})
        self.assertEqual(space.configuration({"block_x": 128, "block_y": 1, "bounds": True}),
                         {"block": [128, 1, 1], "max_threads": 128})

    def test_limits_of_the_device(self):
        deep = spaces.launch_space(Recorded(device="cuda", target="sm_90", grid=[1, 40000, 1]))
        base = {"bounds": False, "block_x": 64}
        self.assertTrue(deep.allowed({**base, "block_y": 16}))
        self.assertIn("a grid of 640000 blocks in y", deep.refusal({**base, "block_y": 1}))
        shared = spaces.launch_space(Recorded(device="cuda", target="sm_75", shared_bytes=32 << 10))
        self.assertIn("are more than the 65536 of a block",
                      shared.refusal({**base, "block_y": 16, "shared_by_thread": True}))
        self.assertEqual(shared.configuration({**base, "block_y": 1, "shared_by_thread": True}),
                         {"block": [64, 1, 1], "shared_mem": 8 << 10})
        self.assertTrue(shared.allowed({**base, "block_y": 16, "shared_by_thread": False}))

    def test_min_blocks_only_with_bounds(self):
        for point in spaces.launch_space(Recorded(device="cuda")):
            self.assertEqual("min_blocks" in point.parameters, point.parameters["bounds"])

    def test_by_target(self):
        names = {kind: set(spaces.compiler_space(Recorded(device="host", target=target)).parameters) for kind, target in
                 (("host", "host:x86-64-v3"), ("cuda", "sm_90"), ("hip", "hip:gfx90a"))}
        self.assertEqual(names["host"] - names["cuda"], {"vector_width"})
        self.assertEqual(names["cuda"] - names["hip"], {"max_registers"})
        self.assertEqual(names["hip"] - names["cuda"], {"waves_per_eu"})

    def test_without_ir(self):
        code = Recorded(device="cuda", has_ir=False)
        self.assertEqual(set(spaces.space_named("full", code).parameters), {"block_x", "block_y", "shared_mem"})
        for name in ("compiler", "passes"):
            with self.assertRaisesRegex(SpaceError, "no IR|neither IR nor PTX"):
                spaces.space_named(name, code)
        ptx = Recorded(device="cuda", has_ir=False, has_ptx=True)
        self.assertIn("ptxas_level", spaces.space_named("full", ptx).parameters)

    def test_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "space.py"
            path.write_text('PARAMETERS = {"a": [1, 2], "b": [3, 4]}\nCONDITIONS = {"b": {"a": [2]}}\n')
            self.assertEqual(spaces.space_named(str(path), Recorded()).size(), 3)
            for text, message in {"": "defines no 'PARAMETERS'",
                                  "PARAMETERS = 1 / 0": "is no search space: ZeroDivision",
                                  "PARAMETERS = {'a': []}": "has no value for a"}.items():
                path.write_text(text)
                with self.assertRaisesRegex(SpaceError, message):
                    spaces.space_named(str(path), Recorded())
            with self.assertRaisesRegex(SpaceError, "cannot be read"):
                spaces.space_named("absent.py", Recorded())
            with self.assertRaisesRegex(SpaceError, "launch, compiler, passes, full or a file"):
                spaces.space_named("other", Recorded())


class Passes(TestCase):
    def test_adaptors(self):
        for sequence, text in {
            ("sroa",): "function(sroa)",
            ("sroa", "licm", "loop-rotate", "gvn"): "function(sroa,loop-mssa(licm,loop-rotate),gvn)",
            ("licm", "indvars"): "function(loop-mssa(licm),loop(indvars))",
            ("inline", "sroa", "licm", "globalopt", "gvn"):
                "cgscc(inline,function(sroa,loop-mssa(licm))),globalopt,function(gvn)",
            ("sroa", "inline"): "function(sroa),cgscc(inline)",
        }.items():
            self.assertEqual(passes.pipeline(sequence), text)

    def test_mneme_compile_accepts_each_sequence(self):
        recording = self.record(self.build(ROOT / "tests" / "small.hip"))
        space, drawn = passes.pipelines_space(), random.Random(20261128)
        texts = [*passes.PRESETS, *(f"{start},{passes.pipeline([name])}" for start, name in
                                    zip(itertools.cycle(passes.STARTS), passes.PASSES))]
        others = drawn.sample(passes.PASSES, len(passes.PASSES))
        texts += [f"default<O1>,{passes.pipeline(pair)}" for pair in zip(passes.PASSES, others)]
        texts += [passes.sequence_of(space.random_point(drawn).parameters) for _ in range(40)]
        lines = self.folder / "sequences.jsonl"
        lines.write_text("".join(json.dumps({"passes": text}) + "\n" for text in [*texts, "function(licm)"]))
        compiled = run([tool("compile"), "--kernel", "^add", "--variants", lines, recording])
        self.assertEqual(compiled.status, 0, compiled.text())
        failed = [line for line in compiled.error.splitlines() if " failed: " in line]
        self.assertEqual(len(failed), 1, failed)
        self.assertIn(f"line {len(texts) + 1}: ", failed[0], "licm needs its adaptor")


class Caches(unittest.TestCase):
    LISTS = {"block": [32, 64, 128], "pad": [0, 1]}
    TRIALS = [({"block": 32, "pad": 0}, 2.0), ({"block": 32, "pad": 1}, 1.5), ({"block": 64, "pad": 0}, 1.0),
              ({"block": 128, "pad": 1}, None)]

    def read(self, data):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "convolution.json.gz"
            path.write_bytes(data)
            return caches.read(path)

    def test_both_formats(self):
        texts = {"Kernel Tuner": caches.text(caches.kernel_tuner("k", "d", self.LISTS, self.TRIALS)),
                 "T4": json.dumps(caches.t4(caches.t4_result(*trial) for trial in self.TRIALS))}
        for (name, text), compressed in itertools.product(texts.items(), (False, True)):
            with self.subTest(name, compressed=compressed):
                measured = self.read(gzip.compress(text.encode()) if compressed else text.encode())
                self.assertEqual(measured.name, "convolution")
                self.assertEqual(measured.best(), 1.0)
                self.assertEqual([(p.parameters, measured.values[p]) for p in measured.space], self.TRIALS)
                self.assertEqual(measured.space.refusal({"block": 64, "pad": 1}), "it was not measured")
                self.assertTrue(measured.space.parameters["block"].ordered)

    def test_wrong_files(self):
        for data in (b"", b"{}", b'{"results": []}', b'{"results": [{}]}', b"\x1f\x8bx", b'{"tune_params_keys": ["a"]}',
                     caches.text(caches.kernel_tuner("k", "d", self.LISTS, [(self.TRIALS[0][0], None)])).encode()):
            with self.subTest(data), self.assertRaisesRegex(SpaceError, "neither a cache of Kernel Tuner's nor T4"):
                self.read(data)


DEBIANS = "/usr/bin/python3"  # which has Optuna

if __name__ == "__main__":
    if not importlib.util.find_spec("optuna") and os.path.exists(DEBIANS) and not os.path.samefile(sys.executable, DEBIANS):
        os.execv(DEBIANS, [DEBIANS, "-B", *sys.argv])
    unittest.main()
