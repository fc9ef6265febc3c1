// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MFMA, SMFMAC and WMMA of every shape and type against products of whole matrices, of random elements: fragments by
// the formulas of AMD's documents.
#include "codegen/host/dialect/matrix_cases.h"

namespace mneme::codegen::host {
namespace {

class AmdgpuMatrices : public testing::TestWithParam<HowCompiled> {};
INSTANTIATE_TEST_SUITE_P(Forms, AmdgpuMatrices, kWaysToCompile);

constexpr ElementType kXf32 = {"tf32", 32, ElementType::kFloat, 23, 127},
                      kFp8 = {"fp8", 8, ElementType::kFloat, 3, 8, false, true},
                      kBf8 = {"bf8", 8, ElementType::kFloat, 2, 16, false, true},
                      kI32 = {"i32", 32, ElementType::kSigned};

// How an operand is an LLVM value: so many of one type.
struct Vector {
  unsigned count;
  const char* type;
  unsigned bits;  // of one
  std::string text() const { return count == 1 ? type : "<" + std::to_string(count) + " x " + type + ">"; }
};

struct Case {
  std::string name;
  unsigned m, n, k, blocks;
  ElementType a, b, sum;
  Vector of_a, of_b, of_c;
  unsigned lanes = 64;
  PlaceOf in_a = nullptr, in_b = nullptr, in_c = nullptr;  // with the blocks one behind the other
  // Other operands, "i1 true": before A, between A and B, and at the end.
  std::vector<std::string> before = {}, between = {}, after = {};
  bool sparse = false;
  unsigned set = 0;                  // of a sparse A's, that abid names
  unsigned c_step = 1, c_first = 0;  // which of C's registers have sums
  bool saturates = false;
};

std::string load(const Vector& vector, const std::string& name, unsigned lane_slots, const std::string& from) {
  return "  %" + name + "i = mul i64 %x, " + std::to_string(lane_slots) + "\n  %" + name +
         "p = getelementptr i8, ptr %" + from + ", i64 %" + name + "i\n  %" + name + " = load " + vector.text() +
         ", ptr %" + name + "p, align 1\n";
}

unsigned bytes_of(const Vector& vector) { return vector.count * vector.bits / 8; }

// The bytes that lanes have of a matrix.
void put(TestMatrix& matrix, const PlaceOf& place, unsigned lane, unsigned count, uint8_t* to) {
  for (unsigned e = 0; e < count; ++e) {
    MatrixPlace at = place(lane, e);
    uint64_t bits = matrix.at(at.row, at.column);
    for (unsigned bit = 0; bit < matrix.type.bits; ++bit) {
      unsigned place_of_bit = e * matrix.type.bits + bit;
      to[place_of_bit / 8] |= static_cast<uint8_t>((bits >> bit & 1) << place_of_bit % 8);
    }
  }
}

void check(const HowCompiled& how, const Case& one,
           const std::function<void(TestMatrix&, TestMatrix&)>& seen = nullptr) {
  std::mt19937_64 random(one.name.size() * 31 + one.m + one.k);
  const unsigned stored = one.sparse ? one.k / 2 : one.k, lanes = one.lanes;
  TestMatrix a(one.a, one.m * one.blocks, stored, random), b(one.b, one.k * one.blocks, one.n, random),
      c(one.sum, one.m * one.blocks, one.n, random), d(one.sum, one.m * one.blocks, one.n);
  if (one.saturates) {
    for (uint64_t& bits : c.bits) bits = 0x7fffff00 ^ (bits & 0x800000ff);
  }
  const unsigned of_a = bytes_of(one.of_a) * 8 / one.a.bits, of_b = bytes_of(one.of_b) * 8 / one.b.bits,
                 of_c = one.of_c.count / one.c_step;
  std::vector<uint8_t> in_a(size_t{lanes} * bytes_of(one.of_a)), in_b(size_t{lanes} * bytes_of(one.of_b)),
      in_c(size_t{lanes} * bytes_of(one.of_c)), out(in_c.size());
  std::vector<uint32_t> index(lanes);
  TestMatrix whole(one.a, one.m * one.blocks, one.k);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    put(a, one.in_a, lane, of_a, &in_a[size_t{lane} * bytes_of(one.of_a)]);
    put(b, one.in_b, lane, of_b, &in_b[size_t{lane} * bytes_of(one.of_b)]);
    for (unsigned e = 0; e < of_c; ++e) {
      MatrixPlace at = one.in_c(lane, e);
      std::memcpy(&in_c[size_t{lane} * bytes_of(one.of_c) + (e * one.c_step + one.c_first) * one.of_c.bits / 8],
                  &c.at(at.row, at.column), one.sum.bits / 8);
    }
    index[lane] = static_cast<uint32_t>(random());
    for (unsigned e = 0; one.sparse && e < of_a; ++e) {
      unsigned shift = one.set * of_a * 2 + e * 2;
      uint32_t first = lane % 3, mine = e % 2 ? first + 1 : first;
      index[lane] = (index[lane] & ~(3u << shift)) | mine << shift;
      MatrixPlace at = one.in_a(lane, e);
      whole.at(at.row, at.column / 2 * 4 + mine) = a.at(at.row, at.column);
    }
  }
  std::vector<std::string> operands = one.before;
  operands.push_back(one.of_a.text() + " %a");
  operands.insert(operands.end(), one.between.begin(), one.between.end());
  operands.push_back(one.of_b.text() + " %b");
  operands.push_back(one.of_c.text() + " %c");
  if (one.sparse) operands.push_back("i32 %index");
  operands.insert(operands.end(), one.after.begin(), one.after.end());
  std::string given, declared;
  for (const std::string& operand : operands) {
    given += (given.empty() ? "" : ", ") + operand;
    declared += (declared.empty() ? "" : ", ") + operand.substr(0, operand.rfind(' '));
  }
  std::string call = "  %d = call " + one.of_c.text() + " @" + one.name + "(" + given + ")\n";
  std::string text = kAmdgpuHead;
  text += "declare " + one.of_c.text() + " @" + one.name + "(" + declared +
          ")\ndefine amdgpu_kernel void @k(ptr %pa, ptr %pb, ptr %pc, ptr %pi, ptr %out) {\n"
          "  %t = call i32 @llvm.amdgcn.workitem.id.x()\n  %x = zext i32 %t to i64\n" +
          load(one.of_a, "a", bytes_of(one.of_a), "pa") + load(one.of_b, "b", bytes_of(one.of_b), "pb") +
          load(one.of_c, "c", bytes_of(one.of_c), "pc") + load({1, "i32", 32}, "index", 4, "pi") + call +
          "  %q = getelementptr i8, ptr %out, i64 %ci\n  store " + one.of_c.text() +
          " %d, ptr %q, align 1\n  ret void\n}\n";
  bundle::KernelInfo kernel = kernel_of_pointers(5);
  kernel.wave_size = lanes;
  AmdgpuCode code(compile(kernel, text, configuration(how.passes, how.form)));
  void* arguments[] = {in_a.data(), in_b.data(), in_c.data(), index.data(), out.data()};
  run_matrix_code(*code.object, arguments, lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    for (unsigned e = 0; e < of_c; ++e) {
      MatrixPlace at = one.in_c(lane, e);
      std::memcpy(&d.at(at.row, at.column),
                  &out[size_t{lane} * bytes_of(one.of_c) + (e * one.c_step + one.c_first) * one.of_c.bits / 8],
                  one.sum.bits / 8);
    }
  }
  if (one.sparse) a = whole;
  if (seen) seen(a, b);
  for (unsigned block = 0; block < one.blocks; ++block) {
    auto part = [&](TestMatrix& all, unsigned rows) {
      TestMatrix matrix(all.type, rows, all.columns);
      auto first = all.bits.begin() + static_cast<ptrdiff_t>(size_t{block} * rows * all.columns);
      matrix.bits.assign(first, first + static_cast<ptrdiff_t>(size_t{rows} * all.columns));
      return matrix;
    };
    TestMatrix pa = part(a, one.m), pb = part(b, one.k), pc = part(c, one.m), pd = part(d, one.m);
    expect_product(pa, pb, pc, pd, one.name + " " + how.form + " block " + std::to_string(block), one.saturates);
  }
}

// Row i and k of A are in lane i + M * (block + B * floor(k / L)), as element k % L, of L.
PlaceOf operand(bool rows, unsigned m, unsigned k, unsigned blocks, unsigned of_lane) {
  return [=](unsigned lane, unsigned e) {
    unsigned i = lane % m, block = lane / m % blocks, at = lane / m / blocks * of_lane + e;
    return rows ? MatrixPlace{block * m + i, at} : MatrixPlace{block * k + at, i};
  };
}
PlaceOf sums(unsigned m, bool doubles) {
  return [=](unsigned lane, unsigned e) {
    unsigned column = lane % m, group = lane / m;
    if (doubles && m == 4) return MatrixPlace{lane / 4 % 4 * 4 + lane / 16, column};
    if (doubles) return MatrixPlace{4 * e + group, column};
    if (m == 4) return MatrixPlace{group * 4 + e, column};
    unsigned of_block = m * m / 64, block = e / of_block, in_block = e % of_block;
    return MatrixPlace{block * m + in_block / 4 * (64 / m) * 4 + group * 4 + in_block % 4, column};
  };
}

struct Mfma {
  const char* name;
  unsigned m, k;
  ElementType a, b, sum;
  Vector of_a, of_c;
};

Case case_of(const Mfma& one, int cbsz = 0, int abid = 0, int blgp = 0) {
  unsigned of_lane = bytes_of(one.of_a) * 8 / one.a.bits, blocks = 64 * of_lane / (one.m * one.k);
  Case result{std::string("llvm.amdgcn.mfma.") + one.name,
              one.m,
              one.m,
              one.k,
              blocks,
              one.a,
              one.b,
              one.sum,
              one.of_a,
              one.of_a,
              one.of_c};
  result.in_a = operand(true, one.m, one.k, blocks, of_lane);
  result.in_b = operand(false, one.m, one.k, blocks, of_lane);
  result.in_c = sums(one.m, one.sum.bits == 64);
  for (int number : {cbsz, abid, blgp}) result.after.push_back("i32 " + std::to_string(number));
  return result;
}

constexpr Vector kF1 = {1, "float", 32}, kF4 = {4, "float", 32}, kF16s = {16, "float", 32}, kF32s = {32, "float", 32},
                 kH4 = {4, "half", 16}, kS2 = {2, "i16", 16}, kS4s = {4, "i16", 16}, kI1 = {1, "i32", 32},
                 kL1 = {1, "i64", 64}, kX2 = {2, "float", 32}, kD1 = {1, "double", 64}, kD4 = {4, "double", 64},
                 kI4 = {4, "i32", 32}, kI16 = {16, "i32", 32}, kI32s = {32, "i32", 32};

const Mfma kMfma[] = {{"f32.32x32x1f32", 32, 1, kF32, kF32, kF32, kF1, kF32s},
                      {"f32.16x16x1f32", 16, 1, kF32, kF32, kF32, kF1, kF16s},
                      {"f32.4x4x1f32", 4, 1, kF32, kF32, kF32, kF1, kF4},
                      {"f32.32x32x2f32", 32, 2, kF32, kF32, kF32, kF1, kF16s},
                      {"f32.16x16x4f32", 16, 4, kF32, kF32, kF32, kF1, kF4},
                      {"f32.32x32x4f16", 32, 4, kF16, kF16, kF32, kH4, kF32s},
                      {"f32.16x16x4f16", 16, 4, kF16, kF16, kF32, kH4, kF16s},
                      {"f32.4x4x4f16", 4, 4, kF16, kF16, kF32, kH4, kF4},
                      {"f32.32x32x8f16", 32, 8, kF16, kF16, kF32, kH4, kF16s},
                      {"f32.16x16x16f16", 16, 16, kF16, kF16, kF32, kH4, kF4},
                      {"f32.32x32x2bf16", 32, 2, kBf16, kBf16, kF32, kS2, kF32s},
                      {"f32.16x16x2bf16", 16, 2, kBf16, kBf16, kF32, kS2, kF16s},
                      {"f32.4x4x2bf16", 4, 2, kBf16, kBf16, kF32, kS2, kF4},
                      {"f32.32x32x4bf16", 32, 4, kBf16, kBf16, kF32, kS2, kF16s},
                      {"f32.16x16x8bf16", 16, 8, kBf16, kBf16, kF32, kS2, kF4},
                      {"f32.32x32x4bf16.1k", 32, 4, kBf16, kBf16, kF32, kS4s, kF32s},
                      {"f32.16x16x4bf16.1k", 16, 4, kBf16, kBf16, kF32, kS4s, kF16s},
                      {"f32.4x4x4bf16.1k", 4, 4, kBf16, kBf16, kF32, kS4s, kF4},
                      {"f32.32x32x8bf16.1k", 32, 8, kBf16, kBf16, kF32, kS4s, kF16s},
                      {"f32.16x16x16bf16.1k", 16, 16, kBf16, kBf16, kF32, kS4s, kF4},
                      {"f64.16x16x4f64", 16, 4, kF64, kF64, kF64, kD1, kD4},
                      {"f64.4x4x4f64", 4, 4, kF64, kF64, kF64, kD1, kD1},
                      {"i32.32x32x4i8", 32, 4, kS8, kS8, kI32, kI1, kI32s},
                      {"i32.16x16x4i8", 16, 4, kS8, kS8, kI32, kI1, kI16},
                      {"i32.4x4x4i8", 4, 4, kS8, kS8, kI32, kI1, kI4},
                      {"i32.32x32x8i8", 32, 8, kS8, kS8, kI32, kI1, kI16},
                      {"i32.16x16x16i8", 16, 16, kS8, kS8, kI32, kI1, kI4},
                      {"i32.32x32x16.i8", 32, 16, kS8, kS8, kI32, kL1, kI16},
                      {"i32.16x16x32.i8", 16, 32, kS8, kS8, kI32, kL1, kI4},
                      {"f32.16x16x8.xf32", 16, 8, kXf32, kXf32, kF32, kX2, kF4},
                      {"f32.32x32x4.xf32", 32, 4, kXf32, kXf32, kF32, kX2, kF16s},
                      {"f32.16x16x32.fp8.fp8", 16, 32, kFp8, kFp8, kF32, kL1, kF4},
                      {"f32.16x16x32.fp8.bf8", 16, 32, kFp8, kBf8, kF32, kL1, kF4},
                      {"f32.16x16x32.bf8.fp8", 16, 32, kBf8, kFp8, kF32, kL1, kF4},
                      {"f32.16x16x32.bf8.bf8", 16, 32, kBf8, kBf8, kF32, kL1, kF4},
                      {"f32.32x32x16.fp8.fp8", 32, 16, kFp8, kFp8, kF32, kL1, kF16s},
                      {"f32.32x32x16.fp8.bf8", 32, 16, kFp8, kBf8, kF32, kL1, kF16s},
                      {"f32.32x32x16.bf8.fp8", 32, 16, kBf8, kFp8, kF32, kL1, kF16s},
                      {"f32.32x32x16.bf8.bf8", 32, 16, kBf8, kBf8, kF32, kL1, kF16s}};

TEST_P(AmdgpuMatrices, Mfma) {
  for (size_t i = 0; i < std::size(kMfma); i += GetParam().tries_all() ? 1 : 3) check(GetParam(), case_of(kMfma[i]));
}

// cbsz 1, abid 1: the second block of each two is A for both. blgp 2: B's upper half of lanes is that of all.
TEST_P(AmdgpuMatrices, Modifiers) {
  auto rows_from = [](TestMatrix& matrix, const std::function<unsigned(unsigned)>& from) {
    TestMatrix before = matrix;
    for (unsigned row = 0; row < matrix.rows; ++row) {
      for (unsigned i = 0; i < matrix.columns; ++i) matrix.at(row, i) = before.at(from(row), i);
    }
  };
  check(GetParam(), case_of(kMfma[0], 1, 1),
        [&](TestMatrix& a, TestMatrix&) { rows_from(a, [](unsigned row) { return row % 32 + 32; }); });
  check(GetParam(), case_of(kMfma[2], 2, 3),
        [&](TestMatrix& a, TestMatrix&) { rows_from(a, [](unsigned row) { return row / 16 * 16 + 12 + row % 4; }); });
  // Lanes are blocks of four columns: the row of B is the block.
  const std::pair<int, unsigned (*)(unsigned)> kChoices[] = {{1, [](unsigned block) { return block % 8; }},
                                                             {2, [](unsigned block) { return block % 8 + 8; }},
                                                             {3, [](unsigned block) { return (block + 4) % 16; }},
                                                             {6, [](unsigned block) { return block % 4 + 8; }}};
  for (auto [blgp, from] : kChoices) {
    check(GetParam(), case_of(kMfma[2], 0, 0, blgp), [&](TestMatrix&, TestMatrix& b) { rows_from(b, from); });
  }
  // Of doubles it negates A, B and C.
  check(GetParam(), case_of(kMfma[20], 0, 0, 3));
  check(GetParam(), case_of(kMfma[20], 0, 0, 1), [](TestMatrix& a, TestMatrix&) {
    for (uint64_t& bits : a.bits) bits ^= uint64_t{1} << 63;
  });
}

TEST_P(AmdgpuMatrices, Sparse) {
  constexpr Vector kH8 = {8, "half", 16}, kS8s = {8, "i16", 16}, kI2 = {2, "i32", 32}, kI4s = {4, "i32", 32};
  struct Smfmac {
    const char* name;
    unsigned m, k;
    ElementType a, b, sum;
    Vector of_a, of_b, of_c;
  };
  const Smfmac kAll[] = {{"f32.16x16x32.f16", 16, 32, kF16, kF16, kF32, kH4, kH8, kF4},
                         {"f32.32x32x16.f16", 32, 16, kF16, kF16, kF32, kH4, kH8, kF16s},
                         {"f32.16x16x32.bf16", 16, 32, kBf16, kBf16, kF32, kS4s, kS8s, kF4},
                         {"f32.32x32x16.bf16", 32, 16, kBf16, kBf16, kF32, kS4s, kS8s, kF16s},
                         {"i32.16x16x64.i8", 16, 64, kS8, kS8, kI32, kI2, kI4s, kI4},
                         {"i32.32x32x32.i8", 32, 32, kS8, kS8, kI32, kI2, kI4s, kI16},
                         {"f32.16x16x64.fp8.bf8", 16, 64, kFp8, kBf8, kF32, kI2, kI4s, kF4},
                         {"f32.32x32x32.bf8.fp8", 32, 32, kBf8, kFp8, kF32, kI2, kI4s, kF16s}};
  for (const Smfmac& one : kAll) {
    for (unsigned set : {0u, 1u}) {
      Case result{std::string("llvm.amdgcn.smfmac.") + one.name,
                  one.m,
                  one.m,
                  one.k,
                  1,
                  one.a,
                  one.b,
                  one.sum,
                  one.of_a,
                  one.of_b,
                  one.of_c};
      result.in_a = operand(true, one.m, one.k / 2, 1, bytes_of(one.of_a) * 8 / one.a.bits);
      result.in_b = operand(false, one.m, one.k, 1, bytes_of(one.of_b) * 8 / one.b.bits);
      result.in_c = sums(one.m, false);
      result.after = {"i32 0", "i32 " + std::to_string(set)};
      result.sparse = true;
      result.set = set;
      check(GetParam(), result);
    }
  }
}

// Lanes 16 further on have the same of A and B.
TEST_P(AmdgpuMatrices, Wmma) {
  for (unsigned lanes : {32u, 64u}) {
    auto case_with = [&](const std::string& name, const ElementType& a, const ElementType& b, const ElementType& sum,
                         const Vector& of_a, const Vector& of_c, const std::string& type) {
      Case one{"llvm.amdgcn.wmma." + name + type, 16, 16, 16, 1, a, b, sum, of_a, of_a, of_c};
      one.lanes = lanes;
      one.in_a = [](unsigned lane, unsigned e) { return MatrixPlace{lane % 16, e}; };
      one.in_b = [](unsigned lane, unsigned e) { return MatrixPlace{e, lane % 16}; };
      one.in_c = [=](unsigned lane, unsigned e) { return MatrixPlace{e * (lanes / 16) + lane / 16, lane % 16}; };
      return one;
    };
    unsigned of_c = 256 / lanes;
    const Vector halves = {16, "half", 16}, words = {16, "i16", 16}, singles = {of_c, "float", 32},
                 integers = {of_c, "i32", 32};
    std::string c = ".v" + std::to_string(of_c), twice = ".v" + std::to_string(2 * of_c);
    check(GetParam(), case_with("f32.16x16x16.f16", kF16, kF16, kF32, halves, singles, c + "f32.v16f16"));
    check(GetParam(), case_with("f32.16x16x16.bf16", kBf16, kBf16, kF32, words, singles, c + "f32.v16i16"));
    for (unsigned half : {0u, 1u}) {
      for (const char* tied : {"", ".tied"}) {
        Case one = case_with(std::string("f16.16x16x16.f16") + tied, kF16, kF16, kF16, halves, {2 * of_c, "half", 16},
                             twice + "f16.v16f16");
        one.c_step = 2, one.c_first = half;
        one.after = {half ? "i1 true" : "i1 false"};
        check(GetParam(), one);
        Case brain = case_with(std::string("bf16.16x16x16.bf16") + tied, kBf16, kBf16, kBf16, words,
                               {2 * of_c, "i16", 16}, twice + "i16.v16i16");
        brain.c_step = 2, brain.c_first = half;
        brain.after = one.after;
        check(GetParam(), brain);
      }
    }
    if (!GetParam().tries_all()) continue;
    for (bool clamp : {false, true}) {
      for (auto [a, b] : {std::pair{kS8, kU8}, {kU8, kS8}, {kS4, kU4}, {kU4, kS4}}) {
        bool bytes = a.bits == 8;
        Case one = case_with(bytes ? "i32.16x16x16.iu8" : "i32.16x16x16.iu4", a, b, kI32, {bytes ? 4u : 2u, "i32", 32},
                             integers, c + "i32." + (bytes ? "v4i32" : "v2i32"));
        auto is_signed = [](const ElementType& type) {
          return type.kind == ElementType::kSigned ? "i1 true" : "i1 false";
        };
        one.before = {is_signed(a)};
        one.between = {is_signed(b)};
        one.after = {clamp ? "i1 true" : "i1 false"};
        one.saturates = clamp;
        check(GetParam(), one);
      }
    }
  }
}

TEST(AmdgpuMatrixNames, LaterGenerationsAreRefused) {
  const std::string text =
      std::string(kAmdgpuHead) +
      "declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, "
      "<8 x float>)\ndefine amdgpu_kernel void @k(ptr %p) {\n  %d = call <8 x float> "
      "@llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> zeroinitializer, <8 x half> "
      "zeroinitializer, <8 x float> zeroinitializer)\n  store <8 x float> %d, ptr %p\n  ret void\n}\n";
  bundle::KernelInfo kernel = kernel_of_pointers(1);
  kernel.wave_size = 32;
  try {
    compile(kernel, text, configuration());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("uses llvm.amdgcn.wmma.f32.16x16x16.f16"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace mneme::codegen::host
