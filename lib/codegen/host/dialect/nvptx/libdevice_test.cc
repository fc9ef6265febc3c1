// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libdevice's functions, those of the host and those that libdevice itself computes, against the C library's. Wants a
// CUDA toolkit's libdevice.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

std::string libdevice() {
  std::vector<std::string> toolkits = {"/usr/local/cuda", "/opt/cuda"};
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* path = std::getenv(name)) toolkits.insert(toolkits.begin(), path);
  }
  for (const std::string& toolkit : toolkits) {
    std::string path = toolkit + "/nvvm/libdevice/libdevice.10.bc";
    if (llvm::sys::fs::exists(path)) return path;
  }
  return "";
}

// A kernel's text with what it needs of libdevice linked in, as clang does it: internal.
std::string with_libdevice(const std::string& kernel) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseIR(llvm::MemoryBufferRef(std::string(kNvptxHead) + kernel, "kernel"), error, context);
  auto library = llvm::parseIRFile(libdevice(), error, context);
  if (!module || !library) throw Error(error.getMessage().str());
  library->setTargetTriple(module->getTargetTriple());
  library->setDataLayout(module->getDataLayout());
  for (llvm::Function& function : *library) {
    for (const char* name : {"target-cpu", "target-features"}) function.removeFnAttr(name);
  }
  if (llvm::Linker::linkModules(*module, std::move(library), llvm::Linker::LinkOnlyNeeded))
    throw Error("does not link");
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  // The head is put before it again.
  std::string body;
  llvm::StringRef rest(text);
  while (!rest.empty()) {
    auto [line, more] = rest.split('\n');
    bool head = line.starts_with("source_filename") || line.starts_with("target ") ||
                (line.starts_with("declare") && line.contains("@llvm.nvvm.read.ptx.sreg."));
    if (!head) body += line.str() + "\n";
    rest = more;
  }
  return body;
}

template <typename T>
struct Function {
  const char* name;  // without __nv_, and without a final f
  std::function<long double(long double)> exact;
  double low, high;
  double ulps;
};

using L = long double;
constexpr L kPi = 3.14159265358979323846264338327950288L;

