#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-tune: what it finds, what it must not take for found, and that it goes on where it stopped."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import bundles
from support import ROOT, TestCase, run, tool

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))

from mneme.search import caches  # noqa: E402
from mneme.search.space import key_of  # noqa: E402
from mneme.tuning import Trial, front, verified  # noqa: E402

# One block does a part of the work, in a part of the time; no block of 96 threads is to be tried.
SPACE = """
PARAMETERS = {"level": [0, 1, 3], "threads": [32, 96, 128], "cheat": [False, True]}

def allowed(p):
    return p["threads"] != 96 or "96 is no power of two"

def configuration(p):
    made = {"passes": f"default<O{p['level']}>", "block": [p["threads"], 1, 1]}
    return {**made, "grid": [1, 1, 1]} if p["cheat"] else made
"""


class Tune(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))
        (cls.folder / "space.py").write_text(SPACE)

    def setUp(self):
        self.place = self.folder / self.id().rsplit(".", 1)[1]

    def words(self, *options, bundle=None):
        return [tool("tune"), "--kernel", "^add", "--iterations", "2", "--rounds", "6", "--seed", "1", "-o", self.place,
                *options, bundle or self.recording]

    def tune(self, *options, status=0, bundle=None, env=None):
        result = run(self.words(*options, bundle=bundle), env=env, timeout=120)
        self.assertEqual(result.status, status, result.text())
        return result

    def lines(self, name):
        return [json.loads(line) for line in (self.place / name).read_text().splitlines()]

    def changed(self, name, change):
        """A bundle with the recording's members as `change` returns them, as pairs."""
        path = self.folder / name
        members = [change(member.name, member.data) for member in bundles.read(self.recording.read_bytes())]
        path.write_bytes(bundles.write([member for member in members if member]))
        return path

    def test_a_space_of_ones_own_whole(self):
        self.place = self.folder / "a folder's"
        result = self.tune("--space", self.folder / "space.py", "--sampler", "grid", "--pareto", "--plot", "--export-t4")
        baseline, *trials = all_trials = self.lines("trials.jsonl")
        self.assertEqual((baseline["trial"], baseline["baseline"], baseline["configuration"]), (0, True, {}))
        self.assertEqual(sum(baseline["launches_ns"]), baseline["median_ns"])
        self.assertEqual(len({json.dumps(t["parameters"]) for t in trials}), 12)
        self.assertEqual([t["trial"] for t in trials], list(range(1, 13)), "what is not allowed is no trial")
        for trial in trials:
            p = trial["parameters"]
            self.assertNotEqual(p["threads"], 96)
            if p["cheat"]:
                self.assertEqual(trial["status"], "not verified")
                self.assertTrue(trial["reason"])
            else:
                self.assertEqual(trial["status"], "verified")
                self.assertGreater(trial["median_ns"], 0)
                self.assertGreater(trial["code_bytes"], 0)
        [best] = self.lines("best.json")
        self.assertNotIn("grid", best["configuration"])
        self.assertEqual(len(best["instances"]), 2, "both launches of the kernel")
        self.assertEqual(b"nothing faster than the baseline was found" in result.out,
                         all(instance["comparison"]["outcome"] != "faster" for instance in best["instances"]))
        for instance in best["instances"]:
            self.assertIn(instance["comparison"]["outcome"], {"faster", "slower", "within noise", "same code"})
        self.assertIn("13 of 13 trials, 7 verified", self.last_of(result.error, "7 verified") or result.error)

        found = {(t["median_ns"], t["code_bytes"]) for t in all_trials if t["status"] == "verified"}
        front = [(t["median_ns"], t["code_bytes"]) for t in self.lines("pareto.jsonl")]
        self.assertTrue(front and set(front) <= found)
        for a in front:
            self.assertFalse(any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in found), (a, found))
        for b in found - set(front):
            self.assertTrue(any(a[0] <= b[0] and a[1] <= b[1] for a in front), (b, front))
        for name in ("trials.svg", "trials.png"):
            self.assertGreater((self.place / name).stat().st_size, 1000)
        self.check_page()
        self.check_t4(trials)

        # What it says shows the same does, with the tools that it has been found with.
        said = self.last_of(result.out.decode(), "to see it again: ").partition(": ")[2]
        shown = run(["sh", "-c", said], env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(shown.status, 0, shown.text())
        self.assertIn(b"4 of 4 runs verified", shown.out)

    def check_page(self):
        """Importances and parallel coordinates, with plotly's own code in the file."""
        page = (self.place / "trials.html").read_text()
        self.assertIn("<title>add(float*, float, int)</title>", page)
        for words in ("Hyperparameter Importances", "Parallel Coordinate Plot", '"parcoords"', "plotly.js"):
            self.assertIn(words, page)
        self.assertNotRegex(page, r"<(script|link)[^>]*(src|href)=.?http")

    def check_t4(self, trials):
        """The file is read back by the converter of published results."""
        results = json.loads((self.place / "t4.json").read_text())["results"]
        self.assertEqual([one["invalidity"] for one in results],
                         ["correct" if trial["status"] == "verified" else "correctness" for trial in trials])
        measured = caches.read(self.place / "t4.json")
        self.assertEqual({key_of(point.parameters): value and round(value * 1e6, 1) for point, value in measured.values.items()},
                         {key_of(trial["parameters"]): trial.get("median_ns") for trial in trials})

    def test_a_page_needs_plotly(self):
        hidden = self.folder / "hidden"
        (hidden / "plotly").mkdir(parents=True)
        (hidden / "plotly" / "__init__.py").write_text("raise ModuleNotFoundError(name='plotly')\n")
        said = self.tune("--trials", "3", "--plot", env={"PYTHONPATH": str(hidden)}).error
        self.assertIn("trials.html': a page of parameters needs Debian's python3-optuna, python3-plotly and python3-sklearn", said)
        self.assertTrue((self.place / "trials.svg").exists())

    def test_precision(self):
        compiled = run([tool("compile"), "--kernel", "^add", self.recording], [tool("run"), "--iterations", "500", "--precision",
                       "0.9"], [tool("verify"), "--kernel", "^add"])
        self.assertEqual(compiled.status, 0, compiled.text())
        self.assertEqual({json.loads(line)["iterations"] for line in compiled.out.splitlines()}, {5})
        for wrong in (["--precision", "1"], ["--precision", "0.1", "--rounds", "6"]):
            self.assertEqual(run([tool("run"), *wrong], input=b"").status, 2)
        self.tune("--precision", "0.5", "--trials", "3")
        self.assertEqual(len(self.lines("trials.jsonl")), 3)
        self.assertIn("--precision takes a ratio between 0 and 1", self.tune("--precision", "2", status=2).error)

    @staticmethod
    def last_of(text, words):
        return next((line for line in reversed(text.splitlines()) if words in line), None)

    def test_time_alone_is_no_limit_of_trials(self):
        self.place = self.folder / "timed"
        result = self.tune("--time", "1")
        self.assertRegex(result.error, r"\d+ trials, \d+ verified")
        self.assertNotIn("of 100 trials", result.error)

    def test_it_goes_on_where_it_stopped(self):
        for sampler in ("random", "tpe", "genetic"):
            self.place = self.folder / f"resumed_{sampler}"
            self.tune("--sampler", sampler, "--trials", "3")
            before = self.lines("trials.jsonl")
            self.assertEqual(len(before), 3)
            self.tune("--sampler", sampler, "--trials", "6")
            after = self.lines("trials.jsonl")
            self.assertEqual([t["trial"] for t in after], list(range(6)))
            self.assertEqual([(t["parameters"], t["status"]) for t in after[:3]],
                             [(t["parameters"], t["status"]) for t in before])
        self.assertIn("another search (parameters)", self.tune("--space", "launch", status=2).error)

    def test_combinations_that_are_not_allowed_are_no_trials(self):
        for sampler in ("random", "tpe"):
            self.place = self.folder / f"allowed_{sampler}"
            for count in (9, 12):  # a third is refused
                self.tune("--space", self.folder / "space.py", "--sampler", sampler, "--trials", str(count))
                trials = self.lines("trials.jsonl")
                self.assertEqual([t["trial"] for t in trials], list(range(count)))
                self.assertNotIn("not allowed", {t["status"] for t in trials})
        (self.folder / "closed.py").write_text(SPACE.replace('p["threads"] != 96 or', "False or"))
        self.place = self.folder / "closed"
        self.assertIn("the search space allows no combination beside the baseline: 96 is no power of two",
                      self.tune("--space", self.folder / "closed.py", "--sampler", "random", status=2).error)

    def test_a_search_that_was_killed_goes_on(self):
        self.tune("--trials", "3")
        with open(self.place / "trials.jsonl", "a") as file:
            file.write('{"trial": 3, "parame')
        self.tune("--trials", "4")
        self.assertEqual([t["trial"] for t in self.lines("trials.jsonl")], list(range(4)))
        (self.place / "trials.jsonl").write_text("[]\n")
        self.assertIn("trials.jsonl', line 1: it is no trial", self.tune(status=2).error)

    def test_several_kernels(self):
        result = self.tune("--kernel", "", "--trials", "3")
        for name in ("add", "scale"):
            self.assertIn(f"{name}(", result.out.decode())
            trials = [json.loads(line) for line in (self.place / name / "trials.jsonl").read_text().splitlines()]
            self.assertEqual(len(trials), 3)
            self.assertTrue((self.place / name / "best.sh").exists())
        parts = [(self.place / name / "tuned.tar").exists() for name in ("add", "scale")]
        self.assertEqual((self.place / "tuned.tar").exists(), any(parts))
        self.assertEqual(b"to run the application with all of it" in result.out, any(parts))

        # One that cannot be tuned does not keep the other from it.
        self.place = self.folder / "one of two"
        space = self.folder / "of_scale.py"
        space.write_text("def PARAMETERS(recording):\n"
                         "    return {'codegen_opt': [2, 3] if recording.name.startswith('scale') else []}\n")
        result = self.tune("--kernel", "", "--space", space, status=2)
        self.assertIn("error: kernel 'add(float*, float, int)': the search space has no value for codegen_opt", result.error)
        self.assertIn(b"best, trial", result.out)

    def test_shares(self):
        result = self.tune("--kernel", "", "--trials", "9", "--share")
        shares = [int(share) for share in re.findall(r"kernel '.*' takes (\d+) % of the kernels' time: \d+ trials", result.error)]
        self.assertEqual(len(shares), 2, result.error)
        self.assertIn(sum(shares), (99, 100, 101))
        counts = [len((self.place / name / "trials.jsonl").read_text().splitlines()) for name in ("add", "scale")]
        self.assertIn(sum(counts), (8, 9, 10))
        self.assertEqual(counts, [max(2, round(9 * share / 100)) for share in shares])

    def test_what_is_only_said(self):
        space = self.folder / "space.py"
        shown = self.tune("--space", space, "--dry-run").out.decode()
        self.assertRegex(shown, r"^add\(float\*, float, int\): 2 launch\(es\), 3 parameter\(s\), 12 combinations, sampler \w+, "
                                r"100 trials; results go to '.*'\n$")
        shown = json.loads(self.tune("--space", space, "--print-space").out)
        self.assertEqual((shown["size"], shown["allowed"], shown["parameters"]["threads"]), (18, 12, [32, 96, 128]))
        self.assertEqual(len(self.tune("--kernel", "", "--space", "full", "--print-space").out.splitlines()), 2)
        self.assertFalse(self.place.exists())
        shown = self.tune("--baseline-only").out.decode()
        self.assertRegex(shown, "the baseline takes .*; nothing else was tried")
        self.assertEqual(len(self.lines("trials.jsonl")), 1)

    def test_options_in_a_file(self):
        given = run([tool("tune"), "--trials", "3", "--seed", "7", "--pareto", "--verify-flags=--infer", "--kernel", "^add",
                     "--baseline", '{"passes": "default<O1>"}', self.recording, "--dump-config"])
        self.assertEqual(given.status, 0, given.text())
        path = self.folder / "options.yaml"
        path.write_bytes(given.out)
        again = run([tool("tune"), "--config", path, "--dump-config"])
        self.assertEqual(again.out, given.out)
        self.assertIn(b'verify_flags: "--infer"\n', given.out)
        self.assertIn(b'baseline: {"passes": "default<O1>"}\n', given.out)
        result = run([tool("tune"), "--config", path, "--trials", "2", "-o", self.place])
        self.assertEqual(result.status, 0, result.text())
        self.assertEqual([t["configuration"] for t in self.lines("trials.jsonl")][:1], [{"passes": "default<O1>"}])
        self.assertEqual(len(self.lines("trials.jsonl")), 2, "the command line wins")
        self.assertTrue((self.place / "pareto.jsonl").exists())
        for text, words in (("trails: 3", "has 'trails', which is no option of mneme-tune"), ("[", "is not YAML"),
                            ("3", "has no options"), ("config: x", "has 'config', which is no option"),
                            ("trials: many", "invalid int value: 'many'")):
            path.write_text(text + "\n")
            self.assertIn(words, self.tune("--config", path, status=2).error)

    def test_it_stops_when_nothing_better_is_found(self):
        result = self.tune("--patience", "4", "--trials", "100")
        self.assertLess(len(self.lines("trials.jsonl")), 100)
        self.assertIn("the last 4 trials have found nothing better", result.error)

    def test_a_search_begins_with_what_an_earlier_one_found(self):
        space = "--space", self.folder / "space.py"
        self.tune(*space, "--sampler", "grid")
        earlier = sorted((t for t in self.lines("trials.jsonl")[1:] if t["status"] == "verified"), key=lambda t: t["median_ns"])
        before, self.place = self.place, self.folder / "begun"
        result = self.tune(*space, "--warm-start", before, "--trials", "3", "--kernel", "^scale")
        self.assertIn("6 of the best trials in", result.error)
        self.assertEqual([t["parameters"] for t in self.lines("trials.jsonl")[1:]], [t["parameters"] for t in earlier[:2]])
        self.place = self.folder / "not begun"
        self.assertIn("cannot be used: No such file", self.tune("--warm-start", self.folder / "nowhere", status=2).error)

    def test_sequences_of_passes(self):
        self.tune("--space", "passes", "--trials", "12", "--sampler", "random")
        trials = self.lines("trials.jsonl")
        self.assertNotIn("failed", {t["status"] for t in trials}, trials)
        self.assertTrue(any(t["parameters"].get("pipeline") == "sequence" for t in trials))

    def test_a_grid_goes_on_without_doing_anything_twice(self):
        options = ("--space", self.folder / "space.py", "--sampler", "grid")
        self.tune(*options, "--trials", "7")
        self.tune(*options, "--trials", "11")
        self.assertEqual(len({json.dumps(t["parameters"], sort_keys=True) for t in self.lines("trials.jsonl")}), 11)

    def test_control_c(self):
        process = subprocess.Popen(list(map(str, self.words("--trials", "100000"))), stderr=subprocess.PIPE, text=True)
        self.assertRegex(process.stderr.readline(), r"1 of \d+ trials")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("the same command goes on", said)
        done = len(self.lines("trials.jsonl"))
        self.assertGreater(done, 0)
        self.tune("--trials", str(done + 1))
        self.assertEqual(len(self.lines("trials.jsonl")), done + 1)

    def test_the_application_gets_what_is_faster(self):
        space, tuned = self.folder / "levels.py", self.place / "tuned.tar"
        space.write_text("PARAMETERS = {'level': [0, 3]}\n"
                         "def configuration(p): return {'passes': f\"default<O{p['level']}>\", 'codegen_opt': p['level']}\n")
        words = "--space", space, "--sampler", "grid", "--verify-flags=--infer --junit /dev/null", "--run-flags=--iterations 7"
        result = self.tune(*words, "--baseline", '{"passes":"default<O0>","codegen_opt":0}')
        self.assertEqual(result.out.decode().splitlines()[-1],
                         f"to run the application with it: mneme-capture --apply {tuned} APPLICATION")
        members = bundles.read(tuned.read_bytes())
        [choice] = [bundles.parsed(m) for m in members if m.name.startswith("choices/")]
        self.assertEqual(choice["instances"], 2, "both launches of the kernel")
        self.assertGreater(choice["low"], 1)
        [variant] = [bundles.parsed(m) for m in members if m.name.endswith("variant.json")]
        self.assertEqual((variant["id"], variant["configuration"]["passes"]), (choice["variant"], "default<O3>"))
        self.assertEqual(run([tool("verify"), tuned]).status, 0)

        # Where nothing is, there is none, and none of before.
        result = self.tune(*words)
        self.assertRegex(result.out.decode().splitlines()[-1], "^there is no tuned.tar: nothing is tuned: no variant")
        self.assertEqual([(t["trial"], t["configuration"]) for t in self.lines("trials.jsonl") if t.get("baseline")], [(0, {})])
        self.assertFalse(tuned.exists())

    def test_an_incomplete_launch_ends_it(self):
        def incomplete(name, data):
            if not name.startswith("instances/"):
                return name, data
            return name, bundles.compact({**json.loads(data), "complete": False, "missing": ["a part of its memory"]})
        bundle = self.changed("incomplete.tar", incomplete)
        said = self.tune("--trials", "1", status=2, bundle=bundle).error
        self.assertRegex(said, r"launch [0-9a-f]{12}: .*no instance is complete; --force .*\(that is --run-flags=--force here\)")
        shutil.rmtree(self.place)
        self.tune("--trials", "2", "--run-flags=--force", bundle=bundle)

    def test_what_no_configuration_mends_has_its_status(self):
        bare = self.changed("bare.tar", lambda name, data: None if name.startswith("memory/") else (name, data))
        for options, how, status, words in (
                (["--target", "zz"], {}, 2, "'zz' is no target"),
                (["--target", "gfx90a"], {"env": {"HIP_VISIBLE_DEVICES": "-1"}}, 3, "there is no AMD GPU"),
                ([], {"bundle": bare}, 2, "mneme-run: error: "),
                (["--compile-flags=--nonsense"], {}, 2, "mneme-compile: error: .*--nonsense"),
                (["--run-flags=--nonsense"], {}, 2, "mneme-run: error: .*--nonsense"),
                (["--verify-flags=--nonsense"], {}, 2, "mneme-verify: error: .*--nonsense")):
            shutil.rmtree(self.place, ignore_errors=True)
            self.assertRegex(self.tune(*options, status=status, **how).error, words)

    def test_variables_for_what_it_says_itself(self):
        aside = self.folder / "aside"
        variables = {"MNEME_FORMAT": "table", "MNEME_OUTPUT": str(aside), "MNEME_ROUNDS": "3", "MNEME_REFERENCE": "first",
                     "MNEME_KERNEL": "none", "MNEME_INSTANCE": "0", "MNEME_CHECK_MEMORY": "1"}
        self.tune("--trials", "2", env=variables)
        self.assertIn(b"runs verified", self.run_well(["sh", self.place / "best.sh"], env=variables).out)
        self.assertFalse(aside.exists())

    def test_flags_for_what_it_says_itself(self):
        for name, flags, words in (("compile", "-o f", "has --output.*leave it out"), ("compile", "-vof", "has --output"),
                                   ("compile", "--variants=f", "has --variants"), ("compile", "-O1 --help", "has --help"),
                                   ("run", "--rounds 3", "has --rounds.*give mneme-tune its --rounds"),
                                   ("run", "--kernel x", "has --kernel"), ("run", "--check-memory", "has --check-memory"),
                                   ("verify", "--format table", "has --format"), ("verify", "--output=f", "has --output"),
                                   ("verify", "--infer --reference first", "has --reference")):
            self.assertRegex(self.tune(f"--{name}-flags={flags}", status=2).error, f"error: --{name}-flags {words}")

    def test_what_it_writes_is_written(self):
        for option in ("--help", "--version"):
            with open("/dev/full", "w") as full:
                result = run([tool("tune"), option], stdout=full, env={"PYTHONUNBUFFERED": ""})
            self.assertEqual((result.status, result.error),
                             (2, "mneme-tune: error: cannot write standard output: No space left on device\n"))

    def test_kernels_are_selected_as_by_the_other_tools(self):
        result = self.tune("--kernel", "^add[[:punct:]]", "--trials", "1")
        self.assertRegex(result.out.decode(), r"^add\(float\*, float, int\): the baseline takes .*; nothing else was tried\n$")

    def test_what_cannot_be_compiled_has_its_message(self):
        space = self.folder / "bad.py"
        space.write_text('PARAMETERS = {"passes": ["nonsense", "default<O1>"], "codegen_opt": [2, 7]}')
        self.tune("--space", space, "--sampler", "grid")
        found = {(t["parameters"]["passes"], t["parameters"]["codegen_opt"]): t for t in self.lines("trials.jsonl")[1:]}
        self.assertIn("unknown pass name", found["nonsense", 2]["reason"])
        self.assertIn("'codegen_opt' is 7", found["default<O1>", 7]["reason"])
        self.assertEqual([t["status"] for t in found.values()].count("failed"), 3)
        self.assertEqual(self.lines("best.json")[0]["configuration"], {"passes": "default<O1>", "codegen_opt": 2})

    def test_only_what_is_verified_counts(self):
        def trial(number, status="verified", **keys):
            return Trial(number, {}, {}, status, 0.1, executed=(str(number % 4),), **keys)
        good = [trial(n, median_ns=t, code_bytes=b) for n, t, b in ((0, 9, 1), (1, 5, 5), (2, 6, 6))]
        good.append(trial(5, median_ns=5, code_bytes=5))  # the code of another
        bad = [trial(3, "not verified", median_ns=1, code_bytes=0)]
        self.assertEqual([t.trial for t in verified(good + bad)], [1, 2, 0])
        self.assertEqual([t.trial for t in front(good + bad)], [1, 0])
        self.assertEqual(Trial.read(json.dumps(good[0].line())), good[0])

    def test_a_space_that_ends_the_program_is_none(self):
        space = self.folder / "exits.py"
        for text, words in (("import sys; sys.exit(0)", "exits.py' is no search space: SystemExit"),
                            ("import sys\nPARAMETERS = {'passes': ['default<O1>']}\ndef allowed(p): sys.exit(0)",
                             "the search space fails with .*SystemExit")):
            space.write_text(text)
            self.assertRegex(self.tune("--space", space, status=2).error, words)
            shutil.rmtree(self.place, ignore_errors=True)

    def test_mistakes_are_said(self):
        for options, status, words in ((["--space", "nonsense"], 2, "launch, compiler, passes, full"),
                                       (["--space", self.folder / "none.py"], 2, "none.py' cannot be read: No such file or directory"),
                                       (["--kernel", "nothing"], 2, "no recorded launch is selected: no kernel matches "
                                        "--kernel 'nothing'; there are: add(float*, float, int); scale(float const*, "),
                                       (["--instance", "0123456789abcdef"], 2, "no recorded launch is selected: no instance "
                                        "starts with --instance '0123456789abcdef'; there are: "),
                                       (["--patience", "0"], 2, "--patience takes a number from 1 on"),
                                       (["--kernel", "("], 2, "--kernel '(' is not a valid regular expression"),
                                       (["--trials", "x"], 2, "argument --trials: invalid int value: 'x'; see mneme-tune --help\n"),
                                       (["--seed", "-1"], 2, "--seed takes a number from 0"),
                                       (["--warmup", "-1"], 2, "--warmup takes a number from 0 on"),
                                       (["--time", "nan"], 2, "--time takes a number of seconds above 0"),
                                       (["--run-flags", "'"], 2, "--run-flags has a quotation mark"),
                                       (["--baseline", "[1]"], 2, "--baseline: a configuration is an object of JSON"),
                                       (["--baseline", "{"], 2, "--baseline: a configuration is an object of JSON"),
                                       (["-o", "/dev/null/x"], 2, "'/dev/null/x' cannot be used: Not a directory"),
                                       (["--baseline", '{"passes":"nonsense"}'], 1, "the baseline is failed"),
                                       (["--baseline", '{"grid":[1,1,1]}'], 1, "the baseline is not verified")):
            shutil.rmtree(self.place, ignore_errors=True)
            said = self.tune(*options, status=status).error
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1, said)

    def test_why_nothing_is_verified_is_said(self):
        space = self.folder / "wrong.py"
        space.write_text("PARAMETERS = {'grid': [1]}\ndef configuration(p): return {'grid': [1, 1, 1]}\n")
        result = self.tune("--space", space, "--trials", "2", "--sampler", "grid", status=1)
        self.assertRegex(result.error, "none of the 1 trials but the baseline is verified; the last: it ran with the grid .* in place of "
                                       "the recorded .*trials.jsonl' has each")

    def test_nothing_faster_is_said(self):
        space = self.folder / "slower.py"
        space.write_text("PARAMETERS = {'passes': ['default<O0>']}\ndef configuration(p): return {**p, 'codegen_opt': 0}\n")
        result = self.tune("--space", space, "--trials", "2", "--sampler", "grid", "--kernel", "^scale")
        self.assertIn("nothing faster than the baseline was found\nbest, trial 1: ", result.out.decode())

    def test_what_is_no_bundle_is_said(self):
        whole, path = self.recording.read_bytes(), self.folder / "broken.tar"
        said = "mneme-tune: error: '{}' is no bundle, or not a whole one: name what mneme-capture wrote\n".format(path)
        broken = [b"", b"nothing of the kind", whole[:len(whole) // 2]]
        about, kernel = ("bundle.json", b'{"device":"host"}'), ("kernels/k/kernel.json", b'{"name":"k"}')
        broken += [bundles.write(members) for members in (
            [("bundle.json", b"[]")], [about, ("kernels/k/kernel.json", b"7")], [about, kernel, ("instances/k/i.json", b"{")],
            [about, kernel, ("instances/k/i.json", b"{}")], [kernel, ("instances/k/i.json", b"{}")])]
        for archive in broken:
            path.write_bytes(archive)
            result = run([tool("tune"), path])
            self.assertEqual((result.status, result.error), (2, said))
        result = run([tool("tune"), self.folder / "absent.tar"])
        self.assertIn("absent.tar' cannot be read: No such file or directory", result.error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
