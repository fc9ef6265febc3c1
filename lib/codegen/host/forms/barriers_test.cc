// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work-items of a block that wait for each other, and what they keep meanwhile.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"

namespace mneme::codegen::host {
namespace {

class Barriers : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Barriers, kEveryLevel);

// out[i] = in[threads - 1 - i] through shared memory, with a barrier between.
constexpr char kReverse[] = R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %x
  %v = load i32, ptr addrspace(1) %p
  %t = getelementptr i32, ptr addrspace(3) @tile, i32 %l
  store i32 %v, ptr addrspace(3) %t
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %r = sub i32 63, %l
  %u = getelementptr i32, ptr addrspace(3) @tile, i32 %r
  %w = load i32, ptr addrspace(3) %u
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %w, ptr addrspace(1) %q
  ret void
})";

TEST_P(Barriers, BarrierSeparatesWritesFromReads) {
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(
        compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kReverse, configuration(GetParam(), form)));
    EXPECT_EQ(code.form, form);
    EXPECT_EQ(code.object->shared_static, 256u);
    std::vector<int> in(64), out(64);
    std::iota(in.begin(), in.end(), 100);
    EXPECT_EQ(code.run({in.data(), out.data()}, 64).fault, kNoFault);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 163 - i) << form;
  }
}

TEST(HostCompile, TellsWhenFramesDoNotFit) {
  AmdgpuCode code(
      compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kReverse, configuration("default<O3>", "loop")));
  std::vector<int> in(64), out(64);
  EXPECT_EQ(code.run({in.data(), out.data()}, 64, 0, 128).fault, kFramesExhausted);
}

// Each work-item meets as many barriers as its argument says, and some leave early: at every round those that
// are left see what the others wrote before.
constexpr char kRounds[] = R"(
@count = internal addrspace(3) global i32 undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %x
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  %n = load i32, ptr addrspace(1) %p
  %first = icmp eq i32 %l, 0
  br i1 %first, label %reset, label %ready
reset:
  store i32 0, ptr addrspace(3) @count
  br label %ready
ready:
  call void @llvm.amdgcn.s.barrier()
  %none = icmp eq i32 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i32 [ 0, %ready ], [ %next, %loop ]
  %sum = phi i32 [ 0, %ready ], [ %more, %loop ]
  %old = atomicrmw add ptr addrspace(3) @count, i32 1 syncscope("workgroup") monotonic
  call void @llvm.amdgcn.s.barrier()
  %seen = load i32, ptr addrspace(3) @count
  %more = add i32 %sum, %seen
  call void @llvm.amdgcn.s.barrier()
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  %result = phi i32 [ -1, %ready ], [ %more, %loop ]
  store i32 %result, ptr addrspace(1) %q
  ret void
})";

TEST_P(Barriers, WorkItemsThatEndedDoNotHoldUpABarrier) {
  for (bool alike : {true, false}) {
    std::vector<int> in(40), expected(40, -1);
    for (int i = 0; i < 40; ++i) in[i] = alike ? 3 : i % 5;
    for (int i = 0; i < 40; ++i) {
      if (in[i] > 0) expected[i] = 0;
      int count = 0;
      for (int round = 0; round < in[i]; ++round) {
        for (int n : in) count += n > round;
        expected[i] += count;
      }
    }
    for (const char* form : {"loop", "fiber"}) {
      AmdgpuCode code(
          compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kRounds, configuration(GetParam(), form)));
      std::vector<int> out(40);
      EXPECT_EQ(code.run({in.data(), out.data()}, 40).fault, kNoFault);
      EXPECT_EQ(out, expected) << form << (alike ? " alike" : " apart");
    }
  }
}

constexpr char kDeadBarrier[] = R"(
define internal i32 @sum(i32 %n) noinline {
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %end, label %more
more:
  %less = sub i32 %n, 1
  %rest = call i32 @sum(i32 %less)
  %all = add i32 %rest, %n
  br label %end
dead:
  call void @llvm.amdgcn.s.barrier()
  br label %end
end:
  %result = phi i32 [ 0, %0 ], [ %all, %more ], [ 0, %dead ]
  ret i32 %result
}
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  %s = call i32 @sum(i32 %l)
  store i32 %s, ptr addrspace(1) %q
  ret void
})";

TEST_P(Barriers, BarriersThatAreNeverReachedAreNone) {
  AmdgpuCode code(
      compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kDeadBarrier, configuration(GetParam(), "loop")));
  std::vector<int> in(5), out(5);
  EXPECT_EQ(code.run({in.data(), out.data()}, 5).fault, kNoFault);
  EXPECT_EQ(out, (std::vector<int>{0, 1, 3, 6, 10}));
}

// Its alignment, even where it is not a multiple of its size, is what code relies on.
TEST_P(Barriers, LocalArraysThatOutliveBarriersAreAligned) {
  constexpr char kAligned[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %a = alloca [5 x i32], align 16, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %j = and i32 %l, 3
  %e = getelementptr [5 x i32], ptr addrspace(5) %a, i32 0, i32 %j
  store <4 x i32> <i32 1, i32 2, i32 3, i32 4>, ptr addrspace(5) %a, align 16
  store i32 %l, ptr addrspace(5) %e
  call void @llvm.amdgcn.s.barrier()
  %v = load volatile <4 x i32>, ptr addrspace(5) %a, align 16
  %s = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %v)
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %s, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>))";
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(
        compile(kernel_of_pointers(1), std::string(kAmdgpuHead) + kAligned, configuration(GetParam(), form)));
    std::vector<int> out(50, -1);
    code.run({out.data()}, 50);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(out[i], 10 - (i % 4 + 1) + i) << form;
  }
}

// An array of its own, indexed by what is known only at run time, lives on across a barrier.
TEST_P(Barriers, LocalArraysOutliveBarriers) {
  constexpr char kLocal[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %a = alloca [8 x i32], align 4, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %j = and i32 %l, 7
  %e = getelementptr [8 x i32], ptr addrspace(5) %a, i32 0, i32 %j
  store i32 %l, ptr addrspace(5) %e
  call void @llvm.amdgcn.s.barrier()
  %v = load i32, ptr addrspace(5) %e
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %v, ptr addrspace(1) %p
  ret void
})";
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(compile(kernel_of_pointers(1), std::string(kAmdgpuHead) + kLocal, configuration(GetParam(), form)));
    std::vector<int> out(50, -1);
    code.run({out.data()}, 50);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(out[i], i) << form;
  }
}

}  // namespace
}  // namespace mneme::codegen::host
