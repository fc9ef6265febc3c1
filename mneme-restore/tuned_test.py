#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mneme-restore --tuned: what it chooses of a bundle with runs, what it must not choose, merging, and --deploy."""

import json
import pathlib
import re
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import bundles
from support import BUILD, PROGRAMS, ROOT, TestCase, run, tool

SLOW, FAST = {"passes": "default<O0>", "codegen_opt": 0}, {"passes": "default<O3>"}
SLOWER = {**SLOW, "form": "fiber"}
VARIANTS = [SLOW, FAST, SLOWER, {**FAST, "specialize_args": "all"}, {**FAST, "block": [64, 1, 1], "max_threads": 64}]
N = 50000


def choices(bundle):
    return [bundles.parsed(m) for m in bundles.read(bundle) if m.name.startswith("choices/")]


def make_clear(path):
    """Has slow variants take twice as long as others: on a busy machine measured times need not be clear."""
    members = bundles.read(path.read_bytes())
    configurations = {bundles.parsed(m)["id"]: bundles.parsed(m)["configuration"] for m in members
                      if m.name.endswith("variant.json")}
    for member in members:
        if member.name.startswith("runs/"):
            value = bundles.parsed(member)
            how = configurations[value["variant"]]
            slow = how["passes"] == SLOW["passes"] or how.get("block") == [8, 1, 1]
            value["nanoseconds"] = [2000 if slow else 1000 for _ in value["nanoseconds"]]
            member.data = bundles.compact(value)
    path.write_bytes(bundles.write(members))


def named(bundle, folder):
    return {m.name: m for m in bundles.read(bundle) if m.name.startswith(folder)}


