// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that are turned into others: bytes into truth values, floating-point numbers into integers.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"

namespace mneme::codegen::host {
namespace {

class Conversions : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Conversions, kEveryLevel);

// Also where the byte is not what the front end promises of one.
TEST_P(Conversions, BoolsAreTheLowestBitOfTheirByte) {
  constexpr char kBools[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %px = getelementptr i8, ptr addrspace(1) %x, i64 %i
  %a = load i8, ptr addrspace(1) %px, !range !0, !noundef !1
  %b = trunc i8 %a to i1
  %not = xor i1 %b, true
  %one = zext i1 %b to i32
  %more = select i1 %not, i32 10, i32 20
  %sum = add i32 %one, %more
  %o = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %sum, ptr addrspace(1) %o
  ret void
}
!0 = !{i8 0, i8 2}
!1 = !{}
)";
  std::vector<uint8_t> x = {0, 1, 255, 254};
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kBools, configuration(GetParam(), form)));
    std::vector<int> out(4);
    code.run({x.data(), out.data()}, 4);
    EXPECT_EQ(out, (std::vector{10, 21, 21, 10})) << form;
  }
}

// As the GPU's instructions do.
TEST_P(Conversions, ConversionsToIntegersSaturate) {
  constexpr char kConversions[] = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %a = load float, ptr addrspace(1) %px
  %d = fpext float %a to double
  %h = fptrunc float %a to half
  %u = fptoui float %a to i32
  %s = fptosi float %a to i32
  %ub = fptoui float %a to i8
  %ub64 = zext i8 %ub to i64
  %du = fptoui double %d to i64
  %ds = fptosi double %d to i64
  %hs = fptosi half %h to i16
  %hs64 = sext i16 %hs to i64
  %u64 = zext i32 %u to i64
  %s64 = sext i32 %s to i64
  %j = mul i64 %i, 6
  %o = getelementptr i64, ptr addrspace(1) %out, i64 %j
  %o1 = getelementptr i64, ptr addrspace(1) %o, i64 1
  %o2 = getelementptr i64, ptr addrspace(1) %o, i64 2
  %o3 = getelementptr i64, ptr addrspace(1) %o, i64 3
  %o4 = getelementptr i64, ptr addrspace(1) %o, i64 4
  %o5 = getelementptr i64, ptr addrspace(1) %o, i64 5
  store i64 %u64, ptr addrspace(1) %o
  store i64 %s64, ptr addrspace(1) %o1
  store i64 %ub64, ptr addrspace(1) %o2
  store i64 %du, ptr addrspace(1) %o3
  store i64 %ds, ptr addrspace(1) %o4
  store i64 %hs64, ptr addrspace(1) %o5
  ret void
})";
  std::vector<float> x = {3.75f, -2.5f, 0x1p32f, -0x1p31f, 300.0f, 1e30f, -1e30f, NAN, 0x1.8p31f};
  const int64_t most = INT64_MAX, least = INT64_MIN, all = -1, u32 = UINT32_MAX, i32 = INT32_MAX;
  const int64_t expected[][6] = {{3, 3, 3, 3, 3, 3},
                                 {0, -2, 0, 0, -2, -2},
                                 {u32, i32, 255, int64_t{1} << 32, int64_t{1} << 32, INT16_MAX},
                                 {0, INT32_MIN, 0, 0, INT32_MIN, INT16_MIN},
                                 {300, 300, 44, 300, 300, 300},
                                 {u32, i32, 255, all, most, INT16_MAX},
                                 {0, INT32_MIN, 0, 0, least, INT16_MIN},
                                 {0, 0, 0, 0, 0, 0},
                                 {3221225472, i32, 0, 3221225472, 3221225472, INT16_MAX}};
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(
        compile(kernel_of_pointers(2), std::string(kAmdgpuHead) + kConversions, configuration(GetParam(), form)));
    std::vector<int64_t> out(6 * x.size());
    code.run({x.data(), out.data()}, static_cast<uint32_t>(x.size()));
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], expected[i / 6][i % 6]) << form << ": " << x[i / 6];
  }
}

}  // namespace
}  // namespace mneme::codegen::host
