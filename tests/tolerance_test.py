#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verdicts by annotation, by option and by what the kernel stores, on a kernel whose result is changed by a known factor."""

import json
import re
import unittest

import bundles
from support import ROOT, TestCase, run, tool

ANNOTATED = ROOT / "tests" / "annotated.hip"


# LLVM folds this division to another NaN than the processor gives, which shows where it goes through shared memory.
DIVIDES = """\
#include <hip/hip_runtime.h>

__global__ void divide(float* out, float x, float y) {
  __shared__ float quotients[32];
  quotients[threadIdx.x] = x / y;
  __syncthreads();
  out[threadIdx.x] = quotients[threadIdx.x ^ 1];
}

int main() {
  float* out = nullptr;
  if (hipMalloc(&out, 32 * sizeof(float)) || hipMemset(out, 0, 32 * sizeof(float))) return 1;
  divide<<<1, 32>>>(out, 0.0f, 0.0f);
  return hipDeviceSynchronize();
}
"""


# A million results of about 1, of which every 1000th is nearly 0. No term is skipped when it is recorded.
COMBINES = """\
#include <hip/hip_runtime.h>

constexpr int kCount = 1 << 20;

__global__ void combine(const float* x, const float* y, float* out, int skipped) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float term = 0.5f * y[i];
  if (i == skipped) term = 0;
  out[i] = x[i] - term;
}

int main() {
  static float x[kCount], y[kCount];
  for (int i = 0; i < kCount; i++) {
    x[i] = 1 + static_cast<float>(i % 1009) / 1009;
    y[i] = i % 1000 ? -x[i] : 2 * x[i] - 3e-7f;
  }
  float *dx = nullptr, *dy = nullptr, *out = nullptr;
  if (hipMalloc(&dx, sizeof x) || hipMalloc(&dy, sizeof y) || hipMalloc(&out, sizeof x)) return 1;
  hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice);
  hipMemcpy(dy, y, sizeof y, hipMemcpyHostToDevice);
  hipMemset(out, 0, sizeof x);
  combine<<<kCount / 256, 256>>>(dx, dy, out, -1);
  return hipDeviceSynchronize();
}
"""


# All that may reach `out` stores floats, but in vectors, structures and zeros of other types; the pointer to integers
# comes out of memory.
STORES = """\
#include <hip/hip_runtime.h>

struct Triple { float x, y, z; };

__global__ void store(float* __restrict__ out, const Triple* triples, int* const* counts) {
  int i = threadIdx.x;
  out[i] = 0.5f * i;
  reinterpret_cast<float4*>(out)[64 + i] = make_float4(i, 1, 2, 3);
  reinterpret_cast<Triple*>(out)[171 + i] = triples[i];
  reinterpret_cast<int*>(out)[768 + i] = 0;
  *counts[i] = i;
}

int main() {
  float* out = nullptr;
  Triple* triples = nullptr;
  int *numbers = nullptr, **counts = nullptr, *pointers[64];
  if (hipMalloc(&out, 1024 * sizeof(float)) || hipMalloc(&triples, 64 * sizeof(Triple)) ||
      hipMalloc(&numbers, 64 * sizeof(int)) || hipMalloc(&counts, sizeof pointers)) return 1;
  for (int i = 0; i < 64; i++) pointers[i] = numbers + i;
  hipMemset(out, 1, 1024 * sizeof(float));
  hipMemset(triples, 0, 64 * sizeof(Triple));
  hipMemset(numbers, 0, 64 * sizeof(int));
  hipMemcpy(counts, pointers, sizeof pointers, hipMemcpyHostToDevice);
  store<<<1, 64>>>(out, triples, counts);
  return hipDeviceSynchronize();
}
"""


