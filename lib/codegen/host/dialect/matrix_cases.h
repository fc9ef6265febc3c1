// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests of matrix instructions: random elements of every type, what numbers they are, and kernels of one
// instruction whose lanes bring words and take words.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "codegen/host/abi.h"
#include "codegen/host/dialect/amdgpu/run.h"

namespace mneme::codegen::host {

// How a kernel is compiled. In one way all cases are tried, in others some: each case is code of its own.
struct HowCompiled {
  const char *passes, *form;
  bool tries_all() const { return passes == std::string("default<O3>") && form == std::string("loop"); }
};
inline const auto kWaysToCompile = testing::Values(
    HowCompiled{"default<O3>", "loop"}, HowCompiled{"default<O0>", "loop"}, HowCompiled{"default<O3>", "fiber"});

// Of matrices and of sums.
struct ElementType {
  const char* name;
  unsigned bits;
  enum Kind { kFloat, kSigned, kUnsigned, kBits } kind;
  int fraction = 0, bias = 0;  // of floating-point numbers
  bool infinities = true;      // and else one NaN of each sign, all bits set
  bool fnuz = false;           // neither, but what would be a negative zero is a NaN
};
inline constexpr ElementType kF64 = {"f64", 64, ElementType::kFloat, 52, 1023},
                             kF32 = {"f32", 32, ElementType::kFloat, 23, 127},
                             kTf32 = {"tf32", 32, ElementType::kFloat, 23, 127},
                             kF16 = {"f16", 16, ElementType::kFloat, 10, 15},
                             kBf16 = {"bf16", 16, ElementType::kFloat, 7, 127},
                             kE4m3Type = {"e4m3", 8, ElementType::kFloat, 3, 7, false},
                             kE5m2Type = {"e5m2", 8, ElementType::kFloat, 2, 15}, kS8 = {"s8", 8, ElementType::kSigned},
                             kU8 = {"u8", 8, ElementType::kUnsigned}, kS4 = {"s4", 4, ElementType::kSigned},
                             kU4 = {"u4", 4, ElementType::kUnsigned}, kB1 = {"b1", 1, ElementType::kBits},
                             kS32 = {"s32", 32, ElementType::kSigned};

inline double number_of(const ElementType& type, uint64_t bits) {
  if (type.bits < 64) bits &= (uint64_t{1} << type.bits) - 1;
  if (type.kind == ElementType::kSigned) {
    return static_cast<double>(static_cast<int64_t>(bits << (64 - type.bits)) >> (64 - type.bits));
  }
  if (type.kind != ElementType::kFloat) return static_cast<double>(bits);
  if (std::string(type.name) == "tf32") bits &= ~uint64_t{0x1fff};
  uint64_t fraction = bits & ((uint64_t{1} << type.fraction) - 1);
  auto exponent = static_cast<int>(bits >> type.fraction & ((uint64_t{1} << (type.bits - 1 - type.fraction)) - 1));
  double size = exponent ? std::ldexp(static_cast<double>(fraction | uint64_t{1} << type.fraction),
                                      exponent - type.bias - type.fraction)
                         : std::ldexp(static_cast<double>(fraction), 1 - type.bias - type.fraction);
  return bits >> (type.bits - 1) ? -size : size;
}

// Finite; of numbers near one, some of them zeros and the least of all.
inline uint64_t random_element(const ElementType& type, std::mt19937_64& random) {
  uint64_t bits = random();
  if (type.bits < 64) bits &= (uint64_t{1} << type.bits) - 1;
  if (type.kind != ElementType::kFloat) return bits;
  if (type.bits == 8) {
    uint64_t size = bits & 0x7f;
    if (type.fnuz) return bits == 0x80 ? 0 : bits;
    return type.infinities && size >= 0x7c ? bits & 0x8b : size == 0x7f ? bits & 0x87 : bits;
  }
  uint64_t fraction = bits & ((uint64_t{1} << type.fraction) - 1), sign = bits >> (type.bits - 1);
  uint64_t exponent = static_cast<uint64_t>(type.bias - 3) + (bits >> type.fraction & 3);
  if (random() % 16 == 0) exponent = 0;
  return sign << (type.bits - 1) | exponent << type.fraction | fraction;
}

// A matrix of elements, as their bits.
struct TestMatrix {
  TestMatrix(const ElementType& type, unsigned rows, unsigned columns)
      : type(type), rows(rows), columns(columns), bits(size_t{rows} * columns) {}
  TestMatrix(const ElementType& type, unsigned rows, unsigned columns, std::mt19937_64& random)
      : TestMatrix(type, rows, columns) {
    for (uint64_t& element : bits) element = random_element(type, random);
  }
  uint64_t& at(unsigned row, unsigned column) { return bits.at(size_t{row} * columns + column); }
  double number(unsigned row, unsigned column) { return number_of(type, at(row, column)); }

