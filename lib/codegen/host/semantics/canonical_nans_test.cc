// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bits of NaNs that operations make, and of those that are only copied.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

constexpr uint32_t kNan = 0xffc00000, kOne = 0x3f800000, kInfinity = 0x7f800000, kOther = 0x7fc12345;

class Nans : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Nans, kEveryLevel);

// Each work-item computes with %x, of its own, and %y; and stores so many results.
std::string kernel_of(const std::string& body, const std::vector<std::string>& results) {
  std::string text = std::string(kAmdgpuHead) + R"(
@s = internal addrspace(3) global [64 x float] undef
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.floor.f32(float)
declare float @llvm.copysign.f32(float, float)
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %i
  %x = load float, ptr addrspace(1) %p
  %last = getelementptr float, ptr addrspace(1) %in, i64 64
  %y = load float, ptr addrspace(1) %last
  %n = mul i64 %i, )" +
                     std::to_string(results.size()) + "\n" + body;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string number = std::to_string(i);
    text += "  %o" + number + " = add i64 %n, " + number + "\n  %q" + number +
            " = getelementptr float, ptr addrspace(1) %out, i64 %o" + number + "\n  store float %" + results[i] +
            ", ptr addrspace(1) %q" + number + "\n";
  }
  return text + "  ret void\n}\n";
}

std::vector<uint32_t> run(const std::string& text, const std::vector<uint32_t>& x, uint32_t y, size_t results,
                          const std::string& passes, const std::string& form) {
  AmdgpuCode code(compile(kernel_of_pointers(2), text, configuration(passes, form)));
  std::vector<uint32_t> in(65, y), out(x.size() * results);
  std::copy(x.begin(), x.end(), in.begin());
  code.run({in.data(), out.data()}, static_cast<uint32_t>(x.size()));
  return out;
}

TEST_P(Nans, OfOperationsAreTheSame) {
  const std::vector<std::string> results = {"a", "b", "c", "d", "e", "f", "g", "h", "j", "k", "m", "r"};
  const std::string text = kernel_of(R"(
  %a = fadd float %x, %y
  %b = fadd float %y, %x
  %c = fmul float %x, %y
  %d = call float @llvm.fma.f32(float %x, float 2.0, float %y)
  %e = call float @llvm.minnum.f32(float %x, float %y)
  %w = fsub float %x, %y
  %f = fneg float %w
  %g = call float @llvm.sqrt.f32(float %x)
  %h = fdiv float 0.0, 0.0
  %v = fsub float %y, %x
  %z = bitcast float %v to i32
  %j = bitcast i32 %z to float
  %k = call float @llvm.floor.f32(float %x)
  %m = call float @llvm.copysign.f32(float 1.0, float %a)
  %isnan = fcmp uno float %c, 0.0
  %r = select i1 %isnan, float 0x7FF8000000000000, float %c
)",
                                     results);
  // Both operands are NaNs of other bits, of either sign.
  for (uint32_t other : {kOther, 0xffd54321u}) {
    for (const char* form : {"loop", "fiber"}) {
      std::vector<uint32_t> expected;
      for (int i = 0; i < 2; ++i) {
        for (const std::string& result : results) {
          const bool is_turned = result == "f" || result == "r";  // the latter by a constant of the kernel's
          expected.push_back(is_turned ? kNan ^ 0x80000000 : result == "m" ? kOne ^ 0x80000000 : kNan);
        }
      }
      EXPECT_EQ(run(text, {0x7fc00000, 0xffe00001}, other, results.size(), GetParam(), form), expected) << form;
    }
  }
}

TEST_P(Nans, KeepTheirBitsWhenTheyAreCopied) {
  const std::vector<std::string> results = {"x", "a", "b", "s", "c"};
  const std::string text = kernel_of(R"(
  %a = fneg float %x
  %first = icmp eq i32 %l, 0
  %b = select i1 %first, float %x, float %y
  %t = getelementptr [64 x float], ptr addrspace(3) @s, i64 0, i64 %i
  store float %x, ptr addrspace(3) %t
  call void @llvm.amdgcn.s.barrier()
  %o = xor i64 %i, 1
  %u = getelementptr [64 x float], ptr addrspace(3) @s, i64 0, i64 %o
  %s = load float, ptr addrspace(3) %u
  %r = fadd float %x, 1.0
  %c = select i1 %first, float %r, float %x
)",
                                     results);
  for (const char* form : {"loop", "fiber"}) {
    const std::vector<uint32_t> expected = {kOther,     kOther ^ 0x80000000, kOther, 0xffd54321, kNan,
                                            0xffd54321, 0x7fd54321,          1,      kOther,     0xffd54321};
    EXPECT_EQ(run(text, {kOther, 0xffd54321}, 1, results.size(), GetParam(), form), expected) << form;
  }
}

size_t count(std::string_view text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST_P(Nans, OfSumsInLoopsAndAtomicsAreTheSame) {
  const std::string text = std::string(kAmdgpuHead) + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %li = zext i32 %l to i64
  %first = load float, ptr addrspace(1) %in
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
  %p = getelementptr float, ptr addrspace(1) %in, i64 %i
  %x = load float, ptr addrspace(1) %p
  %more = fadd float %sum, %x
  %next = add i64 %i, 1
  %ends = icmp eq i64 %next, 4
  br i1 %ends, label %end, label %loop
end:
  %q = getelementptr float, ptr addrspace(1) %out, i64 %li
  store float %more, ptr addrspace(1) %q
  %a = getelementptr float, ptr addrspace(1) %out, i64 1
  %old = atomicrmw fadd ptr addrspace(1) %a, float %first seq_cst
  ret void
})";
  for (const char* form : {"loop", "fiber"}) {
    Result result = compile(kernel_of_pointers(2), text, configuration(GetParam(), form), nullptr, {.texts = true});
    AmdgpuCode code(result);
    uint32_t in[4] = {kOther, kInfinity, 0xffd54321, 0xff800000}, out[2] = {0, 0xffe11111};
    code.run({in, out}, 1);
    EXPECT_EQ(out[0], kNan) << form;
    EXPECT_EQ(out[1], kNan) << form;
    if (GetParam() != std::string("default<O2>")) continue;
    // Of the sum's four additions one result is looked at, and that of the atomic.
    EXPECT_EQ(count(result.ir, "fadd") * 2, count(result.ir, "fcmp uno") * 5) << result.ir;
  }
}

TEST_P(Nans, OfCudaKernelsAreTheSame) {
  const std::string text = R"(
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = load double, ptr addrspace(1) %in
  %p = getelementptr double, ptr addrspace(1) %in, i64 1
  %y = load double, ptr addrspace(1) %p
  %a = fadd double %y, %x
  %b = fdiv double 0.0, 0.0
  %w = fptrunc double %x to float
  %h = fptrunc float %w to half
  %q = getelementptr double, ptr addrspace(1) %out, i64 1
  %r = getelementptr double, ptr addrspace(1) %out, i64 2
  store double %a, ptr addrspace(1) %out
  store double %b, ptr addrspace(1) %q
  store half %h, ptr addrspace(1) %r
  ret void
})";
  NvptxCode code(nvptx_kernel(2), text, GetParam());
  uint64_t in[2] = {0x7ff8123456789abc, 0xfff8000000000077}, out[3] = {};
  void* arguments[] = {in, out};
  code.run(arguments, 1);
  EXPECT_EQ(out[0], 0xfff8000000000000);
  EXPECT_EQ(out[1], 0xfff8000000000000);
  EXPECT_EQ(out[2], 0xfe00U);
}

}  // namespace
}  // namespace mneme::codegen::host
