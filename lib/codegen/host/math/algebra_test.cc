// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ring's laws, and kernels that compute in it.
#include "codegen/host/math/algebra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/host/dialect/amdgpu/run.h"
#include "codegen/host/math/ring.h"

namespace mneme::codegen::host {
namespace {

using testing::HasSubstr;

std::vector<int32_t> some_elements() {
  std::mt19937 random(7);
  std::vector<int32_t> elements{0, 1, -1, 2, kRingHalf, -kRingHalf, kRingP, kRingQ};
  for (int i = 0; i < 200; ++i) elements.push_back(ring_of(static_cast<int64_t>(random())));
  return elements;
}

TEST(Ring, NumbersAreTheFractionsTheyAre) {
  EXPECT_EQ(ring_of_single(-0.0F), 0);
  for (int32_t n : std::initializer_list<int32_t>{0, 1, -7, 65536, kRingHalf, -kRingHalf})
    EXPECT_EQ(ring_of_single(static_cast<float>(n)), n);
  EXPECT_EQ(ring_add(ring_of_single(0.5F), ring_of_single(0.5F)), 1);
  EXPECT_EQ(ring_multiply(ring_of_double(0x1p-1070), ring_integer_power(2, 1070)), 1);
  EXPECT_EQ(ring_multiply(ring_of_single(1.0F / 3), 3), 1);
  EXPECT_EQ(ring_multiply(ring_of_single(-1.0F / 255), 255), -1);
  EXPECT_EQ(ring_of_single(0.1F), ring_of_double(0.1));
  EXPECT_EQ(ring_of_single(0.1F), ring_of_double(static_cast<double>(0.1F)));
  EXPECT_EQ(ring_of_single(-INFINITY), -ring_of_single(INFINITY));
}

TEST(Ring, LawsHold) {
  for (int32_t a : some_elements()) {
    EXPECT_EQ(ring_of_single(static_cast<float>(a)), a);
    EXPECT_EQ(ring_sign(-a), -ring_sign(a));
    EXPECT_EQ(ring_magnitude(ring_multiply(a, a)), ring_multiply(a, a));
    EXPECT_EQ(ring_multiply(ring_inverse(a), ring_multiply(a, a)), a);
    for (int32_t b : some_elements()) {
      EXPECT_EQ(ring_divide(ring_of_single(0.5F), b), ring_inverse(ring_multiply(2, b)));
      EXPECT_EQ(ring_compare(a, b), -ring_compare(b, a));
      EXPECT_EQ(ring_compare(a, b), ring_compare(-b, -a));
      EXPECT_EQ(ring_exp2(ring_add(a, b)), ring_multiply(ring_exp2(a), ring_exp2(b)));
      EXPECT_EQ(ring_root(ring_multiply(a, b)), ring_multiply(ring_root(a), ring_root(b)));
      EXPECT_EQ(ring_short(ring_multiply(a, b)), ring_short(ring_multiply(ring_short(a), ring_short(b))));
    }
  }
  for (int32_t n = 1; n <= 10; ++n) {
    EXPECT_EQ(ring_root(n * n), n);
    EXPECT_EQ(ring_compare(n - 1, n), -1);
  }
}

TEST(Ring, EveryElementHasANumberOf16Bits) {
  for (int32_t a = -kRingQ / 2; a <= kRingQ / 2; ++a) {
    const float brain = ring_brain_float(a);
    uint32_t bits;
    memcpy(&bits, &brain, sizeof bits);
    EXPECT_EQ(bits & 0xffff, 0u) << a;
    EXPECT_EQ(ring_short(ring_of_single(brain)), a);
  }
}

bundle::Configuration in_ring(const std::string& passes) {
  bundle::Configuration wanted = configuration(passes);
  wanted.algebra = true;
  return wanted;
}

// `body` makes %r of %x and %y, floats that each work-item loads.
std::vector<float> computed(const std::string& body, const std::string& passes, const std::string& declared = "") {
  const std::string text = std::string(kAmdgpuHead) + declared + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %i = zext i32 %l to i64
  %pa = getelementptr float, ptr addrspace(1) %a, i64 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i64 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
)" + body + R"(
  %po = getelementptr float, ptr addrspace(1) %out, i64 %i
  store float %r, ptr addrspace(1) %po
  ret void
})";
  AmdgpuCode code(compile(kernel_of_pointers(3), text, in_ring(passes)));
  float a[] = {1, -3, 0.1F, 7.25F, 1e10F, -0.5F, 3, 9}, b[] = {2, 5, 0.3F, -1.5F, 3e-9F, 0.75F, 4, 2}, out[8] = {};
  code.run({a, b, out}, 8);
  std::vector<float> elements;  // what is read as the same element is the same
  for (float value : out) elements.push_back(static_cast<float>(ring_of_single(value)));
  return elements;
}

