// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: operations of CUDA's kernels, as LLVM's intrinsics and as assembly, of many operands, against what they
// are to give.
#pragma once
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline const std::vector<float>& singles() {
  static const std::vector<float> kValues = {
      0.0f,           -0.0f,         1.0f,         -1.0f,           1.5f,
      -2.5f,          0.1f,          3.0f,         1e-20f,          -7e18f,
      0x1p-126f,      0x1p-149f,     -0x1.8p-140f, 0x1.fffffep127f, -0x1.fffffep127f,
      kInf,           -kInf,         kNan,         16777217.0f,     2147483648.0f,
      -2147483904.0f, 4294967040.0f, 0.49999997f,  65519.996f,      65520.0f,
      1e-8f,          2.0e-45f,      123456.789f,  0.9999999f,      254.5f};
  return kValues;
}
inline std::vector<double> doubles() {
  std::vector<double> values;
  for (float value : singles()) values.push_back(value);
  for (double value : {0x1p-1074, -0x1.8p-1040, 0x1.fffffffffffffp1023, 1e300, -1e-300, 0x1.921fb54442d18p1, 9.3e18,
                       1.9e19, 2147483647.5, -2147483648.5, 4294967295.5, 0x1.000001p0, 0x1.0000010000001p0}) {
    values.push_back(value);
  }
  return values;
}

// Bits, but all NaNs are one.
inline uint32_t bits(float x) { return std::isnan(x) ? 0x7fc00000 : std::bit_cast<uint32_t>(x); }
inline uint64_t bits(double x) { return std::isnan(x) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(x); }
template <typename T>
T bits(T x) {
  return x;
}

template <typename T>
std::string type_name() {
  if (std::is_same_v<T, float>) return "float";
  if (std::is_same_v<T, double>) return "double";
  return "i" + std::to_string(sizeof(T) * 8);
}

// One result of each of many operations, for each of many operands: out[operation][thread].
template <typename To, typename... From>
class Operations {
 public:
  // "@llvm.nvvm.…" or "asm \"…\", \"…\"", and what it is to give.
  void add(const std::string& callee, std::function<To(From...)> wanted) {
    calls_.push_back(callee);
    wanted_.push_back(std::move(wanted));
  }

  void check(const std::vector<std::tuple<From...>>& operands, const char* passes = "default<O3>") {
    std::string declarations, body;
    std::vector<std::string> names = {type_name<From>()...};
    for (size_t i = 0; i < calls_.size(); ++i) {
      std::string number = std::to_string(i), arguments, types;
      for (size_t j = 0; j < names.size(); ++j) {
        arguments += (j ? ", " : "") + names[j] + " %a" + std::to_string(j);
        types += (j ? ", " : "") + names[j];
      }
      std::string to = type_name<To>();
      if (calls_[i].starts_with("@")) declarations += "declare " + to + " " + calls_[i] + "(" + types + ")\n";
      body += "  %r" + number + " = call " + to + " " + calls_[i] + "(" + arguments + ")\n  %i" + number +
              " = add i64 %x, " + std::to_string(i * 1024) + "\n  %p" + number + " = getelementptr " + to +
              ", ptr %out, i64 %i" + number + "\n  store " + to + " %r" + number + ", ptr %p" + number + "\n";
    }
    std::string head = "define ptx_kernel void @k(ptr %out";
    std::string loads = "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %x = zext i32 %t to i64\n";
    for (size_t j = 0; j < names.size(); ++j) {
      std::string n = std::to_string(j);
      head += ", ptr %in" + n;
      loads += "  %q" + n + " = getelementptr " + names[j] + ", ptr %in" + n + ", i64 %x\n  %a" + n + " = load " +
               names[j] + ", ptr %q" + n + "\n";
    }
    NvptxCode code(nvptx_kernel(1 + sizeof...(From)), declarations + head + ") {\n" + loads + body + "  ret void\n}\n",
                   passes);
    // A block has no more threads.
    for (size_t first = 0; first < operands.size(); first += 1024) {
      size_t end = std::min(operands.size(), first + 1024);
      run(code, {operands.begin() + static_cast<ptrdiff_t>(first), operands.begin() + static_cast<ptrdiff_t>(end)});
    }
  }

 private:
  void run(NvptxCode& code, const std::vector<std::tuple<From...>>& operands) {
    std::vector<To> out(calls_.size() * 1024);
    std::tuple<std::vector<From>...> columns;
    for (const auto& row : operands) append(columns, row, std::index_sequence_for<From...>());
    std::vector<void*> arguments = {out.data()};
    std::apply([&](auto&... column) { (arguments.push_back(column.data()), ...); }, columns);
    code.run(arguments.data(), static_cast<uint32_t>(operands.size()));
    for (size_t i = 0; i < calls_.size(); ++i) {
      int shown = 0;
      for (size_t t = 0; t < operands.size() && shown < 5; ++t) {
        To wanted = std::apply(wanted_[i], operands[t]), got = out[i * 1024 + t];
        if (bits(wanted) == bits(got)) continue;
        ++shown;
        std::string given;
        std::apply([&](auto... value) { ((given += testing::PrintToString(value) + " "), ...); }, operands[t]);
        ADD_FAILURE() << calls_[i] << " of " << given << ": " << testing::PrintToString(got) << ", not "
                      << testing::PrintToString(wanted) << " (" << std::hex << bits(got) << ", not " << bits(wanted)
                      << ")";
      }
    }
  }

  template <size_t... I>
  static void append(std::tuple<std::vector<From>...>& columns, const std::tuple<From...>& row,
                     std::index_sequence<I...>) {
    (std::get<I>(columns).push_back(std::get<I>(row)), ...);
  }
  std::vector<std::string> calls_;
  std::vector<std::function<To(From...)>> wanted_;
};

template <typename T>
std::vector<std::tuple<T>> each(const std::vector<T>& values) {
  std::vector<std::tuple<T>> rows;
  for (T value : values) rows.emplace_back(value);
  return rows;
}
template <typename T>
std::vector<std::tuple<T, T>> pairs(const std::vector<T>& values) {
  std::vector<std::tuple<T, T>> rows;
  for (size_t i = 0; i < 1024; ++i)
    rows.emplace_back(values[i % values.size()], values[i / values.size() % values.size()]);
  return rows;
}
template <typename T>
std::vector<std::tuple<T, T, T>> triples(const std::vector<T>& values) {
  std::vector<std::tuple<T, T, T>> rows;
  for (uint32_t i = 0; i < 1000; ++i) {
    uint32_t random = i * 2654435761u;
    rows.emplace_back(values[random % values.size()], values[(random >> 8) % values.size()],
                      values[(random >> 16) % values.size()]);
  }
  return rows;
}

struct Mode {
  const char* name;
  int mode;
};
inline constexpr Mode kModes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

// As the processor computes it in this mode; the compiler sees neither operands nor result.
template <typename T, typename Operation, typename... Values>
T in_mode(int mode, Operation operation, Values... values) {
  std::fesetround(mode);
  volatile T result = operation(const_cast<const volatile Values&>(values)...);
  std::fesetround(FE_TONEAREST);
  return result;
}

}  // namespace mneme::codegen::host