class SharedTypes(TestCase):
    def recorded(self, source):
        file = self.folder / "stores.hip"
        file.write_text(source)
        return self.record(self.build(file, "stores", "-O2"), name="stores.tar")

    def of_older_inject(self, recording):
        """The same without what mneme-inject found out about the kernel's stores."""
        members = bundles.read(recording.read_bytes())
        for member in members:
            if member.name.endswith("/kernel.json"):
                info = bundles.parsed(member)
                del info["stores"]
                member.data = bundles.compact(info)
        older = self.folder / "older.tar"
        older.write_bytes(bundles.write(members))
        return older

    def stores(self, recording, *options):
        """Of the one variant that mneme-compile makes."""
        compiled = self.run_well([tool("compile"), *options, recording]).out
        (variant,) = [bundles.parsed(m) for m in bundles.read(compiled) if m.name.endswith("/variant.json")]
        return variant["id"], variant["stores"]

    def inferred(self, source):
        """{size of the segment: its type} of those that --infer finds one for."""
        runs = self.folder / "stored.tar"
        self.run_well([tool("compile"), self.recorded(source)], [tool("run"), "-o", runs])
        line = json.loads(self.run_well([tool("verify"), "--infer", runs]).out)
        return {segment["size"]: segment["dtype"] for segment in line["segments"] if segment["policy"] == "inferred"}

    def test_the_type_that_all_stores_share_is_found(self):
        self.assertEqual(self.inferred(STORES), {4096: "f32"})

    def test_a_type_that_not_all_share_is_not(self):
        self.assertEqual(self.inferred(STORES.replace("__restrict__ ", "")), {})
        self.assertEqual(self.inferred(STORES.replace("[768 + i] = 0", "[768 + i] = i")), {})

    def test_stores_are_found_when_the_kernel_is_injected(self):
        """And are what the compiler finds of a recording in which they are missing, for any target."""
        expected = [{"type": "i32"}, {"argument": 0, "type": "f32", "restrict": True}]
        recording = self.recorded(STORES)
        older = self.of_older_inject(recording)
        for target in ["host", "gfx90a"]:
            with self.subTest(target):
                found = self.stores(recording, "--target", target)
                self.assertEqual(found[1], expected)
                self.assertEqual(self.stores(older, "--target", target), found)

    def test_recorded_stores_are_taken(self):
        """What the host device's front end would find is not asked for."""
        recording = self.recorded(STORES)
        members = bundles.read(recording.read_bytes())
        for member in members:
            if member.name.endswith("/kernel.json"):
                member.data = bundles.compact({**bundles.parsed(member), "stores": [{"argument": 8, "type": "f64"}]})
        recording.write_bytes(bundles.write(members))
        for options in [["--target", "host"], ["--target", "host", "-O0"], ["--target", "gfx90a"]]:
            with self.subTest(options):
                self.assertEqual(self.stores(recording, *options)[1], [{"argument": 8, "type": "f64"}])

    def test_stores_that_only_the_compiler_can_tell(self):
        """Assembly: the compiler reads it."""
        source = STORES.replace("  *counts[i] = i;", "  *counts[i] = i;\n  __builtin_amdgcn_s_sleep(1);\n"
                                "  asm volatile(\"s_nop 0\");")
        (kernel,) = [bundles.parsed(m) for m in bundles.read(self.recorded(source).read_bytes())
                     if m.name.endswith("/kernel.json")]
        self.assertNotIn("stores", kernel)
        self.assertEqual(self.inferred(source), {4096: "f32"})


