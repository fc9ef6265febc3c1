// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions on the index of a work-item, by which loops over work-items are cut short.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"

namespace mneme::codegen::host {
namespace {

class Bounds : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Bounds, kEveryLevel);

// Guards at the end of the data: whatever the bound, just those below it write.
TEST_P(Bounds, BoundsCutABlockShort) {
  constexpr char kBounded[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %bound) {
  %n = ptrtoint ptr addrspace(1) %bound to i64
  %m = trunc i64 %n to i32
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x
  %below = icmp slt i32 %l, %m
  br i1 %below, label %some, label %next
some:
  store i32 1, ptr addrspace(1) %p
  br label %next
next:
  call void @llvm.amdgcn.s.barrier()
  %shifted = add nsw i32 %l, -3
  %far = icmp slt i32 %shifted, %m
  br i1 %far, label %more, label %last
more:
  %v = load i32, ptr addrspace(1) %p
  %w = add i32 %v, 2
  store i32 %w, ptr addrspace(1) %p
  br label %last
last:
  call void @llvm.amdgcn.s.barrier()
  %under = icmp ult i32 %l, %m
  br i1 %under, label %again, label %end
again:
  %y = load i32, ptr addrspace(1) %p
  %z = add i32 %y, 4
  store i32 %z, ptr addrspace(1) %p
  br label %end
end:
  ret void
})";
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(
        compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kBounded, configuration(GetParam(), form)));
    for (int64_t bound : {-5, -1, 0, 1, 17, 39, 40, 41, 1000}) {
      std::vector<int> out(60), expected(60);
      for (int i = 0; i < 40; ++i) {
        expected[i] = (i < bound ? 1 : 0) + (i - 3 < bound ? 2 : 0) + (bound < 0 || i < bound ? 4 : 0);
      }
      code.run({out.data(), reinterpret_cast<void*>(bound)}, 40);
      EXPECT_EQ(out, expected) << form << " " << bound;
    }
  }
}

// Loops that count in their own ways: once round all that the index can be, and for as long as it equals something.
TEST_P(Bounds, GuardsCutOnlyLoopsThatTheyBound) {
  constexpr char kCounting[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %bound) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %n = ptrtoint ptr addrspace(1) %bound to i64
  %m = trunc i64 %n to i32
  %b = trunc i64 %n to i8
  %o = mul i32 %l, 260
  %y = zext i32 %o to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %y
  br label %around
around:
  %i = phi i8 [ 0, %0 ], [ %j, %onwards ]
  %low = icmp ult i8 %i, %b
  br i1 %low, label %count, label %onwards
count:
  %x = zext i8 %i to i64
  %q = getelementptr i32, ptr addrspace(1) %p, i64 %x
  store i32 1, ptr addrspace(1) %q
  br label %onwards
onwards:
  %j = add i8 %i, 1
  %all = icmp eq i8 %j, 0
  br i1 %all, label %equal, label %around
equal:
  %e = phi i32 [ 0, %onwards ], [ %f, %further ]
  %less = icmp ult i32 %e, %m
  br i1 %less, label %mark, label %further
mark:
  %z = zext i32 %e to i64
  %r = getelementptr i32, ptr addrspace(1) %p, i64 %z
  %s = getelementptr i32, ptr addrspace(1) %r, i64 256
  store i32 2, ptr addrspace(1) %s
  br label %further
further:
  %f = add i32 %e, 1
  %same = icmp eq i32 %f, 1
  br i1 %same, label %equal, label %end
end:
  ret void
})";
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(
        compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kCounting, configuration(GetParam(), form)));
    for (int64_t bound : {0, 1, 2, 3, 100, 255}) {
      std::vector<int> out(520), expected(520);
      for (int i = 0; i < 520; ++i)
        expected[i] = i % 260 < 256 ? i % 260 < bound : i % 260 - 256 < std::min<int64_t>(bound, 2) ? 2 : 0;
      code.run({out.data(), reinterpret_cast<void*>(bound)}, 2);
      EXPECT_EQ(out, expected) << form << " " << bound;
    }
  }
}

}  // namespace
}  // namespace mneme::codegen::host