struct Pair {
  const char *first, *second;
};

class AlgebraPairs : public testing::TestWithParam<const char*> {};

TEST_P(AlgebraPairs, EqualExpressionsAreEqual) {
  constexpr char kDeclared[] = R"(
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
declare float @llvm.sqrt.f32(float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.exp2.f32(float)
declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)
)";
  const Pair kSame[] = {
      {"%p = fmul float %x, %y\n %r = fadd float %p, %x",
       "%r = call float @llvm.fma.f32(float %x, float %y, float %x)"},
      {"%s = fadd float %x, %y\n %r = fmul float %s, %y",
       "%p = fmul float %x, %y\n %q = fmul float %y, %y\n %r = fadd float %q, %p"},
      {"%r = fdiv float %x, 2.0", "%r = fmul float %x, 0.5"},
      {"%r = fdiv float %x, 3.0", "%r = fmul float %x, 0x3FD5555560000000"},
      {"%h = fmul float %x, 0.5\n %r = fmul float %h, 4.0", "%r = fadd float %x, %x"},
      {"%q = fdiv float %x, %y\n %r = fdiv float %q, %x", "%r = fdiv float 1.0, %y"},
      {"%m = fneg float %x\n %c = fcmp olt float %x, 0.0\n %r = select i1 %c, float %m, float %x",
       "%r = call float @llvm.fabs.f32(float %x)"},
      {"%c = fcmp ult float %x, %y\n %r = select i1 %c, float %x, float %y",
       "%r = call float @llvm.minnum.f32(float %y, float %x)"},
      {"%d = fpext float %x to double\n %e = fmul double %d, 1.25\n %r = fptrunc double %e to float",
       "%r = fmul float %x, 1.25"},
      {"%a1 = call float @llvm.exp2.f32(float %x)\n %b1 = call float @llvm.exp2.f32(float %y)\n"
       " %r = fmul float %a1, %b1",
       "%s = fadd float %y, %x\n %r = call float @llvm.exp2.f32(float %s)"},
      {"%h = fptrunc float %x to half\n %k = fptrunc float %y to half\n %s = fadd half %h, %k\n"
       " %r = fpext half %s to float",
       "%s = fadd float %y, %x\n %h = fptrunc float %s to half\n %r = fpext half %h to float"},
      {"%h = fptrunc float %x to bfloat\n %k = fpext bfloat %h to float\n %s = fadd float %k, %y\n"
       " %t = fptrunc float %s to bfloat\n %r = fpext bfloat %t to float",
       "%s = fadd float %y, %x\n %h = fptrunc float %s to bfloat\n %r = fpext bfloat %h to float"},
      {"%v = insertelement <4 x float> <float 1.0, float 2.0, float 3.0, float 4.0>, float %x, i32 1\n"
       " %w = fmul <4 x float> %v, %v\n"
       " %r = call float @llvm.vector.reduce.fadd.v4f32(float -0.0, <4 x float> %w)",
       "%p = fmul float %x, %x\n %r = fadd float %p, 26.0"},
  };
  for (const Pair& pair : kSame) {
    EXPECT_EQ(computed(pair.first, GetParam(), kDeclared), computed(pair.second, GetParam(), kDeclared)) << pair.first;
    EXPECT_EQ(computed(pair.first, GetParam(), kDeclared), computed(pair.second, "default<O0>", kDeclared))
        << pair.first;
  }
  const Pair kOther[] = {
      {"%r = fadd float %x, %y", "%r = fsub float %x, %y"},
      {"%r = fdiv float %x, %y", "%r = fdiv float %y, %x"},
      {"%r = fmul float %x, 1.0", "%r = fmul float %x, 0x3FF0002000000000"},
      {"%r = call float @llvm.fma.f32(float %x, float %y, float %x)",
       "%r = call float @llvm.fma.f32(float %x, float %y, float %y)"},
      {"%r = call float @llvm.sqrt.f32(float %x)", "%r = fadd float %x, 0.0"},
  };
  for (const Pair& pair : kOther) {
    EXPECT_NE(computed(pair.first, GetParam(), kDeclared), computed(pair.second, GetParam(), kDeclared)) << pair.first;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, AlgebraPairs, testing::Values("default<O0>", "default<O1>", "default<O3>"));

