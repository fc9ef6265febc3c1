#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mutations that mutants_test.py makes: each is what its kind says, and IR; and what is made of their verdicts."""

import re
import unittest

import mutants_test
import mutations
from support import PROGRAMS, run

KERNEL = """
@shared = internal addrspace(3) global [64 x i32] undef, align 16

declare void @llvm.amdgcn.s.barrier()

define amdgpu_kernel void @k(ptr addrspace(1) noundef %0, i32 noundef %1, ptr addrspace(1) noundef %2) {
  %4 = ptrtoint ptr addrspace(1) %0 to i64
  %5 = inttoptr i64 %4 to ptr
  %6 = ptrtoint ptr addrspace(1) %2 to i64
  %7 = inttoptr i64 %6 to ptr
  br label %8

8:
  %9 = phi i32 [ 0, %3 ], [ %26, %8 ]
  %10 = phi float [ 0.0, %3 ], [ %23, %8 ]
  %11 = sub nsw i32 %1, %9
  %12 = sext i32 %11 to i64
  %13 = getelementptr inbounds float, ptr %5, i64 %12
  %14 = load float, ptr %13, align 4
  %15 = fadd contract float %14, %10
  %16 = call float @scaled(float %15)
  %17 = fadd contract float %15, %16
  %18 = fcmp contract olt float %17, %16
  %19 = select i1 %18, float %17, float %16
  %20 = getelementptr inbounds float, ptr %7, i64 %12
  store float %19, ptr %20, align 4
  %21 = atomicrmw add ptr addrspace(3) @shared, i32 %11 monotonic, align 4
  call void @llvm.amdgcn.s.barrier()
  %22 = fdiv contract float %17, %19
  %23 = fsub contract float %22, %19
  %24 = mul i32 %9, 7
  %25 = and i32 %24, 3
  %26 = add i32 %9, 1
  %27 = icmp slt i32 %26, %1
  br i1 %27, label %8, label %28

28:
  ret void
}

define internal float @scaled(float %0) {
  %2 = fmul contract float %0, 2.500000e-01
  %3 = fadd contract float %0, %2
  ret float %3
}

define internal i32 @__ockl_something(i32 %0) {
  %2 = sub i32 1, %0
  ret i32 %2
}
"""
LINES = KERNEL.splitlines()
ALL = mutations.mutations(LINES, "", each=100)