class NearZero(TestCase):
    """Errors by the scale of a buffer, of which some elements are nearly 0."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.folder / "combines.hip"
        source.write_text(COMBINES)
        cls.recording = cls.record(cls.build(source, "combines", "-O2"), name="combines.tar")
        cls.ir = run([tool("extract-ir"), "-S", cls.recording]).out.decode()

    def runs(self, pattern, replacement, *options):
        """Replays with the one place in the IR that matches changed."""
        self.assertEqual(len(re.findall(pattern, self.ir)), 1, self.ir)
        edited = self.folder / "combines.ll"
        edited.write_text(re.sub(pattern, replacement, self.ir))
        bundle = self.folder / "combined.tar"
        self.run_well([tool("compile"), "--ir", edited, self.recording], [tool("run"), *options, "-o", bundle])
        return bundle

    def rounded(self, *options):
        """All results are off by what rounding costs those of about 1."""
        noise = r"%exact = fsub \2float \3\n  \1 = fadd float %exact, 0x3E60000000000000"  # 2^-25
        return self.runs(r"(%[\w.]+) = fsub (contract )?float ([^\n!]+)", noise, *options)

    def verify(self, runs, *options):
        result = run([tool("verify"), *options, runs])
        lines = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertEqual(len(lines), 1, result.text())
        self.assertEqual(result.status, 0 if lines[0]["verified"] else 1, result.text())
        return lines[0]

    def test_rounding_near_zero_passes_by_the_scale(self):
        runs = self.rounded()
        line = self.verify(runs, "--infer")
        self.assertTrue(line["verified"])
        segment = line["segments"][0]
        self.assertEqual((segment["policy"], segment["dtype"], segment["error_kind"]), ("inferred", "f32", "scaled"))
        errors = segment["errors"]
        self.assertLess(errors["scaled"], 1e-6)
        self.assertGreater(errors["relative"], 1e-2)
        self.assertGreater(errors["ulps"], 1e5)
        self.assertAlmostEqual(errors["scale"], 2.29, places=2)
        line = self.verify(runs, "--infer", "--infer-kind", "relative")
        self.assertFalse(line["verified"])
        self.assertRegex(line["reasons"][0], r"its relative error \(linf\) is .*; the largest errors: absolute .*, relative "
                                             r".*, scaled .* \(scale 2\.29\), .* ULPs")
        table = run([tool("verify"), "--infer", "--format", "table", runs])
        self.assertIn("inferred: f32 scaled linf <= 0.0001 of 1 segment", table.out.decode())

    def test_one_wrong_term_of_a_million_fails(self):
        runs = self.runs(r"(icmp eq i32 %[\w.]+), %[\w.]+", r"\1, 777777")
        line = self.verify(runs, "--infer")
        self.assertFalse(line["verified"])
        self.assertEqual((line["segments"][0]["differ"], line["segments"][0]["worst"]["index"]), (1, 777777))
        self.assertRegex(line["reasons"][0], r"its scaled error \(linf\) is .*; 1 of 1048576 elements differ")
        self.assertFalse(self.verify(self.runs(r"(icmp eq i32 %[\w.]+), %[\w.]+", r"\1, 777000"), "--infer")["verified"])

    def test_a_scale_that_is_given(self):
        kind = "--kind", "scaled", "--threshold", "1e-6"
        self.assertTrue(self.verify(self.rounded(), *kind)["verified"])
        self.assertTrue(self.verify(self.rounded(), *kind, "--scale", "1")["verified"])
        line = self.verify(self.rounded(), *kind, "--scale", "0.001")
        self.assertFalse(line["verified"])
        self.assertRegex(line["reasons"][0], r"scaled .* \(scale 0\.001\)")
        policies = self.folder / "policies"
        policies.write_text('{"kind":"scaled","threshold":1e-6,"scale":0.001}\n')
        self.assertFalse(self.verify(self.rounded(), "--policies", policies)["verified"])
        line = self.verify(self.rounded("--max-diff", "0"), *kind, "--scale", "1")
        self.assertRegex(line["reasons"][0], "cannot be judged as f32 by scaled errors, because .*--max-diff")
        for wrong in "0", "-1", "inf", "x":
            result = run([tool("verify"), *kind, "--scale", wrong, "/dev/null"])
            self.assertEqual(result.status, 2, result.text())
        result = run([tool("verify"), "--infer-kind", "relative", "/dev/null"])
        self.assertEqual(result.status, 2, result.text())
        self.assertIn("--infer", result.error)

    def test_nothing_compared_is_said(self):
        for options, said in ((["--threshold", "inf"], True), (["--threshold", "1e300"], False)):
            result = run([tool("verify"), *options, "--dtype", "f32", "--format", "table"], input=self.rounded())
            self.assertEqual(result.status, 0, result.text())
            self.assertEqual("are verified although nothing is compared: the threshold inf lets any result pass" in result.error,
                             said, result.text())
            self.assertEqual(b"(threshold inf)" in result.out, said)

    def test_ulps(self):
        self.assertFalse(self.verify(self.rounded(), "--kind", "ulp", "--threshold", "100000")["verified"])
        self.assertTrue(self.verify(self.rounded(), "--kind", "ulp", "--threshold", "4000000")["verified"])


class Tolerances(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        include = f"-I{ROOT / 'lib' / 'annotate'}"
        cls.annotated = cls.record(cls.build(ANNOTATED, "annotated", "-O3", include), name="annotated.tar")
        plain = cls.folder / "plain.hip"
        plain.write_text(re.sub(r"mneme::annotate.*?\}\);", "", ANNOTATED.read_text(), flags=re.S))
        cls.plain = cls.record(cls.build(plain, "plain", "-O3", include), name="plain.tar")

    def runs(self, recording, factor, *options):
        """Replays with the stored results multiplied by a factor, into a bundle."""
        ir = run([tool("extract-ir"), "-S", recording]).out.decode()
        store = re.search(r"store double (%[\w.]+), ptr", ir)
        scaled = f"%scaled = fmul double {store[1]}, {factor!r}\n  store double %scaled, ptr"
        edited = self.folder / "edited.ll"
        edited.write_text(ir.replace(store[0], scaled, 1))
        bundle = self.folder / "runs.tar"
        self.run_well([tool("compile"), "--ir", edited, recording], [tool("run"), *options, "-o", bundle])
        return bundle

    def verify(self, runs, *options):
        """The lines of the report, in the order of the launches."""
        result = run([tool("verify"), *options, runs])
        lines = [json.loads(line) for line in result.out.decode().splitlines()]
        self.assertEqual(result.status, 0 if all(line["verified"] for line in lines) else 1, result.text())
        self.assertEqual(len(lines), 2, result.text())
        return lines

    def verified(self, runs, *options):
        return [line["verified"] for line in self.verify(runs, *options)]

    def segment(self, line, tag):
        return next(s for s in line["segments"] if s.get("tag") == tag)

    def test_each_launch_is_judged_as_it_was_annotated(self):
        for factor, expected in (1.0, [True, True]), (1.004, [True, True]), (1.007, [True, False]), (1.02, [False] * 2):
            with self.subTest(factor=factor):
                self.assertEqual(self.verified(self.runs(self.annotated, factor)), expected)

    def test_the_report_names_the_policy_and_the_worst_element(self):
        loose, tight = self.verify(self.runs(self.annotated, 1.007))
        segment = self.segment(tight, "tight")
        self.assertEqual((segment["policy"], segment["dtype"], segment["error_kind"], segment["norm"]),
                         ("annotation", "f64", "relative", "linf"))
        self.assertAlmostEqual(segment["error"], 0.007, places=9)
        self.assertEqual((segment["threshold"], segment["elements"], segment["differ"]), (0.005, 1000, 999))
        worst = segment["worst"]
        self.assertAlmostEqual(float(worst["actual"]) / float(worst["expected"]), 1.007, places=9)
        self.assertRegex(tight["reasons"][0], r"\('tight'\) of argument 'sums': its relative error \(linf\) is 0\.007, "
                                              r"more than 0\.005; 999 of 1000")
        self.assertTrue(self.segment(loose, "loose")["verified"])
        self.assertEqual(self.segment(loose, "input")["error"], 0)

    def test_nans_of_other_bits(self):
        source = self.folder / "divides.hip"
        source.write_text(DIVIDES)
        recording = self.record(self.build(source, "divides", "-O2"), name="divides.tar")
        runs = self.folder / "divided.tar"
        self.run_well([tool("compile"), "--specialize-args", "all", recording], [tool("run"), "-o", runs])
        result = run([tool("verify"), runs])
        self.assertEqual(result.status, 1, result.text())
        self.assertIn("32 elements are NaN in both, with other bits, and nothing else differs: --nan equal accepts that",
                      result.error)
        self.run_well([tool("verify"), "--nan", "equal", runs])
        self.run_well([tool("verify"), "--infer", runs])

    def test_options_override_what_was_recorded(self):
        runs = self.runs(self.annotated, 1.007)
        self.assertEqual(self.verified(runs, "--segment", "tight", "--threshold", "0.01"), [True, True])
        self.assertEqual(self.verified(runs, "--threshold", "0.01"), [True, True])
        self.assertEqual(self.verified(runs, "--threshold", "0"), [False, False])
        self.assertEqual(self.verified(runs, "--segment", "loose", "--norm", "l1", "--segment", "tight",
                                       "--kind", "absolute", "--threshold", "14"), [False, True])
        address = self.segment(self.verify(runs)[0], "loose")["address"]
        self.assertEqual(self.verified(runs, "--segment", address, "--threshold", "0.02"), [True, True])
        policies = self.folder / "policies"
        policies.write_text('{"segment":"loose","norm":"l1"}\n\n{"segment":"tight","threshold":0.01}\n')
        self.assertEqual(self.verified(runs, "--policies", policies), [False, True])
        self.assertEqual(self.verified(runs, "--policies", policies, "--segment", "loose", "--norm", "linf"), [True] * 2)

    def test_another_type_needs_the_differing_blocks(self):
        options = "--segment", "tight", "--dtype", "i64", "--kind", "absolute", "--threshold", "1e17"
        self.assertEqual(self.verified(self.runs(self.annotated, 1.007), *options), [True, True])
        lines = self.verify(self.runs(self.annotated, 1.007, "--max-diff", "0"), *options)
        self.assertRegex(lines[1]["reasons"][0], "cannot be judged as i64.*--max-diff")
        self.assertEqual(self.verified(self.runs(self.annotated, 1.007, "--max-diff", "0")), [True, False])

    def test_recheck(self):
        self.assertEqual(self.verified(self.runs(self.annotated, 1.007), "--recheck"), [True, False])
        self.assertEqual(self.verified(self.runs(self.annotated, 1.004, "--max-diff", "0"), "--recheck"), [False] * 2)

    def test_without_annotation(self):
        small, large = self.runs(self.plain, 1 + 1e-12), None
        self.assertEqual(self.verified(small), [False, False])
        lines = self.verify(small, "--infer")
        self.assertEqual([line["verified"] for line in lines], [True, True])
        self.assertEqual((lines[0]["segments"][0]["policy"], lines[0]["segments"][0]["dtype"]), ("inferred", "f64"))
        large = self.runs(self.plain, 1 + 1e-6)
        self.assertEqual(self.verified(large, "--infer"), [False, False])

    def test_wrong_code_does_not_choose_its_tolerance(self):
        """Half precision passes with a hundredth; what is stored as that is judged as what was recorded there."""
        ir = run([tool("extract-ir"), "-S", self.plain]).out.decode()
        store = re.search(r"store double (%[\w.]+), ptr ([^,]+),", ir)
        edited = self.folder / "halves.ll"
        halves = (f"%scaled = fmul double {store[1]}, 1.005\n  %bits = bitcast double %scaled to <4 x half>\n"
                  f"  store <4 x half> %bits, ptr {store[2]},")
        edited.write_text(ir.replace(store[0], halves, 1))
        runs = self.folder / "halves.tar"
        self.run_well([tool("compile"), "--ir", edited, self.plain], [tool("run"), "-o", runs])
        for line in self.verify(runs, "--infer"):
            self.assertFalse(line["verified"])
            self.assertEqual(line["segments"][0]["dtype"], "f64")

    def test_it_says_why_nothing_is_inferred(self):
        text = (self.folder / "plain.hip").read_text()
        mixed = self.folder / "mixed.hip"
        mixed.write_text(text.replace("sums[i] += in[i] + static_cast<T>(i);", "{ sums[i] += in[i] + static_cast<T>(i); "
                                      "if (i == 999) reinterpret_cast<float*>(sums)[0] = 1; }"))
        include = f"-I{ROOT / 'lib' / 'annotate'}"
        recording = self.record(self.build(mixed, "mixed", "-O3", include), name="mixed.tar")
        for line in self.verify(self.runs(recording, 1 + 1e-12), "--infer"):
            self.assertFalse(line["verified"])
            self.assertRegex(line["reasons"][0], "; it is compared byte for byte, because the kernel's stores that may reach "
                                                 "it have no one type")

    def test_wrong_options_are_refused(self):
        runs = self.runs(self.annotated, 1.0)
        policies = self.folder / "wrong"
        for line, pattern in (('{"segment":"tight","treshold":1}', "wrong, line 2: 'treshold' is none of segment, dtype"),
                              ('{"segment":"tight","dtype":"f80"}', "wrong, line 2: 'dtype': 'f80' is none of"),
                              ('{"segment":"tight","norm":2}', "wrong, line 2: 'norm' is not a text"),
                              ('{"segment":"","threshold":1}', "wrong, line 2: 'segment' is empty"),
                              ('{"threshold":1,"threshold":0}', "wrong, line 2: 'threshold' is there twice"),
                              ('{"segment":"tight"}', "wrong, line 2: give dtype")):
            with self.subTest(line=line):
                policies.write_text(f'{{"threshold":1}}\n{line}\n')
                self.assert_refused(run([tool("verify"), "--policies", policies, runs]), 2, pattern)
        for options, pattern in ((["--segment", "nobody", "--threshold", "1"], "no run has a segment 'nobody'"),
                                 (["--segment", "tight"], "--segment tight: give --dtype, --kind, --norm, --threshold or --scale"),
                                 (["--dtype", "f80"], "--dtype: 'f80' is none of"),
                                 (["--norm", "l3"], "--norm: 'l3' is none of none, l1, l2, linf"),
                                 (["--threshold", "-1"], "'-1' is not a number of 0 or more")):
            with self.subTest(options=options):
                self.assert_refused(run([tool("verify"), *options, runs]), 2, pattern)


if __name__ == "__main__":
    unittest.main(verbosity=2)