template <typename T>
std::vector<Function<T>> functions() {
  // How far CUDA's programming guide lets each be off, or a little more; half an ulp is rounding.
  bool single = sizeof(T) == 4;
  auto of = [=](double in_single, double in_double) { return single ? in_single : in_double; };
  return {{"sin", [](L x) { return std::sin(x); }, -1e5, 1e5, of(2, 2)},
          {"cos", [](L x) { return std::cos(x); }, -1e5, 1e5, of(2, 2)},
          {"tan", [](L x) { return std::tan(x); }, -100, 100, of(4, 2)},
          {"sinpi", [](L x) { return std::sin(x * kPi); }, -2.9, 2.9, of(2, 2)},
          {"cospi", [](L x) { return std::cos(x * kPi); }, -2.9, 2.9, of(2, 2)},
          {"asin", [](L x) { return std::asin(x); }, -1, 1, of(2, 2)},
          {"acos", [](L x) { return std::acos(x); }, -1, 1, of(2, 2)},
          {"atan", [](L x) { return std::atan(x); }, -50, 50, of(2, 2)},
          {"sinh", [](L x) { return std::sinh(x); }, -80, 80, of(3, 2)},
          {"cosh", [](L x) { return std::cosh(x); }, -80, 80, of(2, 2)},
          {"tanh", [](L x) { return std::tanh(x); }, -10, 10, of(2, 2)},
          {"asinh", [](L x) { return std::asinh(x); }, -1e6, 1e6, of(3, 3)},
          {"acosh", [](L x) { return std::acosh(x); }, 1, 1e6, of(4, 3)},
          {"atanh", [](L x) { return std::atanh(x); }, -0.999, 0.999, of(3, 2)},
          {"exp", [](L x) { return std::exp(x); }, -80, 80, of(1, 1)},
          {"exp2", [](L x) { return std::exp2(x); }, -120, 120, of(2, 1)},
          {"exp10", [](L x) { return std::pow(L{10}, x); }, -37, 37, of(1, 1)},
          {"expm1", [](L x) { return std::expm1(x); }, -20, 80, of(1, 1)},
          {"log", [](L x) { return std::log(x); }, 1e-30, 1e30, of(1, 1)},
          {"log2", [](L x) { return std::log2(x); }, 1e-30, 1e30, of(1, 1)},
          {"log10", [](L x) { return std::log10(x); }, 1e-30, 1e30, of(2, 1)},
          {"log1p", [](L x) { return std::log1p(x); }, -0.999, 1e6, of(1, 1)},
          {"sqrt", [](L x) { return std::sqrt(x); }, 0, 1e30, 0.5},
          {"rsqrt", [](L x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, of(2, 1)},
          {"cbrt", [](L x) { return std::cbrt(x); }, -1e20, 1e20, of(1, 1)},
          {"rcbrt", [](L x) { return 1 / std::cbrt(x); }, 1e-20, 1e20, of(1, 1)},
          {"erf", [](L x) { return std::erf(x); }, -5, 5, of(2, 2)},
          {"erfc", [](L x) { return std::erfc(x); }, -4, 8, of(4, 5)},
          {"normcdf", [](L x) { return std::erfc(-x / std::sqrt(L{2})) / 2; }, -8, 8, of(5, 5)},
          {"lgamma", [](L x) { return std::lgamma(x); }, 3, 1e5, of(6, 4)},
          {"tgamma", [](L x) { return std::tgamma(x); }, 0.1, 30, of(5, 10)},
          {"rint", [](L x) { return std::rint(x); }, -1e4, 1e4, 0},
          {"round", [](L x) { return std::round(x); }, -1e4, 1e4, 0},
          {"trunc", [](L x) { return std::trunc(x); }, -1e4, 1e4, 0},
          {"floor", [](L x) { return std::floor(x); }, -1e4, 1e4, 0},
          {"logb", [](L x) { return std::logb(x); }, 1e-30, 1e30, 0}};
}

// The unit in the last place of a number of T near x.
template <typename T>
long double ulp(long double x) {
  int exponent = std::max(std::ilogb(x), std::numeric_limits<T>::min_exponent - 1);
  return std::scalbn(1.0L, exponent - std::numeric_limits<T>::digits + 1);
}

template <typename T>
void check_functions(const char* passes) {
  constexpr size_t kThreads = 512;
  std::string type = sizeof(T) == 4 ? "float" : "double", end = sizeof(T) == 4 ? "f" : "";
  std::vector<Function<T>> all = functions<T>();
  std::string text, body;
  for (size_t i = 0; i < all.size(); ++i) {
    std::string n = std::to_string(i), name = "@__nv_" + std::string(all[i].name) + end;
    text += "declare " + type + " " + name + "(" + type + ")\n";
    body += "  %y" + n + " = add i64 %x, " + std::to_string(i * kThreads) + "\n  %p" + n + " = getelementptr " + type +
            ", ptr %in, i64 %y" + n + "\n  %a" + n + " = load " + type + ", ptr %p" + n + "\n  %r" + n + " = call " +
            type + " " + name + "(" + type + " %a" + n + ")\n  %q" + n + " = getelementptr " + type +
            ", ptr %out, i64 %y" + n + "\n  store " + type + " %r" + n + ", ptr %q" + n + "\n";
  }
  text +=
      "define ptx_kernel void @k(ptr %in, ptr %out) {\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "  %x = zext i32 %t to i64\n" +
      body + "  ret void\n}\n";
  NvptxCode code(nvptx_kernel(2), with_libdevice(text), passes);
  std::vector<T> in(all.size() * kThreads), out(in.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Function<T>& f = all[i];
    for (size_t t = 0; t < kThreads; ++t) {
      double part = static_cast<double>((t * 2654435761u + 12345) % 4294967296u) / 4294967296.0;
      // Over several orders of magnitude where there are some.
      double x =
          f.low > 0 && f.high / f.low > 1e6 ? f.low * std::pow(f.high / f.low, part) : f.low + part * (f.high - f.low);
      in[i * kThreads + t] = static_cast<T>(x);
    }
  }
  void* arguments[] = {in.data(), out.data()};
  code.run(arguments, kThreads);
  for (size_t i = 0; i < all.size(); ++i) {
    long double worst = 0;
    T at = 0;
    for (size_t t = 0; t < kThreads; ++t) {
      T x = in[i * kThreads + t];
      long double exact = all[i].exact(x);
      long double off = std::fabs(out[i * kThreads + t] - exact) / ulp<T>(exact);
      if (!(off <= worst)) {
        worst = off;
        at = x;
      }
    }
    EXPECT_LE(worst, all[i].ulps + 0.51) << "__nv_" << all[i].name << end << "(" << at << ")";
  }
}

class Libdevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (libdevice().empty()) GTEST_SKIP() << "no CUDA toolkit: libdevice.10.bc is not there";
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Libdevice, testing::Values("default<O0>", "default<O3>"));

TEST_P(Libdevice, SinglePrecisionIsNear) { check_functions<float>(GetParam()); }
TEST_P(Libdevice, DoublePrecisionIsNear) { check_functions<double>(GetParam()); }

// Every function that it defines is raised, or named when it is refused.
TEST_P(Libdevice, AllOfItIsKnown) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto library = llvm::parseIRFile(libdevice(), error, context);
  ASSERT_TRUE(library);
  std::string declarations, body;
  size_t count = 0;
  for (llvm::Function& function : *library) {
    if (function.isDeclaration() || !function.getName().starts_with("__nv_")) continue;
    std::string types, values, result, number = std::to_string(count++);
    llvm::raw_string_ostream(result) << *function.getReturnType();
    for (llvm::Argument& argument : function.args()) {
      std::string type;
      llvm::raw_string_ostream(type) << *argument.getType();
      types += (types.empty() ? "" : ", ") + type;
      const char* value = argument.getType()->isPointerTy() ? "%out" : argument.getType()->isIntegerTy() ? "3" : "0.5";
      if (argument.getType()->isIntegerTy()) {
        body +=
            "  %v" + number + "_" + std::to_string(argument.getArgNo()) + " = load volatile " + type + ", ptr %out\n";
        values += (values.empty() ? "" : ", ") + type + " %v" + number + "_" + std::to_string(argument.getArgNo());
      } else {
        values += (values.empty() ? "" : ", ") + type + " " + value;
      }
    }
    declarations += "declare " + result + " @" + function.getName().str() + "(" + types + ")\n";
    std::string call = "call " + result + " @" + function.getName().str() + "(" + values + ")\n";
    body += result == "void"
                ? "  " + call
                : "  %r" + number + " = " + call + "  store volatile " + result + " %r" + number + ", ptr %out\n";
  }
  EXPECT_GT(count, 340u);
  NvptxCode code(nvptx_kernel(1),
                 with_libdevice(declarations + "define ptx_kernel void @k(ptr %out) {\n" + body + "  ret void\n}\n"),
                 GetParam());
}

}  // namespace
}  // namespace mneme::codegen::host