class Mutations(unittest.TestCase):
    def assert_changes(self, kind, was, *now):
        found = [m.now for m in ALL[kind] if m.was.strip() == was]
        everything = [str(m) for m in ALL[kind]]
        self.assertEqual([[line.strip() for line in lines] for lines in found], [list(now)], everything)

    def test_each_kind(self):
        self.assert_changes("swapped", "%11 = sub nsw i32 %1, %9", "%11 = sub i32 %9, %1")
        self.assert_changes("swapped", "%22 = fdiv contract float %17, %19", "%22 = fdiv float %19, %17")
        self.assert_changes("swapped", "%27 = icmp slt i32 %26, %1", "%27 = icmp slt i32 %1, %26")
        self.assert_changes("swapped", "%19 = select i1 %18, float %17, float %16",
                            "%19 = select i1 %18, float %16, float %17")
        self.assert_changes("comparison", "%27 = icmp slt i32 %26, %1", "%27 = icmp sle i32 %26, %1")
        self.assert_changes("comparison", "%18 = fcmp contract olt float %17, %16", "%18 = fcmp ogt float %17, %16")
        self.assert_changes("constant", "%26 = add i32 %9, 1", "%26 = add i32 %9, 2")
        self.assert_changes("constant", "%9 = phi i32 [ 0, %3 ], [ %26, %8 ]", "%9 = phi i32 [ 1, %3 ], [ %26, %8 ]")
        self.assert_changes("index", "%14 = load float, ptr %13, align 4",
                            "%mneme.next = getelementptr float, ptr %13, i64 1", "%14 = load float, ptr %mneme.next")
        self.assert_changes("index", "store float %19, ptr %20, align 4",
                            "%mneme.next = getelementptr float, ptr %20, i64 1", "store float %19, ptr %mneme.next")
        self.assert_changes("dropped store", "store float %19, ptr %20, align 4")
        self.assert_changes("dropped barrier", "call void @llvm.amdgcn.s.barrier()")
        self.assert_changes("negated", "%15 = fadd contract float %14, %10",
                            "%mneme.negative = fneg float %10", "%15 = fadd contract float %14, %mneme.negative")
        self.assert_changes("atomic", "%21 = atomicrmw add ptr addrspace(3) @shared, i32 %11 monotonic, align 4",
                            "%21 = atomicrmw sub ptr addrspace(3) @shared, i32 %11 monotonic, align 4")
        self.assert_changes("argument", "%4 = ptrtoint ptr addrspace(1) %0 to i64",
                            "%4 = ptrtoint ptr addrspace(1) %2 to i64")
        self.assert_changes("percent", "%2 = fmul contract float %0, 2.500000e-01",
                            "%2 = fmul contract float %0, 0x3FD028F5C0000000")
        self.assert_changes("last bit", "%2 = fmul contract float %0, 2.500000e-01",
                            "%2 = fmul contract float %0, 0x3FD0000020000000")
        self.assert_changes("reassociated", "%17 = fadd contract float %15, %16",
                            "%mneme.inner = fadd float %10, %16", "%17 = fadd float %14, %mneme.inner")

        self.assert_changes("fused", "%3 = fadd contract float %0, %2",
                            "%3 = call float @llvm.fma.f32(float %0, float 2.500000e-01, float %0)")

    def test_flags(self):
        text = ALL["fast flags"][0].text(LINES)
        self.assertIn("%17 = fadd fast float %15, %16", text)
        self.assertIn("%2 = fmul fast float %0", text)

    def test_what_is_no_result_is_left_alone(self):
        """Values that nothing uses, and functions that the host device has its own of."""
        changed = [m.was for some in ALL.values() for m in some]
        self.assertFalse([line for line in changed if "%25 =" in line or "sub i32 1, %0" in line])

    def test_all_are_ir(self):
        for m in [m for some in ALL.values() for m in some]:
            texts = [m.text(LINES)]
            if m.at is not None:
                texts.append(m.where_reached(LINES))
            if m.probe:
                texts.append(m.where_different(LINES))
            for text in texts:
                result = run(["opt-19", "-passes=verify", "-disable-output"], input=text.encode())
                self.assertEqual(result.status, 0, f"{m}\n{result.text()}")

    def test_two_alike_are_told_apart(self):
        line = "  call void @llvm.amdgcn.s.barrier()"
        at = LINES.index(line)
        barriers = mutations.mutations(LINES[:at] + [line] + LINES[at:], "")["dropped barrier"]
        self.assertEqual(len({str(m) for m in barriers}), 2)

    def test_choice_is_the_same_every_time(self):
        def strings(seed):
            return [str(m) for some in mutations.mutations(LINES, seed, each=1).values() for m in some]
        self.assertEqual(strings("a"), strings("a"))
        self.assertGreater(len({tuple(strings(str(seed))) for seed in range(20)}), 1)


class Survivors(unittest.TestCase):
    def test_paragraphs(self):
        key = "p", "k(int, ::x)", "swapped in k: %1 -> %2", "bytes"
        text = "\n".join(["# About: this.\n", mutants_test.paragraph_of(key, "one\n  two"),
                          mutants_test.paragraph_of(("q", *key[1:]), "x")])
        self.assertEqual(mutants_test.explanations(text), {key: "one two", ("q", *key[1:]): "x"})

    def test_those_that_are_written_are_of_programs(self):
        for program, _, mutation, judge in mutants_test.explanations(mutants_test.SURVIVORS.read_text()):
            self.assertTrue((PROGRAMS / f"{program}.hip").exists(), program)
            self.assertIn(judge, mutants_test.JUDGES)
            self.assertIn(re.match(r"(.*?) (in|on) ", mutation)[1], {*mutations.KINDS, "reassoc flags", "fast flags"})

    def test_summary(self):
        found = [{"kind": "swapped", "bytes": "caught", "tolerance": "caught"},
                 {"kind": "swapped", "bytes": "not reached", "tolerance": "not reached"},
                 {"kind": "constant", "bytes": "explained", "tolerance": "explained"},
                 {"kind": "last bit", "bytes": "caught", "tolerance": "right"},
                 {"kind": "fast flags", "bytes": "right", "tolerance": "right"}]
        text = mutants_test.summary(found)
        self.assertIn("1 of 3 mutants caught, 0 more by --check-memory, 1 not reached by the recording, 1 equivalent",
                      text)
        self.assertIn("2 mutants that round differently: 1 change bytes; of these 1 pass with tolerance, "
                      "0 where the stores do not tell the type get none, 0 fail", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