  ElementType type;
  unsigned rows, columns;
  std::vector<uint64_t> bits;
};

struct MatrixPlace {
  unsigned row, column;
};
using PlaceOf = std::function<MatrixPlace(unsigned lane, unsigned element)>;

// The words of `word_bits` that a lane has of a matrix: so many elements.
inline void gather_words(TestMatrix& matrix, const PlaceOf& place, unsigned lane, unsigned count, unsigned word_bits,
                         std::vector<uint64_t>& words) {
  for (unsigned e = 0; e < count; ++e) {
    unsigned at = e * matrix.type.bits % word_bits;
    if (at == 0) words.push_back(0);
    MatrixPlace from = place(lane, e);
    words.back() |= matrix.at(from.row, from.column) << at;
  }
}

// Whether D is A * B + C: of integers exactly, as they wrap; else but for what rounding may do. `bit`: what becomes of
// two bits.
inline void expect_product(TestMatrix& a, TestMatrix& b, TestMatrix& c, TestMatrix& d, const std::string& text,
                           bool saturates = false, const std::function<bool(bool, bool)>& bit = nullptr) {
  unsigned wrong = 0;
  for (unsigned row = 0; row < c.rows; ++row) {
    for (unsigned column = 0; column < c.columns; ++column) {
      double want = c.number(row, column), scale = std::fabs(want);
      for (unsigned k = 0; k < a.columns; ++k) {
        double product = bit ? bit(a.at(row, k), b.at(k, column)) : a.number(row, k) * b.number(k, column);
        want += product;
        scale += std::fabs(product);
      }
      double got = d.number(row, column), error = 0;
      if (c.type.kind == ElementType::kFloat) {
        // Halves are singles before; sums of wide numbers are rounded at each step, and ours here, too.
        bool wide = a.type.bits >= 32 && std::string(a.type.name) != "tf32";
        error = std::ldexp(scale, -d.type.fraction - 1) * (wide ? 2 * a.columns + 2 : 2) +
                std::ldexp(1, 1 - d.type.bias - d.type.fraction);
        // number_of has infinities as the next power of two.
        if (d.type.bits == 16 && d.type.bias == 15 && std::fabs(want) >= 65520) want = std::copysign(65536, want);
      } else if (saturates) {
        want = std::fmin(std::fmax(want, INT32_MIN), INT32_MAX);
      } else {
        want = static_cast<int32_t>(static_cast<int64_t>(want));
      }
      if (std::fabs(got - want) <= error || ++wrong > 4) continue;
      ADD_FAILURE() << text << ", row " << row << ", column " << column << ": " << got << ", not " << want;
    }
  }
  EXPECT_EQ(wrong, 0u) << text;
}

// Runs code with a block of so many threads, in either form.
inline void run_matrix_code(CodeObject& object, const void* arguments, uint32_t threads) {
  static constexpr Services kServices = BlockOfThreads::services();
  BlockOfThreads items;
  TestBlock block(object, arguments, {.threads = threads});
  EXPECT_EQ(block.run(kServices, &items).fault, kNoFault);
}

// A kernel's body: each thread brings `in` words (i32, or i64 where `wide` says so) of the first argument, in slots of
// 64 bits, as %v0, …; what `call` gives, %r, one value or a structure, goes to the second.
struct Words {
  std::vector<unsigned> in, out;  // bits of each
};
inline std::string kernel_of_words(const Words& words, const std::string& call, const std::string& kernel,
                                   const std::string& thread) {
  auto number = [](size_t i) { return std::to_string(i); };
  std::string body = "define " + kernel + " void @k(ptr %in, ptr %out) {\n  %t = call i32 " + thread +
                     "()\n  %x = zext i32 %t to i64\n  %first = mul i64 %x, " + number(words.in.size()) +
                     "\n  %to = mul i64 %x, " + number(words.out.size()) + "\n";
  for (size_t i = 0; i < words.in.size(); ++i) {
    body += "  %i" + number(i) + " = add i64 %first, " + number(i) + "\n  %p" + number(i) +
            " = getelementptr i64, ptr %in, i64 %i" + number(i) + "\n  %v" + number(i) + " = load i" +
            number(words.in[i]) + ", ptr %p" + number(i) + "\n";
  }
  body += call;
  for (size_t i = 0; i < words.out.size(); ++i) {
    body += "  %o" + number(i) + " = add i64 %to, " + number(i) + "\n  %q" + number(i) +
            " = getelementptr i64, ptr %out, i64 %o" + number(i) + "\n  store i" + number(words.out[i]) + " %r" +
            number(i) + ", ptr %q" + number(i) + "\n";
  }
  return body + "  ret void\n}\n";
}

}  // namespace mneme::codegen::host
