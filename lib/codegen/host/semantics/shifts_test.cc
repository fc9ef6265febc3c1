// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shifts by more bits than there are, which each vendor's instructions have their own idea of.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

constexpr int kAmounts[] = {0, 1, 30, 31, 32, 33, 63, 64, 100, -1};

// Side by side, so that they end up in a vector. The number is the same everywhere.
std::string shifts(const std::string& head, const std::string& kernel, const std::string& thread) {
  return head + kernel + R"( @k(ptr addrspace(1) %by, ptr addrspace(1) %out) {
  %l = call i32 )" +
         thread + R"(()
  %x = zext i32 %l to i64
  %p = getelementptr i32, ptr addrspace(1) %by, i64 %x
  %n = load i32, ptr addrspace(1) %p
  %a = shl i32 -12345, %n
  %b = lshr i32 -12345, %n
  %c = ashr i32 -12345, %n
  %i = mul i64 %x, 3
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %i
  %r = getelementptr i32, ptr addrspace(1) %q, i64 1
  %s = getelementptr i32, ptr addrspace(1) %q, i64 2
  store i32 %a, ptr addrspace(1) %q
  store i32 %b, ptr addrspace(1) %r
  store i32 %c, ptr addrspace(1) %s
  ret void
})";
}

class Shifts : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Shifts, kEveryLevel);

TEST_P(Shifts, WrapOnAmdGpus) {
  std::vector<int> by(std::begin(kAmounts), std::end(kAmounts)), expected;
  for (int amount : by) {
    const int n = amount & 31;
    expected.push_back(static_cast<int>(static_cast<unsigned>(-12345) << n));
    expected.push_back(static_cast<int>(static_cast<unsigned>(-12345) >> n));
    expected.push_back(-12345 >> n);
  }
  for (const char* form : {"loop", "fiber"}) {
    AmdgpuCode code(compile(kernel_of_pointers(2),
                            shifts(kAmdgpuHead, "define amdgpu_kernel void", "@llvm.amdgcn.workitem.id.x"),
                            configuration(GetParam(), form)));
    std::vector<int> out(expected.size());
    code.run({by.data(), out.data()}, static_cast<uint32_t>(by.size()));
    EXPECT_EQ(out, expected) << form;
  }
}

TEST_P(Shifts, ClampOnNvidiaGpus) {
  std::vector<int> by(std::begin(kAmounts), std::end(kAmounts)), expected;
  for (int amount : by) {
    const auto n = static_cast<unsigned>(amount);
    expected.push_back(n < 32 ? static_cast<int>(static_cast<unsigned>(-12345) << n) : 0);
    expected.push_back(n < 32 ? static_cast<int>(static_cast<unsigned>(-12345) >> n) : 0);
    expected.push_back(-12345 >> std::min(n, 31u));
  }
  const std::string text = shifts("", "define ptx_kernel void", "@llvm.nvvm.read.ptx.sreg.tid.x");
  NvptxCode code(nvptx_kernel(2), text, GetParam());
  std::vector<int> out(expected.size());
  void* arguments[] = {by.data(), out.data()};
  code.run(arguments, static_cast<uint32_t>(by.size()));
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace mneme::codegen::host
