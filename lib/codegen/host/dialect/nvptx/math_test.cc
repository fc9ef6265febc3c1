// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point arithmetic of CUDA's kernels against the processor's own (rounded as it is told) and against what the
// PTX ISA says of special values.
#include <cmath>

#include "codegen/host/dialect/nvptx/operations.h"

namespace mneme::codegen::host {
namespace {

template <typename T>
void check_rounded(const std::vector<T>& values, const std::string& type) {
  Operations<T, T, T> two;
  Operations<T, T, T, T> three;
  Operations<T, T> one;
  for (Mode mode : kModes) {
    std::string end = std::string(".") + mode.name + "." + type;
    int m = mode.mode;
    two.add("@llvm.nvvm.add" + end, [m](T a, T b) {
      return in_mode<T>(m, [](volatile const T& x, volatile const T& y) { return x + y; }, a, b);
    });
    two.add("@llvm.nvvm.mul" + end, [m](T a, T b) {
      return in_mode<T>(m, [](volatile const T& x, volatile const T& y) { return x * y; }, a, b);
    });
    two.add("@llvm.nvvm.div" + end, [m](T a, T b) {
      return in_mode<T>(m, [](volatile const T& x, volatile const T& y) { return x / y; }, a, b);
    });
    three.add("@llvm.nvvm.fma" + end, [m](T a, T b, T c) {
      return in_mode<T>(
          m, [](volatile const T& x, volatile const T& y, volatile const T& z) { return std::fma(T{x}, T{y}, T{z}); },
          a, b, c);
    });
    one.add("@llvm.nvvm.rcp" + end,
            [m](T a) { return in_mode<T>(m, [](volatile const T& x) { return T{1} / x; }, a); });
    one.add("@llvm.nvvm.sqrt" + end,
            [m](T a) { return in_mode<T>(m, [](volatile const T& x) { return std::sqrt(T{x}); }, a); });
  }
  for (const char* passes : {"default<O0>", "default<O3>"}) {
    two.check(pairs(values), passes);
    three.check(triples(values), passes);
    one.check(each(values), passes);
  }
}

TEST(NvptxMath, SinglePrecisionInEveryMode) { check_rounded(singles(), "f"); }
TEST(NvptxMath, DoublePrecisionInEveryMode) { check_rounded(doubles(), "d"); }

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

TEST(NvptxMath, FlushedAndLimited) {
  Operations<float, float, float> two;
  two.add("@llvm.nvvm.add.rn.ftz.f", [](float a, float b) { return flushed(flushed(a) + flushed(b)); });
  two.add("@llvm.nvvm.mul.rn.ftz.f", [](float a, float b) { return flushed(flushed(a) * flushed(b)); });
  auto least = [](float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  };
  two.add("@llvm.nvvm.fmin.f", least);
  two.add("@llvm.nvvm.fmin.nan.f", [=](float a, float b) {
    return std::isnan(a + 0 * b) && (std::isnan(a) || std::isnan(b)) ? kNan : least(a, b);
  });
  two.add("@llvm.nvvm.fmax.f", [=](float a, float b) { return -least(-a, -b); });
  two.add("@llvm.nvvm.fmin.xorsign.abs.f", [=](float a, float b) {
    float size = least(std::fabs(a), std::fabs(b));
    return std::signbit(a) != std::signbit(b) ? -size : size;
  });
  two.add("asm \"copysign.f32 $0, $1, $2;\", \"=f,f,f\"", [](float a, float b) { return std::copysign(b, a); });
  two.add("asm \"slct.f32.f32 $0, $1, 0f40000000, $2;\", \"=f,f,f\"",
          [](float a, float b) { return b >= 0 ? a : 2.0f; });
  two.check(pairs(singles()));
  Operations<float, float> one;
  auto test = [](const std::string& kind) {
    return "asm \"{ .reg .pred p; testp." + kind + ".f32 p, $1; selp.f32 $0, 0f3f800000, 0f00000000, p; }\", \"=f,f\"";
  };
  // Zeros are normal to it.
  one.add(test("normal"), [](float a) { return std::isnormal(a) || a == 0 ? 1.0f : 0.0f; });
  one.add(test("subnormal"), [](float a) { return std::fpclassify(a) == FP_SUBNORMAL ? 1.0f : 0.0f; });
  one.add(test("finite"), [](float a) { return std::isfinite(a) ? 1.0f : 0.0f; });
  one.add("@llvm.nvvm.saturate.f", [](float a) { return a > 0 ? (a < 1 ? a : 1.0f) : 0.0f; });
  one.add("@llvm.nvvm.ceil.f", [](float a) { return std::ceil(a); });
  one.add("@llvm.nvvm.floor.ftz.f", [](float a) { return std::floor(flushed(a)); });
  one.add("@llvm.nvvm.trunc.f", [](float a) { return std::trunc(a); });
  one.add("@llvm.nvvm.round.f", [](float a) { return std::nearbyint(a); });
  one.add("@llvm.nvvm.fabs.ftz.f", [](float a) { return std::fabs(flushed(a)); });
  one.add("@llvm.nvvm.rsqrt.approx.f", [](float a) { return 1.0f / std::sqrt(a); });
  one.add("@llvm.nvvm.sqrt.approx.ftz.f", [](float a) { return flushed(std::sqrt(flushed(a))); });
  one.check(each(singles()));
}

TEST(NvptxMath, ApproximationsAreNear) {
  struct Approximation {
    const char* name;
    double (*exact)(double);
  };
  for (auto [name, exact] :
       {Approximation{"ex2", std::exp2}, {"lg2", std::log2}, {"sin", std::sin}, {"cos", std::cos}}) {
    NvptxCode code(nvptx_kernel(2), std::string("declare float @llvm.nvvm.") + name +
                                        ".approx.f(float)\ndeclare float @llvm.nvvm.tanh.approx.f32(float)\n" +
                                        "define ptx_kernel void @k(ptr %out, ptr %in) {\n"
                                        "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %x = zext i32 %t to i64\n"
                                        "  %p = getelementptr float, ptr %in, i64 %x\n  %a = load float, ptr %p\n"
                                        "  %r = call float @llvm.nvvm." +
                                        name +
                                        ".approx.f(float %a)\n  %q = getelementptr float, ptr %out, i64 %x\n"
                                        "  store float %r, ptr %q\n"
                                        "  %h = call float @llvm.nvvm.tanh.approx.f32(float %a)\n"
                                        "  %y = add i64 %x, 512\n  %o = getelementptr float, ptr %out, i64 %y\n"
                                        "  store float %h, ptr %o\n  ret void\n}\n");
    std::vector<float> in = singles(), out(1024);
    for (int i = 0; in.size() < 512; ++i) in.push_back(static_cast<float>(i) * 0.037f - 8);
    void* arguments[] = {out.data(), in.data()};
    code.run(arguments, 512);
    auto expect_near = [](float got, double wanted, const char* what, float of) {
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << what << " " << of;
        return;
      }
      float nearest = static_cast<float>(wanted);
      bool near = got == nearest || got == std::nextafter(nearest, kInf) || got == std::nextafter(nearest, -kInf);
      EXPECT_TRUE(near) << what << " of " << of << ": " << got << ", not " << nearest;
    };
    for (size_t i = 0; i < 512; ++i) {
      expect_near(out[i], exact(in[i]), name, in[i]);
      expect_near(out[512 + i], std::tanh(static_cast<double>(in[i])), "tanh", in[i]);
    }
  }
}

}  // namespace
}  // namespace mneme::codegen::host
