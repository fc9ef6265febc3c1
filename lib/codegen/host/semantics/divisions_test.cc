// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Divisions, which trap on the CPU as they never do on a GPU.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"

namespace mneme::codegen::host {
namespace {

class Divisions : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Divisions, kEveryLevel);

// Under a condition that some work-items meet, a division whose result is the same for all: the first of those side by
// side in a vector need not be one of them. By 0 nobody divides who does not have to.
TEST_P(Divisions, ConditionalDivisionsAreForThoseWhoMeetTheCondition) {
  auto kernel = [](const char* operation) {
    return std::string(kAmdgpuHead) + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, ptr addrspace(1) %by) {
  %n = ptrtoint ptr addrspace(1) %by to i64
  %m = trunc i64 %n to i32
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %x
  %v = load i32, ptr addrspace(1) %p
  %z = icmp eq i32 %v, 0
  br i1 %z, label %end, label %divide
divide:
  %a = )" + operation +
           R"( i32 -25, %m
  %i = and i32 %a, 31
  %j = zext i32 %i to i64
  %e = getelementptr i32, ptr addrspace(1) %in, i64 %j
  %f = getelementptr i32, ptr addrspace(1) %e, i64 64
  %w = load i32, ptr addrspace(1) %f
  br label %end
end:
  %s = phi i32 [ 7, %0 ], [ %w, %divide ]
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %x
  store i32 %s, ptr addrspace(1) %q
  ret void
})";
  };
  using Divide = unsigned (*)(int, int);
  std::pair<const char*, Divide> operations[] = {
      {"sdiv", [](int x, int y) { return static_cast<unsigned>(x / y); }},
      {"srem", [](int x, int y) { return static_cast<unsigned>(x % y); }},
      {"udiv", [](int x, int y) { return static_cast<unsigned>(x) / static_cast<unsigned>(y); }},
      {"urem", [](int x, int y) { return static_cast<unsigned>(x) % static_cast<unsigned>(y); }}};
  for (auto [operation, divide] : operations) {
    for (const char* form : {"loop", "fiber"}) {
      AmdgpuCode code(compile(kernel_of_pointers(3), kernel(operation), configuration(GetParam(), form)));
      for (int by : {-25, -7, -1, 0, 1, 3, 25, 1000}) {
        std::vector<int> in(96), out(64), expected(64, 7);
        for (int i = 0; i < 32; ++i) in[64 + i] = 100 + i;
        for (int i = 1; i < 64 && by != 0; i += 3) {
          in[i] = 1;
          expected[i] = 100 + static_cast<int>(divide(-25, by) % 32);
        }
        code.run({in.data(), out.data(), reinterpret_cast<void*>(static_cast<int64_t>(by))}, 64);
        EXPECT_EQ(out, expected) << form << ": " << operation << " by " << by;
      }
    }
  }
}

// As on a GPU, which has no instruction that could trap.
TEST_P(Divisions, DivisionsDoNotTrap) {
  constexpr char kDivisions[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %px = getelementptr i32, ptr addrspace(1) %x, i64 %i
  %py = getelementptr i32, ptr addrspace(1) %y, i64 %i
  %a = load i32, ptr addrspace(1) %px
  %b = load i32, ptr addrspace(1) %py
  %q = sdiv i32 %a, %b
  %r = srem i32 %a, %b
  %s = udiv i32 %a, %b
  %t = urem i32 %a, %b
  %j = mul i64 %i, 4
  %o = getelementptr i32, ptr addrspace(1) %out, i64 %j
  %o1 = getelementptr i32, ptr addrspace(1) %o, i64 1
  %o2 = getelementptr i32, ptr addrspace(1) %o, i64 2
  %o3 = getelementptr i32, ptr addrspace(1) %o, i64 3
  store i32 %q, ptr addrspace(1) %o
  store i32 %r, ptr addrspace(1) %o1
  store i32 %s, ptr addrspace(1) %o2
  store i32 %t, ptr addrspace(1) %o3
  ret void
})";
  std::vector<int> x, y, expected;
  for (int a : {INT32_MIN, -25, 0, 7, INT32_MAX}) {
    for (int b : {0, -1, 1, -7, 25}) {
      x.push_back(a);
      y.push_back(b);
      auto wide = static_cast<int64_t>(a);
      auto unsigned_a = static_cast<uint32_t>(a), unsigned_b = static_cast<uint32_t>(b);
      expected.push_back(b ? static_cast<int>(wide / b) : -1);
      expected.push_back(b ? static_cast<int>(wide % b) : a);
      expected.push_back(static_cast<int>(b ? unsigned_a / unsigned_b : UINT32_MAX));
      expected.push_back(static_cast<int>(b ? unsigned_a % unsigned_b : unsigned_a));
    }
  }
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(
        compile(kernel_of_pointers(3), std::string(kAmdgpuHead) + kDivisions, configuration(GetParam(), form)));
    std::vector<int> out(expected.size());
    code.run({x.data(), y.data(), out.data()}, static_cast<uint32_t>(x.size()));
    EXPECT_EQ(out, expected) << form;
  }
}

}  // namespace
}  // namespace mneme::codegen::host
