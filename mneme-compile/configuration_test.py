#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What configurations say beside the pipeline: launches under other dimensions, code specialised to a launch, plugins,
the texts that --save-ir keeps; from the command line to the verdict."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import bundles  # noqa: E402
from support import ROOT, TestCase, run, tool  # noqa: E402

# Each block's sum: what is left depends on how the work is divided into blocks.
SUMS = """
#include <hip/hip_runtime.h>
__global__ void sums(const int* in, int* out) {
  extern __shared__ int part[];
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  if (threadIdx.x) return;
  int sum = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) sum += part[i];
  out[blockIdx.x] = sum;
}
int main() {
  int *in, *out, values[512];
  for (int i = 0; i < 512; ++i) values[i] = i + 1;
  if (hipMalloc(&in, sizeof values) || hipMalloc(&out, sizeof values)) return 1;
  if (hipMemcpy(in, values, sizeof values, hipMemcpyHostToDevice) || hipMemset(out, 0, sizeof values)) return 1;
  sums<<<4, 128, 512>>>(in, out);
  return hipDeviceSynchronize();
}
"""

# Marks every function that it is run on, where the pipeline names it and at the end of the standard ones.
PLUGIN = """
#include <llvm/IR/Function.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/raw_ostream.h>
// What no plugin should do.
struct Say : llvm::PassInfoMixin<Say> {
  llvm::PreservedAnalyses run(llvm::Function&, llvm::FunctionAnalysisManager&) {
    llvm::outs() << "said by a plugin\\n";
    return llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};
struct Spoil : llvm::PassInfoMixin<Spoil> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    if (!function.isDeclaration()) function.back().back().eraseFromParent();
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};
struct Mark : llvm::PassInfoMixin<Mark> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    function.addFnAttr("marked-by-plugin");
    return llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};
extern "C" llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "mark", "1", [](llvm::PassBuilder& builder) {
    builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::FunctionPassManager& passes, auto) {
      if (name == "mark") passes.addPass(Mark());
      if (name == "say") passes.addPass(Say());
      if (name == "spoil") passes.addPass(Spoil());
      return name == "mark" || name == "say" || name == "spoil";
    });
    builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(Mark()));
    });
  }};
}
"""


