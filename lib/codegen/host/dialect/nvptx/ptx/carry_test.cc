// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Long numbers, as libraries have them: a function with a statement of assembly for each instruction.
#include <array>
#include <cstdint>
#include <vector>

#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

constexpr char kFunctions[] = R"(
define i32 @add_cc(i32 %a, i32 %b) {
  %r = call i32 asm sideeffect "add.cc.u32 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
  ret i32 %r
}
define i32 @addc_cc(i32 %a, i32 %b) {
  %r = call i32 asm sideeffect "addc.cc.u32 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
  ret i32 %r
}
define i32 @addc(i32 %a, i32 %b) {
  %r = call i32 asm sideeffect "addc.u32 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
  ret i32 %r
}
)";

// Numbers of 96 bits, as three words; the last word is only added where the thread's number is even, else the carry is
// lost to a sum between.
constexpr char kSum[] = R"(
define ptx_kernel void @k(ptr %x, ptr %y, ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %px = getelementptr [3 x i32], ptr %x, i64 %i
  %px1 = getelementptr i32, ptr %px, i64 1
  %px2 = getelementptr i32, ptr %px, i64 2
  %py = getelementptr [3 x i32], ptr %y, i64 %i
  %py1 = getelementptr i32, ptr %py, i64 1
  %py2 = getelementptr i32, ptr %py, i64 2
  %x0 = load i32, ptr %px
  %x1 = load i32, ptr %px1
  %x2 = load i32, ptr %px2
  %y0 = load i32, ptr %py
  %y1 = load i32, ptr %py1
  %y2 = load i32, ptr %py2
  %s0 = call i32 @add_cc(i32 %x0, i32 %y0)
  %s1 = call i32 @addc_cc(i32 %x1, i32 %y1)
  %odd = trunc i32 %t to i1
  br i1 %odd, label %between, label %last
between:
  %none = call i32 @add_cc(i32 1, i32 1)
  br label %last
last:
  %s2 = call i32 @addc(i32 %x2, i32 %y2)
  %po = getelementptr [3 x i32], ptr %out, i64 %i
  %po1 = getelementptr i32, ptr %po, i64 1
  %po2 = getelementptr i32, ptr %po, i64 2
  store i32 %s0, ptr %po
  store i32 %s1, ptr %po1
  store i32 %s2, ptr %po2
  ret void
}
)";

using Words = std::array<uint32_t, 3>;

TEST(PtxCarry, GoesFromStatementToStatement) {
  std::vector<Words> x, y, wanted;
  for (uint32_t a : {0u, 1u, 0x80000000u, 0xffffffffu}) {
    for (uint32_t b : {0u, 1u, 0x7fffffffu, 0xffffffffu}) {
      for (uint32_t c : {0u, 1u, 0xffffffffu}) {
        x.push_back({a, b, c});
        y.push_back({b, ~b, a});
        const bool odd = x.size() % 2 == 0;
        const uint64_t low = uint64_t{a} + b, middle = uint64_t{b} + ~b + (low >> 32);
        const uint64_t high = uint64_t{c} + a + (odd ? 0 : middle >> 32);
        wanted.push_back({static_cast<uint32_t>(low), static_cast<uint32_t>(middle), static_cast<uint32_t>(high)});
      }
    }
  }
  for (const char* passes : {"default<O0>", "default<O3>"}) {
    NvptxCode code(nvptx_kernel(3), std::string(kFunctions) + kSum, passes);
    std::vector<Words> out(x.size());
    void* arguments[] = {x.data(), y.data(), out.data()};
    code.run(arguments, static_cast<uint32_t>(x.size()));
    EXPECT_EQ(out, wanted) << passes;
  }
}

TEST(PtxCarry, StaysWhereAGuardDoesNotHold) {
  constexpr char kGuarded[] = R"(
define ptx_kernel void @k(ptr %in, ptr %out) {
  %p = load i32, ptr %in
  %s = call i32 @add_cc(i32 -1, i32 1)
  %g = call i32 asm sideeffect "{ .reg .pred p; setp.ne.u32 p, $1, 0; mov.u32 $0, 0; @p add.cc.u32 $0, $1, $1; }", "=&r,r"(i32 %p)
  %c = call i32 @addc(i32 0, i32 0)
  store i32 %c, ptr %out
  ret void
}
)";
  for (const char* passes : {"default<O0>", "default<O3>"}) {
    NvptxCode code(nvptx_kernel(2), std::string(kFunctions) + kGuarded, passes);
    for (uint32_t guard : {0u, 1u}) {
      uint32_t carry = 7;
      void* arguments[] = {&guard, &carry};
      code.run(arguments, 1);
      EXPECT_EQ(carry, guard == 0 ? 1u : 0u) << passes;
    }
  }
}

// That is known nowhere: what calls itself is not inlined.
TEST(PtxCarry, IsRefusedWhereAFunctionIsToHaveItOfItsCaller) {
  constexpr char kRecursive[] = R"(
define i32 @deep(i32 %n) {
  %r = call i32 @addc(i32 %n, i32 %n)
  %more = icmp ugt i32 %n, 3
  br i1 %more, label %down, label %end
down:
  %less = sub i32 %n, 1
  %d = call i32 @deep(i32 %less)
  br label %end
end:
  %all = phi i32 [ %r, %0 ], [ %d, %down ]
  ret i32 %all
}
define ptx_kernel void @k(ptr %out) {
  %s = call i32 @add_cc(i32 -1, i32 1)
  %d = call i32 @deep(i32 %s)
  store i32 %d, ptr %out
  ret void
}
)";
  try {
    NvptxCode code(nvptx_kernel(1), std::string(kFunctions) + kRecursive);
    FAIL() << "it was compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("adds a carry of another function's"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace mneme::codegen::host