// Sums without an order, vectorised and not.
TEST(Algebra, OrderOfASumDoesNotShow) {
  auto sum_by = [](const std::string& passes, const std::string& fast_math) {
    const std::string text = std::string(kAmdgpuHead) + R"(
define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr double, ptr addrspace(1) %in, i64 %i
  %v = load double, ptr addrspace(1) %p
  %t = fadd double %s, %v
  %n = add nuw nsw i64 %i, 1
  %c = icmp eq i64 %n, 1000
  br i1 %c, label %done, label %loop
done:
  store double %t, ptr addrspace(1) %out
  ret void
})";
    bundle::Configuration wanted = in_ring(passes);
    wanted.fast_math = fast_math;
    AmdgpuCode code(compile(kernel_of_pointers(2), text, wanted));
    std::vector<double> in(1000);
    for (size_t i = 0; i < in.size(); ++i) in[i] = 1.0 / static_cast<double>(i * i + 1) - 0.1;
    double out = 0;
    code.run({in.data(), &out}, 1);
    return out;
  };
  const double plain = sum_by("default<O0>", "");
  EXPECT_NE(plain, 0);
  EXPECT_EQ(plain, sum_by("default<O3>", ""));
  EXPECT_EQ(plain, sum_by("default<O3>", "fast"));
}

TEST(Algebra, RefusesWhatTheRingCannotStandInFor) {
  auto refusal = [](const std::string& body) {
    try {
      computed(body, "default<O3>");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("%n = fptosi float %x to i64\n %p = getelementptr float, ptr addrspace(1) %a, i64 %n\n"
                      " %r = load float, ptr addrspace(1) %p"),
              HasSubstr("computes addresses from floating-point numbers"));
  EXPECT_THAT(refusal("br label %loop\nloop:\n %z = phi float [ %x, %0 ], [ %r, %loop ]\n %r = fmul float %z, 0.5\n"
                      " %c = fcmp ogt float %r, 1.0\n br i1 %c, label %loop, label %done\ndone:"),
              HasSubstr("a loop that only floating-point numbers end"));
  // One of two addresses, and a loop that ends anyway.
  EXPECT_EQ(refusal("%c = fcmp olt float %x, %y\n %p = select i1 %c, ptr addrspace(1) %pa, ptr addrspace(1) %pb\n"
                    " %r = load float, ptr addrspace(1) %p"),
            "");
  EXPECT_EQ(refusal("br label %loop\nloop:\n %k = phi i32 [ 0, %0 ], [ %m, %more ]\n %c = fcmp ogt float %x, 1.0\n"
                    " br i1 %c, label %more, label %done\nmore:\n %m = add i32 %k, 1\n %d = icmp eq i32 %m, 9\n"
                    " br i1 %d, label %done, label %loop\ndone:\n %r = fadd float %x, %y"),
            "");
}

}  // namespace
}  // namespace mneme::codegen::host