class Configurations(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recording = cls.record(cls.build(ROOT / "tests" / "small.hip"))
        (cls.folder / "sums.hip").write_text(SUMS)
        cls.sums = cls.record(cls.build(cls.folder / "sums.hip"), name="sums.tar")

    def compile(self, *options, of=None, **how):
        return self.run_well([tool("compile"), *options, of or self.recording], **how).out

    def refused(self, reason, *options, of=None):
        self.assert_refused(run([tool("compile"), *options, of or self.recording]), 2, reason)

    def variants(self, bundle):
        return [bundles.parsed(member) for member in bundles.read(bundle) if member.name.endswith("/variant.json")]

    def report(self, bundle, status=0):
        result = run([tool("run")], [tool("verify")], input=bundle)
        self.assertEqual(result.statuses, [0, status], result.text())
        return list(map(json.loads, result.out.decode().splitlines()))

    def lines(self, *lines):
        path = self.folder / "variants.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def texts(self, *options, of=None):
        """What --save-ir keeps: of each variant its IR and its assembly."""
        folder = self.folder / "texts"
        shutil.rmtree(folder, ignore_errors=True)
        bundle = self.compile(*options, "--save-ir", folder, of=of)
        names = {variant["id"] for variant in self.variants(bundle)}
        self.assertEqual({path.name for path in folder.iterdir()}, {name + end for name in names for end in [".ll", ".s"]})
        return {name: ((folder / (name + ".ll")).read_text(), (folder / (name + ".s")).read_text()) for name in names}

    def test_other_blocks(self):
        for options, configuration in [(["--block", "64"], {"block": [64, 1, 1]}),
                                       (["--block", "96"], {"block": [96, 1, 1]}),
                                       (["--block", "32,4"], {"block": [32, 4, 1]}),
                                       (["--grid", "400"], {"grid": [400, 1, 1]}),
                                       (["--block", "1024", "--grid", "49"], {"grid": [49, 1, 1], "block": [1024, 1, 1]})]:
            bundle = self.compile(*options)
            self.assertEqual(bundles.parsed(bundles.read(bundle)[0])["version"], 3)
            for variant in self.variants(bundle):
                self.assertEqual({key: variant["configuration"].get(key) for key in configuration}, configuration)
            # (32, 4): the kernels look at x only, so that four threads have the same element, and add to it four times.
            several = options == ["--block", "32,4"]
            lines = self.report(bundle, status=1 if several else 0)
            self.assertEqual(len(lines), 4)
            for line in lines:
                self.assertEqual(line["verified"], not several or line["name"].startswith("scale"), line)

    def test_what_depends_on_its_blocks_is_not_verified_under_others(self):
        [line] = self.report(self.compile(of=self.sums))
        [line] = self.report(self.compile("--block", "64", of=self.sums), status=1)
        self.assertFalse(line["verified"])
        self.assertRegex(" ".join(line["reasons"]), r"it ran with the grid \(8, 1, 1\), the block \(64, 1, 1\) and 512 bytes of dynamic "
                         r"shared memory in place of the recorded \(4, 1, 1\), \(128, 1, 1\) and 512: that verifies only where")
        [line] = self.report(self.compile("--shared-mem", "4K", of=self.sums))
        self.assertTrue(line["verified"])

    def test_launch_bounds(self):
        bundle = self.compile("--launch-bounds", "64")
        for line in self.report(bundle, status=1):
            self.assertEqual(line["status"], "failed")
            self.assertRegex(" ".join(line["reasons"]), r"its launch bounds allow 64 threads in a block \('max_threads'\), and a "
                             r"block of \(128, 1, 1\) has 128")
        self.assertEqual(len(self.report(self.compile("--launch-bounds", "64", "--block", "64"))), 4)

    def test_launch_bounds_of_the_source(self):
        source = self.folder / "bounded.hip"
        source.write_text(SUMS.replace("__global__ void", "__global__ __launch_bounds__(128) void"))
        bounded = self.record(self.build(source, "bounded"), name="bounded.tar")
        [line] = self.report(self.compile("--block", "256", of=bounded), status=1)
        self.assertEqual(line["status"], "failed")
        self.assertRegex(" ".join(line["reasons"]), r"its launch bounds allow 128 threads in a block, and a block of \(256, 1, 1\) has 256")
        # Those of the configuration take their place.
        [line] = self.report(self.compile("--block", "256", "--launch-bounds", "256", of=bounded), status=1)
        self.assertEqual(line["status"], "not verified")

    def test_specialised_to_each_instance(self):
        texts = self.texts("--specialize-args", "all", "--specialize-dims", "-O2")
        self.assertEqual(len(texts), 4)
        for ir, _ in texts.values():
            self.assertIn("49999", ir)  # below n
            self.assertRegex(ir, r"icmp .*\b391\b")  # blocks; on some processors with others in a vector
        for ir, _ in self.texts("-O2").values():
            self.assertNotIn("49999", ir)
            self.assertNotRegex(ir, r"icmp .*\b391\b")
        # Constants do not keep neighbouring work-items from reading neighbouring elements together.
        for options in [[], ["--specialize-args", "all"]]:
            for ir, _ in self.texts("--target", "host:x86-64-v4", *options).values():
                self.assertIn("load <", ir)
                self.assertNotIn("masked.gather", ir)
        # Each has the amount that it was launched with.
        ends = [sorted(ir.count(f"float {value}") > 0 for ir, _ in texts.values())
                for value in ["5.000000e-01", "1.250000e+00", "3.000000e+00", "2.500000e-01"]]
        self.assertEqual(ends, [[False, False, False, True]] * 4)

        bundle = self.compile("--specialize-args", "all", "--specialize-dims")
        self.assertEqual(bundles.parsed(bundles.read(bundle)[0])["version"], 3)
        members = [member.name.split("/") for member in bundles.read(bundle)]
        for variant in self.variants(bundle):
            instance = variant["configuration"]["instance"]
            at = members.index(["variants", variant["kernel"], variant["id"], "variant.json"])
            self.assertEqual(members[at - 1], ["instances", variant["kernel"], instance + ".json"])
        lines = self.report(bundle)
        self.assertEqual({(line["variant"], line["instance"]) for line in lines},
                         {(v["id"], v["configuration"]["instance"]) for v in self.variants(bundle)})
        self.assertEqual(len(lines), 4)

    def test_arguments_by_name_or_number(self):
        """A kernel's names are its numbers: scale's n is another than add's."""
        by_name = self.variants(self.compile("--specialize-args", "n"))
        self.assertEqual({v["configuration"]["specialize_args"] for v in by_name}, {"2", "3"})
        for kernel, number in ("^add", "2"), ("^scale", "3"):
            by_number = self.variants(self.compile("--kernel", kernel, "--specialize-args", number))
            ids = {v["id"] for v in by_name if v["configuration"]["specialize_args"] == number}
            self.assertEqual({v["id"] for v in by_number}, ids)
        several = [{"specialize_args": text} for text in ["amount,n", "1,2", "n,1", " n , amount"]]
        bundle = self.compile("--kernel", "^add", "--variants", self.lines(*several))
        self.assertEqual({v["configuration"]["specialize_args"] for v in self.variants(bundle)}, {"1,2"})
        self.assertEqual(len(self.report(bundle)), 2, "one for each instance")

    def test_arguments_without_names(self):
        """As in recordings that were made before there were any: by number only."""
        members = []
        for member in bundles.read(self.recording.read_bytes()):
            if member.name.endswith("/kernel.json"):
                info = bundles.parsed(member)
                for argument in info["arguments"]:
                    self.assertTrue(argument.pop("name"))
                member.data = bundles.compact(info)
            members.append(member)
        unnamed = self.folder / "unnamed.tar"
        unnamed.write_bytes(bundles.write(members))
        self.compile("--kernel", "^add", "--specialize-args", "2", of=unnamed)
        refused = run([tool("compile"), "--kernel", "^add", "--specialize-args", "n", unnamed])
        self.assertEqual(refused.status, 2)
        self.assertIn("has no argument n: it has 3, counted from 0; their names are not known", refused.error)

    def test_edited_ir_of_one_of_two_with_the_same_name(self):
        members, kernels = bundles.read(self.recording.read_bytes()), {}
        for member in members:
            if member.name.endswith("/kernel.json"):
                info = bundles.parsed(member)
                kernels[info["demangled"].split("(")[0]] = info["id"]
                member.data = bundles.compact({**info, "demangled": "same()"})
        instance = next(bundles.parsed(member)["id"] for member in members
                        if member.name.startswith(f"instances/{kernels['add']}/"))
        both, one, ir = (self.folder / name for name in ("both.tar", "one.tar", "add.ll"))
        both.write_bytes(bundles.write(members))
        self.run_well([tool("extract-ir"), "-S", "--instance", instance, "-o", ir, both])
        refused = run([tool("compile"), "--ir", ir, both])
        self.assert_refused(refused, 2, "two are called 'same.*', .*: have mneme-restore --instance write a bundle")
        for kernel in kernels.values():
            self.assertIn(kernel, refused.error)
        # As that says.
        self.run_well([tool("restore"), "--instance", instance, "-o", one, both])
        self.report(self.compile("--ir", ir, of=one))

    def test_one_instance_of_them(self):
        [variant, *_] = self.variants(self.compile("--specialize-dims"))
        instance = variant["configuration"]["instance"]
        for options in [["--specialize-dims", "--instance", instance[:12]],
                        ["--variants", self.lines({"specialize_dims": True, "instance": instance})]]:
            [alone] = self.variants(self.compile(*options))
            self.assertEqual(alone["id"], variant["id"])
        self.assertEqual([v["id"] for v in self.variants(self.compile("--variants", self.lines(variant["configuration"])))],
                         [variant["id"]])

    def test_in_bulk_beside_others(self):
        bundle = self.compile("--variants", self.lines({}, {"specialize_args": "1"}, {"specialize_args": "2"},
                                                       {"specialize_dims": True, "block": [64, 1, 1]}, {"block": [64, 1, 1]}))
        variants = self.variants(bundle)
        self.assertEqual(len(variants), 2 * 2 + 3 * 4)
        self.assertEqual([v for v in variants if "failed" in v], [])
        lines = self.report(bundle)
        self.assertEqual(len(lines), 5 * 4)
        # The same code under other dimensions is another run.
        self.assertFalse(any("block" in v["configuration"] and "same_as" in v for v in variants))

    def test_code_for_one_block_refuses_another(self):
        bundle = self.compile("--specialize-dims", "--kernel", "^add")
        members = bundles.read(bundle)
        for member in members:
            if member.name.endswith("/variant.json"):
                variant = bundles.parsed(member)
                # As if it were for launches of any kind.
                variant["configuration"]["block"] = [64, 1, 1]
                member.data = bundles.compact(variant)
        for line in self.report(bundles.write(members), status=1):
            self.assertEqual(line["status"], "failed")
            self.assertRegex(" ".join(line["reasons"]), r"runs code that was compiled for the grid \(391, 1, 1\) and the block "
                             r"\(128, 1, 1\) only")

    def test_limited_passes(self):
        def passes(*options):
            said = self.run_well([tool("compile"), "-v", "--kernel", "^add", *options, self.recording]).error
            return re.findall(r"'add\(.*?\)': (\d+) (.*) on (.*?)( \(skipped\))?$", said, re.MULTILINE)
        for target in ["host", "gfx90a"]:
            def texts(*options):
                return list(self.texts("--kernel", "^add", "--target", target, *options).values())
            self.assertNotEqual(texts("--opt-bisect", "0"), texts())
            self.assertEqual(texts("--opt-bisect", "1000000"), texts())
            listed = passes("--target", target, "--opt-bisect", "7")
            self.assertEqual([int(number) for number, *_ in listed], list(range(1, len(listed) + 1)))
            self.assertEqual([bool(skipped) for *_, skipped in listed], [number >= 7 for number in range(len(listed))])
            self.assertEqual(listed[0][1:3], ("Annotation2MetadataPass", "[module]"))
            self.assertTrue(any(where.startswith("function (") for _, _, where, _ in listed), "those of code generation")
            # The texts are another form of the same code.
            self.assertEqual(passes("--target", target, "--opt-bisect", "7", "--save-ir", self.folder / "texts"), listed)
        self.assertEqual(passes(), [])
        # One compilation's limit is no other's.
        bundle = self.compile("--kernel", "^add", "--variants", self.lines({"opt_bisect": 0}, {}, {"opt_bisect": 1000000}))
        first, second, third = self.variants(bundle)
        self.assertEqual([third.get("same_as"), "same_as" in second], [second["id"], False])
        self.assertEqual([first["configuration"]["opt_bisect"], "opt_bisect" in second["configuration"]], [0, False])
        self.report(bundle)
        self.refused("--opt-bisect takes at most 2147483647", "--opt-bisect", "4294967296")

    def test_a_plugin(self):
        source, plugin = self.folder / "plugin.cc", self.folder / "plugin.so"
        source.write_text(PLUGIN)
        flags = subprocess.run(["llvm-config-19", "--cppflags"], capture_output=True, text=True, check=True).stdout.split()
        subprocess.run(["clang++-19", "-std=c++17", "-fPIC", "-shared", "-fno-rtti", "-O1", *flags, source, "-o", plugin], check=True)
        mark = '"marked-by-plugin"'
        for options in [["--passes", "function(mark)"], ["-O2"]]:
            for ir, _ in self.texts("--load-pass-plugin", plugin, *options).values():
                self.assertIn(mark, ir)
        for ir, _ in self.texts("-O2").values():
            self.assertNotIn(mark, ir)
        self.refused("unknown pass name 'mark'|unknown function pass 'mark'", "--passes", "function(mark)")
        # A line may do without.
        bundle = self.compile("--load-pass-plugin", plugin, "--kernel", "^add", "--variants", self.lines({}, {"plugins": ""}))
        digest = bundles.digest(plugin.read_bytes())
        self.assertEqual([v["configuration"].get("plugins") for v in self.variants(bundle)], [digest, None])
        self.report(bundle)

        # What it prints is no part of the bundle; and what it breaks is told of.
        for lines in [[], ["--variants", self.lines({})]]:
            result = run([tool("compile"), "--load-pass-plugin", plugin, "--passes", "function(say)", *lines, self.recording])
            self.assertEqual(result.status, 0, result.text())
            self.assertIn("said by a plugin", result.error)
            self.report(result.out)
        self.refused(r"what the pipeline 'function\(spoil\)' left is not valid IR: .*does not have terminator",
                     "--load-pass-plugin", plugin, "--passes", "function(spoil)")

        source.write_text("int nothing;")
        subprocess.run(["clang++-19", "-fPIC", "-shared", source, "-o", self.folder / "none.so"], check=True)
        for file in ["none.so", "plugin.cc"]:
            self.refused("is not a pass plugin for this LLVM", "--load-pass-plugin", self.folder / file)
        self.refused("absent.so", "--load-pass-plugin", self.folder / "absent.so")

    def test_executions(self):
        bundle = self.compile("--kernel", "^add", "--variants", self.lines({}, {"warmup": 0, "iterations": 7}))
        runs = [bundles.parsed(member) for member in bundles.read(self.run_well([tool("run")], input=bundle).out)
                if member.name.startswith("runs/")]
        plain, other = self.variants(bundle)
        self.assertNotIn("same_as", other)
        for one in runs:
            counts = (one["warmup"], len(one["nanoseconds"]))
            self.assertEqual(counts, (1, 3) if one["variant"] == plain["id"] else (0, 7))

    def test_texts_of_many(self):
        texts = self.texts("--variants", self.lines({"passes": "default<O1>"}, {"attributes": "key=value"}, {"cpu": "haswell"}))
        self.assertEqual(len(texts), 6)
        for ir, assembly in texts.values():
            self.assertIn("define", ir)
            self.assertIn(".globl", assembly)
        for what in ['"key"="value"', '"target-cpu"="haswell"']:
            self.assertEqual(len([ir for ir, _ in texts.values() if what in ir]), 2)
        self.assert_refused(run([tool("compile"), "--save-ir", "/proc/none", self.recording]), 2, "cannot make the folder")

    def test_print_after(self):
        listed = self.run_well([tool("compile"), "--print-after", "list"]).out.decode()
        names = re.findall(r"(?m)^(\w+) +\S.*\.$", listed)
        self.assertEqual(names[:3] + names[-1:], ["configure", "raise", "flatten", "finish"])

        def printed(*options):
            result = run([tool("compile"), "--kernel", "^add", *options, self.recording])
            self.assertEqual(result.status, 0, result.text())
            parts = re.split(r"(?m)^; IR of 'add\(.*\)' after (\w+): .*\.$", result.error)
            return result.out, dict(zip(parts[1::2], parts[2::2]))

        plain, nothing = printed()
        self.assertEqual(nothing, {})
        bundle, texts = printed("--print-after", "flatten,block", "--print-after", "raise")
        self.assertEqual([*texts], ["raise", "flatten", "block"])
        self.assertIn("addrspace(", texts["raise"])
        self.assertNotIn("addrspace(", texts["flatten"])
        self.assertIn("mneme.local.id.x", texts["flatten"])
        self.assertIn("define internal void @mneme.run_block(", texts["block"])
        variants = [self.variants(one) for one in (plain, bundle)]
        self.assertEqual(variants[0], variants[1])
        self.assertEqual([*printed("--print-after", "all")[1]], names)
        # What was printed before a failure stays.
        result = run([tool("compile"), "--kernel", "^add", "--print-after", "object", "--passes", "internalize", self.recording])
        self.assertEqual(result.status, 2)
        self.assertIn("after object: ", result.error)

        self.refused(f"--print-after: 'unroll' is no pass; there are all, {', '.join(names)}", "--print-after", "raise,unroll")
        self.refused("--print-after is for one variant", "--print-after", "all", "--variants", self.lines({}))
        self.refused("not for --target hip:gfx90a", "--print-after", "all", "--target", "gfx90a")

    def test_fast_math_is_in_the_code(self):
        for ir, _ in self.texts("--fast-math", "fast", "-O1").values():
            self.assertRegex(ir, "f(add|mul) fast ")
        for ir, _ in self.texts("-O1").values():
            self.assertNotRegex(ir, "f(add|mul) fast ")

    def test_pipelines_that_lose_the_kernel(self):
        for target in ["host", "gfx90a"]:
            for passes in ["internalize", "internalize,globaldce"]:
                with self.subTest(target=target, passes=passes):
                    self.refused(f"the pipeline '{passes}' removes, renames or hides", "--kernel", "^add", "--target",
                                 target, "--passes", passes)
        # What only profilers ask for may lose its name.
        stripped = self.compile("--kernel", "^add", "--passes", "default<O2>,strip")
        self.assertEqual({line["status"] for line in self.report(stripped)}, {"verified"})

    def test_code_for_others_in_between(self):
        lines = self.lines({"passes": "default<O1>"}, {"target": "gfx90a"}, {"passes": "default<O2>"})
        bundle = self.compile("--kernel", "^add", "--variants", lines)
        judged = run([tool("run"), "--device", "host"], [tool("verify")], input=bundle)
        statuses = sorted(json.loads(line)["status"] for line in judged.out.decode().splitlines())
        self.assertEqual(statuses, ["failed"] * 2 + ["verified"] * 4, judged.text())

    def test_what_cannot_be(self):
        for reason, *options in [("allows 64 threads in a block, and --block .* has 128", "--launch-bounds", "64", "--block", "128"),
                                 ("--shared-mem 262145 is more than a block may have on host", "--shared-mem", "262145"),
                                 ("has no argument 3: it has 3", "--specialize-args", "3", "--kernel", "^add"),
                                 ("has no argument amounts: it has 3, counted from 0: data, amount, n", "--specialize-args", "amounts",
                                  "--kernel", "^add"),
                                 ("--specialize-args takes all, or arguments", "--specialize-args", "the amount"),
                                 ("--block takes one to three numbers", "--block", "8,x"),
                                 ("--block takes one to three numbers", "--block", "0"),
                                 ("--grid takes one to three numbers", "--grid", "1,1,1,1"),
                                 ("more than the 1024 that any device has", "--block", "33,32"),
                                 ("--launch-bounds takes one to two numbers .* 256,2", "--launch-bounds", "1,1,1"),
                                 ("--launch-bounds takes one to two numbers from 1 on", "--launch-bounds", "0"),
                                 ("--launch-bounds takes at most 1024", "--launch-bounds", "2048"),
                                 ("the second number of --launch-bounds is for NVIDIA's GPUs", "--launch-bounds", "64,2"),
                                 ("--inline-threshold is for GPUs", "--inline-threshold", "5"),
                                 ("--cpu takes a processor", "--cpu", "abacus"),
                                 ("--features takes features", "--features", "avx2"),
                                 ("--fast-math takes fast, or some of", "--fast-math", "quick"),
                                 ("--embed-ir is for AMD's GPUs, not for --target host:", "--embed-ir"),
                                 ("the value of --passes is empty", "--passes", ""),
                                 ("--attributes takes attributes", "--attributes", "quick"),
                                 ("--unroll-threshold takes at most", "--unroll-threshold", "4294967296")]:
            self.refused(reason, *options)
        # Of many, what a kernel lacks is that variant's failure.
        bundle = self.compile("--kernel", "^add", "--variants", self.lines({}, {"specialize_args": "3"}))
        self.assertEqual(sorted(line["status"] for line in self.report(bundle, status=1)), ["failed"] * 2 + ["verified"] * 2)
        bundle = self.compile("--kernel", "^add", "--variants", self.lines({"specialize_args": "amount,amounts"}))
        for variant in self.variants(bundle):
            self.assertRegex(variant["failed"], "has no argument amounts: it has 3, counted from 0: data, amount, n$")

    def test_the_last_of_an_option_given_twice_counts(self):
        """As clang has it."""
        for options, passes, level in ((["-O3", "-O1"], "default<O1>", 1), (["-O1", "-O3", "--codegen-opt", "0", "--codegen-opt=2"],
                                                                            "default<O3>", 2)):
            for variant in self.variants(self.compile("--kernel", "^add", *options)):
                configuration = variant["configuration"]
                self.assertEqual((configuration["passes"], configuration["codegen_opt"]), (passes, level))


if __name__ == "__main__":
    unittest.main(verbosity=2)