class Tuned(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))
        cls.runs = cls.replay("runs.tar", VARIANTS, wrong="add", measured=True)

    @classmethod
    def replay(cls, name, variants, *, wrong=None, by=r"fsub \1float \2, \3", recording=None, rounds=6, measured=False):
        """The path of a bundle with runs of these configurations, and of an edited kernel, which is fast and wrong."""
        lines, path = cls.folder / f"{name}.jsonl", cls.folder / name
        lines.write_text("".join(json.dumps(line) + "\n" for line in variants))
        stages = [[tool("compile"), "--variants", lines, recording or cls.recording]]
        if wrong:  # what the later mneme-compile adds comes first
            text = run([tool("extract-ir"), "-S", "--kernel", rf"^{wrong}\b", cls.recording]).out.decode()
            edited, count = re.subn(r"fadd (contract )?float (%\S+), (%\S+)", by, text)
            assert count, text
            (cls.folder / "wrong.ll").write_text(edited)
            stages = [[tool("compile"), "-O3", "--ir", cls.folder / "wrong.ll", "--kernel", rf"^{wrong}\b", stages[0].pop()],
                      *stages]
        result = run(*stages, [tool("run"), "--iterations", "7" if measured else "1", "--rounds", str(rounds), "-o", path])
        if any(result.statuses):
            raise AssertionError(result.text())
        if not measured:
            make_clear(path)
        return path

    def tuned(self, *words, status=0, error=None):
        result = run([tool("restore"), "--tuned", *words])
        if error:
            self.assert_refused(result, status, error)
        self.assertEqual(result.status, status, result.text())
        return result

    def kernels_of(self, bundle):
        return {bundles.parsed(m)["id"]: bundles.parsed(m)["demangled"].partition("(")[0]
                for m in bundles.read(bundle) if m.name.endswith("/kernel.json")}

    def test_takes_what_is_verified_and_faster(self):
        made = self.tuned(self.runs)
        self.assertRegex(made.error, r"\d choice\(s\) for 2 kernel\(s\), for host:x86-64-v")
        members = bundles.read(made.out)
        info = bundles.parsed(members[0])
        self.assertEqual(info["memory"], "none")
        self.assertEqual(info["provenance"][-1]["tool"], "mneme-restore")
        self.assertEqual({m.name.split("/")[0] for m in members},
                         {"bundle.json", "kernels", "variants", "instances", "runs", "choices", "summary.json"})
        configurations = {bundles.parsed(m)["id"]: bundles.parsed(m)["configuration"] for m in members
                          if m.name.endswith("variant.json")}
        chosen = choices(made.out)
        self.assertEqual(set(configurations), {c["variant"] for c in chosen}, "no others")
        for configuration in configurations.values():
            self.assertEqual((configuration["passes"], configuration["ir"]), ("default<O3>", ""), "slow or wrong")
        self.assertEqual(sorted(self.kernels_of(made.out).values()), ["add", "scale"])
        runs = {name.split("/")[2:4][0]: None for name in named(made.out, "runs/")}
        self.assertEqual(set(runs), {name.split("/")[2].removesuffix(".json") for name in named(made.out, "instances/")})
        general = [c for c in chosen if "guards" not in c]
        self.assertEqual(len(general), 2, "one for each kernel, whose launches have the same dimensions")
        for choice in general:
            self.assertEqual((choice["instances"], choice["device"], choice["grid"], choice["block"]),
                             (2, "host", [(N + 127) // 128, 1, 1], [128, 1, 1]))
            self.assertEqual(choice["target"], configurations[choice["variant"]]["target"])
            self.assertGreater(choice["ratio"], choice["low"] - 1e-9)
            self.assertGreater(choice["low"], 1)
            self.assertGreater(choice["baseline_ns"], choice["median_ns"])
            key = {k: choice[k] for k in ("kernel", "device", "target", "grid", "block", "shared_bytes")}
            self.assertEqual(choice["id"], bundles.digest(json.dumps(key, separators=(",", ":")).encode()))

        # What it holds proves it.
        self.run_well([tool("verify")], input=made.out)
        self.assertEqual(self.tuned(self.runs).out, made.out, "the same bytes")
        self.assertEqual(choices(self.tuned("--reference", "first", self.runs).out), chosen)
        self.assertEqual(choices(self.tuned("-o", "-", "--reference", "recorded", self.runs).out), chosen)

    def test_constants_are_guarded(self):
        runs = self.replay("constants.tar", [SLOW, {**FAST, "specialize_args": "1,2"}])
        chosen = choices(self.tuned("--kernel", "^add", runs).out)
        self.assertEqual({(g["offset"], g["bytes"]) for c in chosen for g in c["guards"]},
                         {(8, struct.pack("<fi", amount, N).hex()) for amount in (0.5, 1.25)})
        for choice in chosen:
            self.assertEqual(choice["instances"], 1)

    def test_another_launch_is_said(self):
        runs = self.replay("block.tar", [SLOW, {**FAST, "block": [64, 1, 1]}])
        for choice in choices(self.tuned(runs).out):
            self.assertEqual(choice["launch"], {"grid": [2 * ((N + 127) // 128), 1, 1], "block": [64, 1, 1], "shared_bytes": 0})
            self.assertEqual(choice["block"], [128, 1, 1], "as the application launches it")

    def test_a_wrong_variant_is_never_chosen(self):
        runs = self.replay("wrong.tar", [SLOW], wrong="add")
        self.tuned(runs, status=2, error="no variant is verified and faster than the baseline")
        verified = run([tool("verify"), "--reference", "first"], input=runs)
        self.assertEqual(verified.status, 1)
        self.assertTrue(any(not json.loads(line)["verified"] for line in verified.out.splitlines()))
        # Where its tolerance lets it pass, it is right.
        made = self.tuned("--dtype", "f32", "--kind", "absolute", "--threshold", "1e9", runs)
        self.assertEqual(list(self.kernels_of(made.out).values()), ["add"])

    def test_right_once_is_not_right(self):
        # The first launch adds this number, the second another one.
        runs = self.replay("once.tar", [SLOW], wrong="add", by=r"fadd \1float \2, 5.000000e-01")
        verified = [json.loads(line) for line in run([tool("verify"), "--kernel", "^add"], input=runs).out.splitlines()]
        self.assertEqual([line["verified"] for line in verified if line["passes"] == "default<O3>"], [True, False])
        self.tuned(runs, status=2, error="nothing is tuned")
        first = next(line["instance"] for line in verified if line["verified"] and line["passes"] == "default<O3>")
        self.assertEqual(len(choices(self.tuned("--instance", first, runs).out)), 1, "there it is right")

    def test_launches_that_change_nothing_prove_nothing(self):
        source = self.folder / "idle.hip"
        source.write_text("""#include <hip/hip_runtime.h>
__global__ void idle(int* data, int n) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum = sum * 3 + data[(sum + i) & 63];
  if (n < 0) data[threadIdx.x] = sum;
}
int main() {
  int* data = nullptr;
  if (hipMalloc(&data, 256) != hipSuccess || hipMemset(data, 1, 256) != hipSuccess) return 1;
  idle<<<4, 64>>>(data, 1);
  return hipDeviceSynchronize() != hipSuccess;
}
""")
        runs = self.replay("idle.tar", [SLOW, FAST], recording=self.record(self.build(source), name="idle_recording.tar"))
        made = self.tuned(runs, status=2, error="nothing is tuned")
        self.assertRegex(made.error, r"1 faster variant\(s\) are left out: .*code that does nothing")

    def test_nothing_faster(self):
        runs = self.replay("slower.tar", [FAST, SLOW, SLOWER])
        path = self.folder / "nothing.tar"
        self.tuned("-o", path, runs, status=2, error="the application's own code stays")
        self.assertFalse(path.exists())
        path.write_text("of before")
        self.tuned("-o", path, runs, status=2, error="nothing is tuned")
        self.assertEqual(path.read_text(), "of before")
        slow = next(m.name.split("/")[2] for m in bundles.read(runs.read_bytes()) if m.name.endswith("variant.json")
                    and bundles.parsed(m)["configuration"]["passes"] == "default<O0>")
        made = self.tuned("--reference", slow, runs)
        self.assertRegex(made.error, r"warning: 2 instance\(s\) have no verified times of the baseline", "those of the other kernel")
        self.tuned(self.recording, status=2, error="put mneme-run before")
        self.tuned("--reference", "last", runs, status=2, error="--reference 'last' is neither")

    def test_stores_beside_the_memory_are_not_chosen(self):
        runs = self.replay("stray.tar", [SLOW, FAST])
        members = bundles.read(runs.read_bytes())
        slow = {bundles.parsed(m)["id"] for m in members if m.name.endswith("variant.json")
                and bundles.parsed(m)["configuration"]["passes"] == "default<O0>"}

        def with_stray_bytes(of_slow):
            for member in members:
                if member.name.startswith("runs/") and (bundles.parsed(member)["variant"] in slow) <= of_slow:
                    member.data = bundles.compact({**bundles.parsed(member), "stray_bytes": 8})
            runs.write_bytes(bundles.write(members))
            return runs

        self.tuned(with_stray_bytes(False), status=2, error="nothing is tuned")
        self.assertEqual(len(choices(self.tuned(with_stray_bytes(True)).out)), 2, "the application's own code does it, too")

    def test_one_instance(self):
        instance = next(m for m in bundles.read(self.runs.read_bytes()) if m.name.startswith("instances/"))
        made = self.tuned("--instance", bundles.parsed(instance)["id"][:8], self.runs).out
        self.assertEqual(list(named(made, "instances/")), [instance.name])
        self.assertEqual({c["instances"] for c in choices(made)}, {1})
        whole = self.folder / "whole.tar"
        self.tuned("-o", whole, self.runs)
        made = self.tuned("--instance", bundles.parsed(instance)["id"][:8], whole).out
        self.assertEqual(list(named(made, "instances/")), [instance.name])
        self.assertEqual({c["kernel"] for c in choices(made)}, {bundles.parsed(instance)["kernel"]})
        self.tuned("--kernel", "^nothing", self.runs, status=2, error="no kernel matches")

    def test_of_runs_that_are_missing_nothing_is_known(self):
        lines, runs = self.folder / "some.jsonl", self.folder / "some.tar"
        lines.write_text(json.dumps(SLOW) + "\n" + json.dumps(FAST) + "\n")
        instances = [bundles.parsed(m) for m in bundles.read(self.runs.read_bytes()) if m.name.startswith("instances/")]
        for instance in instances:
            self.run_well([tool("compile"), "--variants", lines, self.recording],
                          [tool("run"), "--instance", instance["id"], "--rounds", "6", "-o", runs])
            make_clear(runs)
            made = self.tuned(runs)
            self.assertNotIn("warning", made.error)
            made = made.out
            self.assertEqual([c["instances"] for c in choices(made)], [1])
            self.assertEqual([bundles.parsed(m)["id"] for m in named(made, "instances/").values()], [instance["id"]])

    def test_cooperative_launches_have_keys_of_their_own(self):
        recording = self.record(self.build(PROGRAMS / "grid_sync.hip"), name="grid_sync.tar")
        made = self.tuned(self.replay("cooperative.tar", [SLOW, FAST], recording=recording)).out
        recorded = {bundles.parsed(m)["kernel"]: bundles.parsed(m).get("cooperative") for m in named(made, "instances/").values()}
        self.assertIn(True, recorded.values())
        for choice in choices(made):
            self.assertEqual(choice.get("cooperative"), recorded[choice["kernel"]])

    def test_variants_for_an_amd_gpu(self):
        runs, lines = self.folder / "hip.tar", self.folder / "hip.jsonl"
        lines.write_text("".join(json.dumps(line) + "\n" for line in [{"block": [8, 1, 1]}, {}]))
        self.run_well([tool("compile"), "--target", "gfx90a", "--embed-ir", "--variants", lines, self.recording],
                      [tool("run"), "--device", "hip", "--rounds", "6", "-o", runs],
                      env={"LD_LIBRARY_PATH": str(BUILD / "lib" / "mneme" / "hostgpu" / "hip")})
        make_clear(runs)
        host, both = self.folder / "of_the_host.tar", self.folder / "both.tar"
        self.tuned("-o", host, self.runs)
        made = self.tuned("-o", both, runs, host)
        self.assertIn("for hip:gfx90a, host:x86-64-v", made.error)
        found = {(c["device"], c["target"]) for c in choices(both.read_bytes())}
        self.assertEqual({device for device, target in found if target == "hip:gfx90a"}, {"hip"})
        self.assertEqual(len(named(both.read_bytes(), "kernels/")), 4, "two kernels, once")
        self.run_well([tool("verify"), both])

    def test_few_rounds_are_said(self):
        runs = self.replay("few.tar", [SLOW, FAST], rounds=1)
        made = self.tuned(runs)
        self.assertIn("rest on fewer than 6 rounds", made.error)
        for choice in choices(made.out):
            self.assertNotIn("low", choice)

    def test_runs_lose_the_memory_that_they_cite(self):
        recording = self.record(self.build(PROGRAMS / "stencil_2d.hip"), name="stencil.tar")
        runs = self.replay("fused.tar", [SLOW, {**FAST, "fuse": True}], recording=recording)
        self.assertTrue(named(runs.read_bytes(), "memory/"), "results differ")
        self.tuned(runs, status=2, error="no variant is verified")
        made = self.tuned("--infer", runs)
        self.assertFalse(named(made.out, "memory/"))
        self.run_well([tool("verify"), "--infer"], input=made.out)

    def test_merges(self):
        whole = self.tuned(self.runs).out
        parts = []
        for kernel in ("add", "scale"):
            parts.append(self.folder / f"{kernel}.tar")
            self.tuned("--kernel", f"^{kernel}", "-o", parts[-1], self.runs)
            self.assertEqual(set(self.kernels_of(parts[-1].read_bytes()).values()), {kernel})
        merged = self.tuned(*parts).out
        for folder in ("kernels/", "variants/", "instances/", "runs/", "choices/"):
            self.assertEqual({name: m.data for name, m in named(merged, folder).items()},
                             {name: m.data for name, m in named(whole, folder).items()})
        twice = self.tuned(*parts, *parts).out
        self.assertEqual(choices(twice), choices(merged))

        # Of equal keys the one with the larger ratio.
        members = bundles.read(parts[0].read_bytes())
        better = self.folder / "better.tar"
        for member in members:
            if member.name.startswith("choices/"):
                member.data = bundles.compact({**bundles.parsed(member), "ratio": 1e6, "instances": 9, "new": [1]})
        better.write_bytes(bundles.write(members))
        for order in ([better, *parts], [*parts, better]):
            found = choices(self.tuned(*order).out)
            self.assertEqual({c["ratio"] == 1e6 for c in found if c["kernel"] == choices(better.read_bytes())[0]["kernel"]}, {True})
        found = choices(self.tuned(better, self.runs).out)
        self.assertIn(1e6, {c["ratio"] for c in found}, "with runs, too")
        for choice in found:
            self.assertEqual("new" in choice, choice["ratio"] == 1e6, "keys that are not known pass")

    def test_other_code_of_a_variant_is_not_mixed_up(self):
        one = self.folder / "one.tar"
        self.tuned("--kernel", "^add", "-o", one, self.runs)
        members = bundles.read(one.read_bytes())
        for place, member in enumerate(members):
            if member.name.endswith("/code.so"):
                member.data += b"\0"
                variant = {**bundles.parsed(members[place - 1]), "code_digest": bundles.digest(member.data)}
                members[place - 1].data = bundles.compact(variant)
            if member.name.startswith("choices/"):
                member.data = bundles.compact({**bundles.parsed(member), "ratio": 1e6})
        other = self.folder / "other.tar"
        other.write_bytes(bundles.write(members))
        made = self.tuned(one, other)
        self.assertIn("in two of the files with other code", made.error)
        self.assertEqual(choices(made.out), choices(one.read_bytes()))

    def test_functions_of_a_process_are_left_out(self):
        members = bundles.read(self.runs.read_bytes())
        old = next(i for i, name in self.kernels_of(self.runs.read_bytes()).items() if name == "add")
        new = bundles.digest(old.encode() + struct.pack("<Q", 8))
        for member in members:
            member.name = member.name.replace(old, new)
            if member.name.endswith(".json"):
                value = json.loads(member.data.replace(old.encode(), new.encode()))
                if member.name.endswith("/kernel.json") and value["id"] == new:
                    value.update(functions=["f"], function_addresses=[8], bitcode=bundles.parsed(member)["bitcode"])
                member.data = bundles.compact(value)
        renamed, ids = [], {}
        for member in members:  # what is named by a hash over the kernel's id
            text = member.data
            for before, after in ids.items():
                member.name = member.name.replace(before, after)
                text = text.replace(before.encode(), after.encode()) if member.name.endswith(".json") else text
            if text is not member.data:
                text = bundles.compact(json.loads(text))
            value = json.loads(text) if member.name.endswith(".json") else {}
            if member.name.startswith(f"instances/{new}/"):
                ids[value["id"]] = bundles.instance_id(value)
                member.name = member.name.replace(value["id"], ids[value["id"]])
                text = bundles.compact({**value, "id": ids[value["id"]]})
            renamed.append((member.name, text))
        path = self.folder / "functions.tar"
        path.write_bytes(bundles.write(renamed))
        made = self.tuned(path)
        self.assertRegex(made.error, r"kernel 'add\(.*is left out: its code has addresses of functions")
        self.assertEqual(list(self.kernels_of(made.out).values()), ["scale"])

    def test_other_members_and_cut_bundles(self):
        members = bundles.read(self.runs.read_bytes())
        extra = self.folder / "extra.tar"
        extra.write_bytes(bundles.write([members[0], ("notes.txt", b"mine"), *members[1:]]))
        made = self.tuned(extra)
        self.assertEqual(named(made.out, "notes")["notes.txt"].data, b"mine")
        cut = self.folder / "cut.tar"
        cut.write_bytes(self.runs.read_bytes()[:members[-2].begin])
        made = self.tuned(cut, status=2, error="was cut short .* before the cut")
        self.assertTrue(choices(made.out))
        self.assertTrue(bundles.parsed(bundles.read(made.out)[-1])["truncated"])
        cut.write_bytes(self.runs.read_bytes()[:members[3].begin])
        self.tuned(cut, status=2, error="was cut short .*; nothing is tuned")

    def test_what_cannot_be_restored(self):
        tuned = self.folder / "memoryless.tar"
        self.tuned("-o", tuned, self.runs)
        for words in ([], ["--raw"], ["--dump", self.folder / "dump"], ["--check", "--device", "host"]):
            self.assert_refused(run([tool("restore"), *words, tuned]), 2, "holds no memory to restore")

    def test_bad_input(self):
        tuned = self.tuned(self.runs).out

        def fault(change, pattern):
            members = bundles.read(tuned)
            member = next(m for m in members if m.name.startswith("choices/"))
            change(member)
            damaged = self.folder / "damaged.tar"
            damaged.write_bytes(bundles.write(members))
            for words in (["restore", "--tuned"], ["verify"], ["compile"], ["extract-ir", "--list"]):
                result = run([tool(words[0]), *words[1:], damaged])
                self.assert_refused(result, 2, pattern)

        def edit(**keys):
            def change(member):
                member.data = bundles.compact({**bundles.parsed(member), **keys})
            return change

        def flip(member):
            member.data = member.data[:40] + bytes([member.data[40] ^ 1]) + member.data[41:]

        fault(flip, "choices/")
        fault(edit(variant=32 * "f"), "no variant of its kernel that may be chosen")
        fault(edit(grid=[1, 1, 1]), "its key does not have its hash")
        fault(edit(launch={"grid": [1, 1, 1], "block": [1, 1, 1], "shared_bytes": 0}), "says another launch")
        fault(edit(ratio=0.5), "'ratio' is not above 1")

    def test_bad_usage(self):
        for words, pattern in ((["--infer"], "--infer needs --tuned"), (["--deploy", "x"], "--deploy needs --tuned"),
                               (["--reference", "first"], "--reference needs --tuned"),
                               (["--tuned", "--raw"], "--tuned writes a bundle without memory"),
                               (["--tuned", "--deploy", "x", "-o", "y"], "--deploy and --output both"),
                               (["--tuned", "--infer-kind", "relative"], "--infer-kind needs --infer")):
            self.assert_refused(run([tool("restore"), *words, self.runs]), 2, pattern)
        run_with = run([tool("restore"), self.recording], env={"MNEME_INFER": "1"})
        self.assertEqual(run_with.status, 0, "a variable is not for one tool")

    def for_a_gpu(self, bundle):
        """The same choices, for an NVIDIA GPU: with code that no GPU can run."""
        members = bundles.read(bundle)
        ids = {}
        for member in members:
            for before, after in ids.items():
                member.name = member.name.replace(before, after)
            if not member.name.endswith(".json"):
                continue
            text = member.data.decode()
            for before, after in ids.items():
                text = text.replace(before, after)
            value = json.loads(text)
            if member.name.endswith("variant.json"):
                value["configuration"]["target"] = "cuda:sm_90"
                configuration = json.dumps(value["configuration"], separators=(",", ":"))
                ids[value["id"]] = bundles.digest((value["kernel"] + configuration).encode())
                member.name = member.name.replace(value["id"], ids[value["id"]])
                value["id"] = ids[value["id"]]
            if member.name.startswith("choices/"):
                value.update(device="cuda", target="cuda:sm_90")
                key = {k: value[k] for k in ("kernel", "device", "target", "grid", "block", "shared_bytes", "guards") if k in value}
                value["id"] = bundles.digest(json.dumps(key, separators=(",", ":")).encode())
                member.name = f"choices/{value['kernel']}/{value['id']}.json"
            member.data = bundles.compact(value)
        return bundles.write(members)

    def test_deploys_what_is_for_a_gpu(self):
        host, gpu, folder = self.folder / "host.tar", self.folder / "gpu.tar", self.folder / "deployed" / "here"
        self.tuned("-o", host, self.runs)
        self.tuned("--deploy", folder, host, status=2, error="for the host device only, which is a part of Mneme")
        self.assertFalse(folder.exists())
        gpu.write_bytes(self.for_a_gpu(host.read_bytes()))
        self.tuned("--deploy", folder, gpu, host)
        self.assertEqual({path.name for path in folder.iterdir()}, {"libmneme-record.so", "tuned.tar", "run"})
        self.assertEqual({c["target"].partition(":")[0] for c in choices((folder / "tuned.tar").read_bytes())}, {"cuda", "host"},
                         "several targets go together")
        shown = run([folder / "run", "/bin/sh", "-c", "echo $LD_PRELOAD; echo $MNEME_APPLY; echo $0 \"$@\"", "a", "b c"],
                    env={"LD_PRELOAD": "", "MNEME_APPLY": ""})
        self.assertEqual(shown.out.decode().splitlines(),
                         [str(folder / "libmneme-record.so"), str(folder / "tuned.tar"), "a b c"], shown.text())
        elsewhere = self.folder / "with a space"
        self.tuned("--deploy", elsewhere, gpu)
        self.assertEqual(run([elsewhere / "run", "true"]).status, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
