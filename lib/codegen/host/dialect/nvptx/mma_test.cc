// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mma and mma.sp of every type and shape against products of whole matrices, of random elements: fragments by the
// formulas of the PTX ISA.
#include "codegen/host/dialect/matrix_cases.h"
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

class NvptxMma : public testing::TestWithParam<HowCompiled> {};
INSTANTIATE_TEST_SUITE_P(Forms, NvptxMma, kWaysToCompile);

struct Shape {
  unsigned m, n, k;
  std::string text() const { return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k); }
};

MatrixPlace place_in_a(unsigned bits, unsigned t, unsigned i) {
  unsigned group = t >> 2, in_group = t % 4;
  switch (bits) {
    case 64:
      return {i % 2 ? group + 8 : group, in_group + i / 2 * 4};
    case 32:
      return {i % 2 ? group + 8 : group, in_group + (i >= 2 ? 4 : 0)};
    case 16:
      return {i % 4 < 2 ? group : group + 8, in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    case 8:
      return {i % 8 < 4 ? group : group + 8, in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
    case 4:
      return {i % 16 < 8 ? group : group + 8, in_group * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
    default:
      return {i % 64 < 32 ? group : group + 8, in_group * 32 + (i & 31) + (i >= 64 ? 128 : 0)};
  }
}
MatrixPlace place_in_b(unsigned bits, unsigned t, unsigned i) {
  unsigned group = t >> 2, in_group = t % 4;
  unsigned near = bits == 64 ? 1 : 32 / bits;  // in a register
  return {in_group * near + i % near + i / near * near * 4, group};
}
MatrixPlace place_in_c(unsigned t, unsigned i) { return {(t >> 2) + (i >= 2 ? 8 : 0), t % 4 * 2 + (i & 1)}; }

// "{$1,$2}" of so many operands.
std::string vector_of(size_t first, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += (i ? ",$" : "$") + std::to_string(first + i);
  return text + "}";
}

unsigned word_bits(const ElementType& type) { return type.bits == 64 ? 64 : 32; }

struct Case {
  std::string name;  // of the instruction
  Shape shape;
  ElementType a, b, c, d;
  PlaceOf in_a = nullptr, in_b = nullptr, in_c = nullptr, in_d = nullptr;
  bool saturates = false;
  std::function<bool(bool, bool)> bit = nullptr;
  unsigned products = 1;  // that the warp computes; `in_a` and its like have them one behind the other
  int selector = -1;      // of a sparse product; else none
};

// A sparse A. Of each four elements of a row two are there, of tf32 one of two; of four bits, two pairs of four. Where
// those are is two bits for each, the first lowest: of tf32 two times two.
class SparseRows {
 public:
  SparseRows(const ElementType& type, unsigned rows, unsigned depth, std::mt19937_64& random)
      : type_(type), words_(size_t{rows} * 4) {
    const unsigned units = type.bits == 32 ? depth : type.bits == 4 ? depth / 4 : depth / 2;  // that have two bits
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned unit = 0; unit < units; unit += 2) {
        uint64_t first = 0, second = 2;
        if (type.bits == 32) {
          first = random() % 2 * 2, second = first + 1;
        } else {
          first = random() % 3, second = first + 1 + random() % (3 - first);
        }
        index_.push_back(first);
        index_.push_back(second);
        words_[row * 4 + unit / 8] |= static_cast<uint16_t>(first << unit % 8 * 2 | second << (unit + 1) % 8 * 2);
      }
    }
    units_ = units;
  }
  // The column of an element that is stored as the k-th.
  unsigned column(unsigned row, unsigned k) const {
    auto index = [&](unsigned unit) {
      return static_cast<unsigned>(index_[size_t{row} * units_ + unit]) + unit / 2 * 4;
    };
    if (type_.bits == 32) return index(2 * k) / 2;
    return type_.bits == 4 ? index(k / 2) * 2 + k % 2 : index(k);
  }
  // Sixteen bits of a row's.
  uint64_t piece(unsigned row, unsigned i) const { return words_[row * 4 + i]; }
  unsigned pieces() const { return units_ / 8; }

 private:
  ElementType type_;
  unsigned units_ = 0;
  std::vector<uint64_t> index_;
  std::vector<uint16_t> words_;
};

// The word of lane t: "Sparse MMA .m16n8k32 metadata layout for .f16/.bf16 type" and its like. What the instruction
// does not ask for is something else.
uint64_t sparse_word(const SparseRows& rows, const ElementType& type, unsigned t, unsigned selector) {
  unsigned group = t >> 2, in_group = t % 4;
  auto both = [](uint64_t low, uint64_t high) { return low | high << 16; };
  if (rows.pieces() == 1) {
    return in_group == selector ? both(rows.piece(group, 0), rows.piece(group + 8, 0)) : 0x5a5a5a5a;
  }
  if (rows.pieces() == 2 && in_group / 2 != selector) return 0x5a5a5a5a;
  if (rows.pieces() == 2 && type.bits >= 16) {
    return both(rows.piece(group, in_group % 2), rows.piece(group + 8, in_group % 2));
  }
  unsigned row = in_group % 2 ? group + 8 : group, first = rows.pieces() == 2 ? 0 : in_group / 2 * 2;
  return both(rows.piece(row, first), rows.piece(row, first + 1));
}

// Two warps, each with matrices of its own.
void check(const HowCompiled& how, const Case& one) {
  std::mt19937_64 random(one.name.size() * 7 + one.shape.k);
  const unsigned m = one.shape.m * one.products, n = one.shape.n, k = one.shape.k;
  const unsigned stored = one.selector >= 0 ? k / 2 : k;  // of a row of A
  std::vector<TestMatrix> a, b, c, d;
  std::vector<SparseRows> sparse;
  for (unsigned warp = 0; warp < 2; ++warp) {
    a.emplace_back(one.a, m, stored, random);
    if (one.selector >= 0) sparse.emplace_back(one.a, m, k, random);
    b.emplace_back(one.b, k * one.products, n, random);
    c.emplace_back(one.c, m, n, random);
    d.emplace_back(one.d, m, n);
    if (one.saturates) {
      for (uint64_t& bits : c.back().bits) bits = 0x7fffff00 ^ (bits & 0x800000ff);
    }
  }
  Words words;
  std::vector<uint64_t> in;
  auto count = [](unsigned elements, const ElementType& type) { return elements * type.bits / word_bits(type); };
  const unsigned of_a = m * stored / 32, of_b = k * n * one.products / 32, of_c = m * n / 32;
  for (auto [elements, type] : {std::pair{of_a, one.a}, {of_b, one.b}, {of_c, one.c}}) {
    words.in.insert(words.in.end(), count(elements, type), word_bits(type));
  }
  if (one.selector >= 0) words.in.push_back(32);
  words.out.assign(count(of_c, one.d), word_bits(one.d));
  for (unsigned thread = 0; thread < 64; ++thread) {
    unsigned warp = thread / 32, t = thread % 32;
    gather_words(a[warp], one.in_a, t, of_a, word_bits(one.a), in);
    gather_words(b[warp], one.in_b, t, of_b, word_bits(one.b), in);
    gather_words(c[warp], one.in_c, t, of_c, word_bits(one.c), in);
    if (one.selector >= 0) in.push_back(sparse_word(sparse[warp], one.a, t, static_cast<unsigned>(one.selector)));
  }
  size_t results = words.out.size(), left = count(of_a, one.a), right = count(of_b, one.b), sums = count(of_c, one.c);
  std::string text = one.name + " " + vector_of(0, results) + "," + vector_of(results, left) + "," +
                     vector_of(results + left, right) + "," + vector_of(results + left + right, sums);
  if (one.selector >= 0)
    text += ",$" + std::to_string(results + left + right + sums) + "," + std::to_string(one.selector);
  text += ";";
  std::string constraints, operands, types;
  for (size_t i = 0; i < results; ++i) {
    constraints += std::string(i ? ",=" : "=") + (words.out[i] == 64 ? "l" : "r");
    types += (i ? ", i" : "i") + std::to_string(words.out[i]);
  }
  for (size_t i = 0; i < words.in.size(); ++i) {
    constraints += words.in[i] == 64 ? ",l" : ",r";
    operands += (i ? ", i" : "i") + std::to_string(words.in[i]) + " %v" + std::to_string(i);
  }
  std::string type = results == 1 ? types : "{ " + types + " }";
  std::string call =
      "  %all = call " + type + " asm sideeffect \"" + text + "\", \"" + constraints + "\"(" + operands + ")\n";
  for (size_t i = 0; i < results; ++i) {
    std::string number = std::to_string(i);
    call += results == 1 ? "  %r0 = add " + types + " %all, 0\n"
                         : "  %r" + number + " = extractvalue " + type + " %all, " + number + "\n";
  }
  NvptxCode code(nvptx_kernel(2), kernel_of_words(words, call, "ptx_kernel", "@llvm.nvvm.read.ptx.sreg.tid.x"),
                 how.passes, how.form);
  std::vector<uint64_t> out(64 * results);
  void* arguments[] = {in.data(), out.data()};
  run_matrix_code(*code.object, arguments, 64);
  const unsigned bits = one.d.bits, in_word = word_bits(one.d) / bits;
  for (unsigned thread = 0; thread < 64; ++thread) {
    for (unsigned i = 0; i < of_c; ++i) {
      MatrixPlace at = one.in_d(thread % 32, i);
      uint64_t word = out[thread * results + i / in_word] >> (i % in_word * bits);
      d[thread / 32].at(at.row, at.column) = bits == 64 ? word : word & ((uint64_t{1} << bits) - 1);
    }
  }
  for (unsigned warp = 0; warp < sparse.size(); ++warp) {
    TestMatrix whole(one.a, m, k);
    for (unsigned row = 0; row < m; ++row) {
      for (unsigned i = 0; i < stored; ++i) whole.at(row, sparse[warp].column(row, i)) = a[warp].at(row, i);
    }
    a[warp] = whole;
  }
  for (unsigned warp = 0; warp < 2; ++warp) {
    for (unsigned product = 0; product < one.products; ++product) {
      auto part = [&](TestMatrix& whole, unsigned rows) {
        TestMatrix matrix(whole.type, rows, whole.columns);
        auto first = whole.bits.begin() + static_cast<ptrdiff_t>(size_t{product} * rows * whole.columns);
        matrix.bits.assign(first, first + static_cast<ptrdiff_t>(size_t{rows} * whole.columns));
        return matrix;
      };
      TestMatrix pa = part(a[warp], one.shape.m), pb = part(b[warp], k), pc = part(c[warp], one.shape.m),
                 pd = part(d[warp], one.shape.m);
      expect_product(pa, pb, pc, pd, one.name + " " + how.form, one.saturates, one.bit);
    }
  }
}

void check_dense(const HowCompiled& how, Shape shape, const ElementType& a, const ElementType& b, const ElementType& c,
                 const ElementType& d, const std::string& modifier = "") {
  Case one{"mma.sync.aligned." + shape.text() + ".row.col" + modifier + "." + d.name + "." + a.name + "." + b.name +
               "." + c.name,
           shape,
           a,
           b,
           c,
           d};
  one.in_a = [&](unsigned t, unsigned i) { return place_in_a(a.bits, t, i); };
  one.in_b = [&](unsigned t, unsigned i) { return place_in_b(b.bits, t, i); };
  one.in_c = one.in_d = place_in_c;
  one.saturates = !modifier.empty();
  check(how, one);
}

TEST_P(NvptxMma, FloatingPoint) {
  for (Shape shape : {Shape{8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}}) {
    check_dense(GetParam(), shape, kF64, kF64, kF64, kF64);
  }
  for (Shape shape : {Shape{16, 8, 4}, {16, 8, 8}}) check_dense(GetParam(), shape, kTf32, kTf32, kF32, kF32);
  for (Shape shape : {Shape{16, 8, 8}, {16, 8, 16}}) {
    check_dense(GetParam(), shape, kBf16, kBf16, kF32, kF32);
    for (const ElementType& sum : {kF16, kF32}) check_dense(GetParam(), shape, kF16, kF16, sum, sum);
  }
}

TEST_P(NvptxMma, EightBits) {
  for (const ElementType& a : {kE4m3Type, kE5m2Type}) {
    for (const ElementType& b : {kE4m3Type, kE5m2Type}) {
      for (const ElementType& sum : {kF32, kF16}) check_dense(GetParam(), {16, 8, 32}, a, b, sum, sum);
      check_dense(GetParam(), {16, 8, 16}, a, b, kF32, kF32);
      if (!GetParam().tries_all()) break;
    }
  }
}

TEST_P(NvptxMma, Integers) {
  for (const char* modifier : {"", ".satfinite"}) {
    for (auto [a, b] : {std::pair{kS8, kS8}, {kU8, kU8}, {kS8, kU8}, {kU8, kS8}}) {
      for (Shape shape : {Shape{8, 8, 16}, {16, 8, 16}, {16, 8, 32}}) {
        check_dense(GetParam(), shape, a, b, kS32, kS32, modifier);
      }
      if (!GetParam().tries_all()) break;
    }
    for (auto [a, b] : {std::pair{kS4, kS4}, {kU4, kU4}, {kS4, kU4}, {kU4, kS4}}) {
      for (Shape shape : {Shape{8, 8, 32}, {16, 8, 32}, {16, 8, 64}}) {
        check_dense(GetParam(), shape, a, b, kS32, kS32, modifier);
      }
      if (!GetParam().tries_all()) break;
    }
  }
}

TEST_P(NvptxMma, Bits) {
  for (const char* operation : {"xor", "and"}) {
    for (Shape shape : {Shape{8, 8, 128}, {16, 8, 128}, {16, 8, 256}}) {
      bool is_and = operation[0] == 'a';
      Case one{"mma.sync.aligned." + shape.text() + ".row.col.s32.b1.b1.s32." + operation + ".popc",
               shape,
               kB1,
               kB1,
               kS32,
               kS32};
      one.in_a = [](unsigned t, unsigned i) { return place_in_a(1, t, i); };
      one.in_b = [](unsigned t, unsigned i) { return place_in_b(1, t, i); };
      one.in_c = one.in_d = place_in_c;
      one.bit = [=](bool a, bool b) { return is_and ? a && b : a != b; };
      check(GetParam(), one);
    }
  }
}

// m8n8k4 of halves: four products. Lanes 4 * q to 4 * q + 3 and those 16 further on compute the q-th.
TEST_P(NvptxMma, Quads) {
  auto quad = [](unsigned t) { return t % 16 / 4; };
  auto whole = [](unsigned t, unsigned i) { return t % 4 + (t < 16 ? 0 : 4) + 0 * i; };
  auto part = [](unsigned t, unsigned i) { return i % 4 + (t < 16 ? 0 : 4); };
  auto sum = [&](const ElementType& type) -> PlaceOf {
    if (type.bits == 16) return [=](unsigned t, unsigned i) { return MatrixPlace{quad(t) * 8 + whole(t, i), i}; };
    return [=](unsigned t, unsigned i) {
      unsigned row = (t & 1) + (i & 2) + (t < 16 ? 0 : 4), column = (i & 4) + (t & 2) + (i & 1);
      return MatrixPlace{quad(t) * 8 + row, column};
    };
  };
  for (bool a_rows : {true, false}) {
    for (bool b_rows : {true, false}) {
      for (auto [c, d] : {std::pair{kF16, kF16}, {kF32, kF32}, {kF16, kF32}}) {
        Case one{std::string("mma.sync.aligned.m8n8k4.") + (a_rows ? "row." : "col.") + (b_rows ? "row." : "col.") +
                     d.name + ".f16.f16." + c.name,
                 {8, 8, 4},
                 kF16,
                 kF16,
                 c,
                 d};
        one.products = 4;
        one.in_a = [=](unsigned t, unsigned i) {
          return a_rows ? MatrixPlace{quad(t) * 8 + whole(t, i), i} : MatrixPlace{quad(t) * 8 + part(t, i), t % 4};
        };
        one.in_b = [=](unsigned t, unsigned i) {
          return b_rows ? MatrixPlace{quad(t) * 4 + t % 4, part(t, i)} : MatrixPlace{quad(t) * 4 + i, whole(t, i)};
        };
        one.in_c = sum(c);
        one.in_d = sum(d);
        check(GetParam(), one);
      }
    }
  }
}

TEST_P(NvptxMma, Sparse) {
  auto check_sparse = [](Shape shape, const ElementType& a, const ElementType& b, const ElementType& sum, int selector,
                         const std::string& modifier = "", const std::string& ordered = "") {
    Case one{"mma.sp" + ordered + ".sync.aligned." + shape.text() + ".row.col" + modifier + "." + sum.name + "." +
                 a.name + "." + b.name + "." + sum.name,
             shape,
             a,
             b,
             sum,
             sum};
    one.in_a = [&](unsigned t, unsigned i) { return place_in_a(a.bits, t, i); };
    one.in_b = [&](unsigned t, unsigned i) { return place_in_b(b.bits, t, i); };
    one.in_c = one.in_d = place_in_c;
    one.saturates = !modifier.empty();
    one.selector = selector;
    check(GetParam(), one);
  };
  for (int selector : {0, 1, 2, 3}) {
    check_sparse({16, 8, 16}, kF16, kF16, kF32, selector);
    check_sparse({16, 8, 8}, kTf32, kTf32, kF32, selector);
  }
  for (int selector : {0, 1}) {
    check_sparse({16, 8, 32}, kF16, kF16, kF16, selector);
    check_sparse({16, 8, 32}, kBf16, kBf16, kF32, selector, "", "::ordered_metadata");
    check_sparse({16, 8, 16}, kTf32, kTf32, kF32, selector);
    check_sparse({16, 8, 32}, kS8, kU8, kS32, selector);
    check_sparse({16, 8, 64}, kU4, kS4, kS32, selector);
  }
  check_sparse({16, 8, 64}, kS8, kS8, kS32, 0, ".satfinite");
  check_sparse({16, 8, 64}, kE4m3Type, kE5m2Type, kF32, 0);
  check_sparse({16, 8, 128}, kS4, kU4, kS32, 0);
}

TEST(NvptxMmaNames, WhatIsNotThereIsRefused) {
  for (const char* name : {"m16n8k16.row.row.f32.f16.f16.f32", "m16n8k8.row.col.f32.e4m3.e4m3.f32",
                           "m16n8k16.row.col.f32.f16.bf16.f32", "m16n8k16.row.col.s32.s8.s4.s32",
                           "m16n8k16.row.col.satfinite.f32.f16.f16.f32", "m16n8k256.row.col.s32.b1.b1.s32"}) {
    std::string text = std::string("mma.sync.aligned.") + name;
    EXPECT_NE(nvptx_refusal("call void asm sideeffect \"{ .reg .b32 a; " + text +
                            " {a,a,a,a},{a,a,a,a},{a,a},{a,a,a,a}; }\", \"\"()")
                  .find("uses inline assembly"),
              std::string::npos)
        << name;
  }
}

}  // namespace
}  // namespace mneme::codegen::host
