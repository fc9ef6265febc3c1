// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that was compiled to take denormal floats for zeros.
#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <string>
#include <vector>

#include "codegen/host/dialect/amdgpu/run.h"
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

constexpr size_t kResults = 8;
using Results = std::array<float, kResults>;

// The function that the kernel calls goes by its caller's mode, as those of the vendor's library do.
constexpr char kArithmetic[] = R"(
declare float @llvm.sqrt.f32(float)
declare float @llvm.fabs.f32(float)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
define internal float @product(float %a, float %b) #1 {
  %r = fmul float %a, %b
  ret float %r
}
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %p = getelementptr float, ptr addrspace(1) %x, i64 %i
  %a = load float, ptr addrspace(1) %p
  %r0 = call float @product(float %a, float 0.5)
  %r1 = fadd float %a, %a
  %minus = fneg float %a
  %r4 = call float @llvm.fabs.f32(float %minus)
  %r2 = call float @llvm.sqrt.f32(float %r4)
  %differs = fcmp one float %a, 0.0
  %r3 = select i1 %differs, float 1.0, float 0.0
  %wide = fpext float %a to double
  %small = fmul double %wide, 0x3FE8000000000000
  %r5 = fptrunc double %small to float
  %v0 = insertelement <2 x float> zeroinitializer, float %a, i32 0
  %v1 = insertelement <2 x float> %v0, float %a, i32 1
  %v = call <2 x float> @llvm.fma.v2f32(<2 x float> %v1, <2 x float> <float 0.75, float 4.0>,
                                        <2 x float> zeroinitializer)
  %r6 = extractelement <2 x float> %v, i32 0
  %r7 = extractelement <2 x float> %v, i32 1
  %o = getelementptr [8 x float], ptr addrspace(1) %out, i64 %i
)";

std::string ir(const std::string& kernel_mode, const std::string& function_mode) {
  std::string text = std::string(kAmdgpuHead) + kArithmetic;
  for (size_t k = 0; k < kResults; ++k) {
    const std::string n = std::to_string(k);
    text += "  %o" + n + " = getelementptr float, ptr addrspace(1) %o, i64 " + n + "\n  store float %r" + n +
            ", ptr addrspace(1) %o" + n + "\n";
  }
  const std::string attribute = "{ \"denormal-fp-math-f32\"=\"";
  return text + "  ret void\n}\nattributes #0 = " + attribute + kernel_mode + "\" }\nattributes #1 = " + attribute +
         function_mode + "\" }\n";
}

float flushed(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }
float kept(float x) { return x; }

Results expected(float x, float (*f)(float)) {
  const float a = f(x);
  return {f(a * 0.5f),  f(a + a),     f(std::sqrt(std::fabs(a))),  a != 0 ? 1.0f : 0.0f,
          std::fabs(x), f(a * 0.75f), f(std::fma(a, 0.75f, 0.0f)), f(std::fma(a, 4.0f, 0.0f))};
}

class FlushDenormals : public EveryLevel {
 protected:
  static constexpr std::array kValues = {0.0f,      -0.0f,        1.0f,      FLT_MIN, -FLT_MIN,
                                         0x1p-127f, -0x1.8p-130f, 0x1p-149f, 2e-38f};

  void expect(const std::string& kernel_mode, const std::string& function_mode, float (*f)(float)) {
    AmdgpuCode code(compile(kernel_of_pointers(2), ir(kernel_mode, function_mode), configuration(GetParam())));
    std::vector<float> x(kValues.begin(), kValues.end());
    std::vector<Results> out(x.size());
    code.run({x.data(), out.data()}, static_cast<uint32_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const Results wanted = expected(x[i], f);
      for (size_t k = 0; k < kResults; ++k) {
        EXPECT_EQ(out[i][k], wanted[k]) << "result " << k << " of " << x[i];
        EXPECT_EQ(std::signbit(out[i][k]), std::signbit(wanted[k])) << "result " << k << " of " << x[i];
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, FlushDenormals, kEveryLevel);

TEST_P(FlushDenormals, AreZerosWhereCodeSaysSo) {
  expect("preserve-sign,preserve-sign", "preserve-sign,preserve-sign", flushed);
  expect("preserve-sign,preserve-sign", "dynamic,dynamic", flushed);
}

TEST_P(FlushDenormals, AreKeptElsewhere) {
  expect("ieee,ieee", "ieee,ieee", kept);
  expect("ieee,ieee", "dynamic,dynamic", kept);
}

// Instructions of CUDA's that are written out say themselves whether they flush.
TEST(FlushDenormalsOfCuda, NotInAssemblyThatDoesNotSaySo) {
  constexpr char kSums[] = R"(
define ptx_kernel void @k(ptr %in, ptr %out) #0 {
  %a = load float, ptr %in
  %r0 = fadd float %a, %a
  %r1 = call float asm "add.f32 $0, $1, $2;", "=f,f,f"(float %a, float %a)
  %r2 = call float asm "add.ftz.f32 $0, $1, $2;", "=f,f,f"(float %a, float %a)
  %o1 = getelementptr float, ptr %out, i64 1
  %o2 = getelementptr float, ptr %out, i64 2
  store float %r0, ptr %out
  store float %r1, ptr %o1
  store float %r2, ptr %o2
  ret void
}
attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
)";
  for (const char* passes : {"default<O0>", "default<O3>"}) {
    NvptxCode code(nvptx_kernel(2), kSums, passes);
    float in = 0x1p-130f;
    std::array<float, 3> out{1, 1, 1};
    void* arguments[] = {&in, out.data()};
    code.run(arguments, 1);
    EXPECT_EQ(out, (std::array{0.0f, 0x1p-129f, 0.0f})) << passes;
  }
}

}  // namespace
}  // namespace mneme::codegen::host
