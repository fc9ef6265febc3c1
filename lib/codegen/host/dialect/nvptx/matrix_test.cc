// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices in a warp's registers: each lane's fragments as the figures of the PTX ISA have them, against products of
// whole matrices.
#include <bit>
#include <functional>

#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

using Values = std::vector<uint32_t>;

class NvptxMatrices : public testing::TestWithParam<const char*> {
 protected:
  // Two warps; each thread brings `words` words of `in` to the assembly, which gives it `results` words of `out`.
  static Values run(const std::string& text, unsigned words, unsigned results, const Values& in) {
    std::string body =
        "define ptx_kernel void @k(ptr %in, ptr %out) {\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
        "  %x = zext i32 %t to i64\n  %first = mul i64 %x, " +
        std::to_string(words) + "\n  %to = mul i64 %x, " + std::to_string(results) + "\n";
    std::string operands, constraints, types;
    for (unsigned i = 0; i < words; ++i) {
      std::string n = std::to_string(i);
      body += "  %i" + n + " = add i64 %first, " + n + "\n  %p" + n + " = getelementptr i32, ptr %in, i64 %i" + n +
              "\n  %v" + n + " = load i32, ptr %p" + n + "\n";
      operands += (i ? ", i32 %v" : "i32 %v") + n;
    }
    for (unsigned i = 0; i < results; ++i) constraints += i ? ",=r" : "=r", types += i ? ", i32" : "i32";
    for (unsigned i = 0; i < words; ++i) constraints += ",r";
    std::string type = results == 1 ? "i32" : "{ " + types + " }";
    body += "  %r = call " + type + " asm sideeffect \"" + text + "\", \"" + constraints + "\"(" + operands + ")\n";
    for (unsigned i = 0; i < results; ++i) {
      std::string n = std::to_string(i), value = "%r";
      if (results > 1) {
        value = "%e" + n;
        body += "  %e" + n + " = extractvalue " + type + " %r, " + n + "\n";
      }
      body += "  %o" + n + " = add i64 %to, " + n + "\n  %q" + n + " = getelementptr i32, ptr %out, i64 %o" + n +
              "\n  store i32 " + value + ", ptr %q" + n + "\n";
    }
    NvptxCode code(nvptx_kernel(2), body + "  ret void\n}\n", GetParam());
    Values out(size_t{64} * results, 0xdead), given = in;
    void* arguments[] = {given.data(), out.data()};
    code.run(arguments, 64);
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, NvptxMatrices, testing::Values("default<O0>", "default<O3>"));

// "{$1,$2}" of so many operands.
std::string vector_of(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i ? ",$" : "$") + std::to_string(first + i);
  return text + "}";
}

// Small integers, which all the types have.
int element(unsigned warp, unsigned matrix, unsigned row, unsigned column) {
  return static_cast<int>((warp * 7 + matrix * 5 + row * 3 + column * 11 + row * column) % 13) - 4;
}

uint32_t half_bits(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

// A type of elements: how many a register has, and an integer's bits in it.
struct Kind {
  const char* name;
  unsigned bits;
  std::function<uint32_t(int)> encode;
};
const Kind kHalf = {"f16", 16, [](int v) { return half_bits(static_cast<float>(v)); }},
           kBrain = {"bf16", 16, [](int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16; }},
           // What is behind the tenth bit of the fraction is not seen.
    kTensorFloat = {"tf32", 32, [](int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)) | 0xfff; }},
           kSigned = {"s8", 8, [](int v) { return static_cast<uint32_t>(v) & 0xff; }};

struct Shape {
  unsigned m, k;
};

// Of element i of lane t's part, by the ISA's formulas: "Matrix Fragments for mma.m16n8k16" and so on.
struct Place {
  unsigned row, column;
};
Place place_in_a(const Kind& kind, Shape, unsigned t, unsigned i) {
  unsigned group = t >> 2, in_group = t % 4;
  if (kind.bits == 16) return {i % 4 < 2 ? group : group + 8, in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  if (kind.bits == 32) return {i % 2 ? group + 8 : group, in_group + (i >= 2 ? 4 : 0)};
  return {i % 8 < 4 ? group : group + 8, in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}
Place place_in_b(const Kind& kind, unsigned t, unsigned i) {
  unsigned group = t >> 2, in_group = t % 4;
  if (kind.bits == 16) return {in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
  if (kind.bits == 32) return {in_group + (i >= 1 ? 4 : 0), group};
  return {in_group * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
}
Place place_in_c(unsigned t, unsigned i) { return {(t >> 2) + (i >= 2 ? 8 : 0), t % 4 * 2 + (i & 1)}; }

// What all lanes bring: A's registers, B's, C's.
Values fragments(const Kind& kind, Shape shape, bool halves, const std::function<uint32_t(int)>& sum) {
  const unsigned in_register = 32 / kind.bits, a = shape.m * shape.k / 32, b = 8 * shape.k / 32, c = shape.m * 8 / 32;
  Values in;
  for (unsigned thread = 0; thread < 64; ++thread) {
    unsigned warp = thread / 32, t = thread % 32;
    auto gather = [&](unsigned count, unsigned matrix, const auto& place) {
      for (unsigned i = 0; i < count; i += in_register) {
        uint32_t word = 0;
        for (unsigned e = 0; e < in_register; ++e) {
          Place at = place(i + e);
          word |= kind.encode(element(warp, matrix, at.row, at.column)) << (e * kind.bits % 32);
        }
        in.push_back(word);
      }
    };
    gather(a, 0, [&](unsigned i) { return place_in_a(kind, shape, t, i); });
    gather(b, 1, [&](unsigned i) { return place_in_b(kind, t, i); });
    for (unsigned i = 0; i < c; ++i) {
      Place at = place_in_c(t, i);
      uint32_t bits = sum(element(warp, 2, at.row, at.column));
      if (halves && i % 2) {
        in.back() |= bits << 16;
      } else {
        in.push_back(bits);
      }
    }
  }
  return in;
}

int product(Shape shape, unsigned warp, Place at) {
  int sum = element(warp, 2, at.row, at.column);
  for (unsigned k = 0; k < shape.k; ++k) sum += element(warp, 0, at.row, k) * element(warp, 1, k, at.column);
  return sum;
}

TEST_P(NvptxMatrices, Products) {
  auto single = [](int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); };
  auto half = [](int v) { return half_bits(static_cast<float>(v)); };
  auto integer = [](int v) { return static_cast<uint32_t>(v); };
  struct Case {
    Kind kind;
    Shape shape;
    const char* result;
    std::function<uint32_t(int)> encode;
  };
  for (const Case& one : {Case{kHalf, {16, 16}, "f32", single}, Case{kHalf, {16, 8}, "f32", single},
                          Case{kHalf, {16, 16}, "f16", half}, Case{kBrain, {16, 16}, "f32", single},
                          Case{kBrain, {16, 8}, "f32", single}, Case{kTensorFloat, {16, 8}, "f32", single},
                          Case{kTensorFloat, {16, 4}, "f32", single}, Case{kSigned, {16, 32}, "s32", integer},
                          Case{kSigned, {16, 16}, "s32", integer}, Case{kSigned, {8, 16}, "s32", integer}}) {
    const unsigned in_register = 32 / one.kind.bits, a = one.shape.m * one.shape.k / 32 / in_register,
                   b = one.shape.k / 4 / in_register;
    const bool halves = one.result == std::string("f16");
    const unsigned c = one.shape.m / (halves ? 8 : 4);
    std::string name = "mma.sync.aligned.m" + std::to_string(one.shape.m) + "n8k" + std::to_string(one.shape.k) +
                       ".row.col." + one.result + "." + one.kind.name + "." + one.kind.name + "." + one.result;
    std::string text = name + " " + vector_of(0, c) + ", " + vector_of(c, a) + ", " + vector_of(c + a, b) + ", " +
                       vector_of(c + a + b, c) + ";";
    Values out = run(text, a + b + c, c, fragments(one.kind, one.shape, halves, one.encode));
    for (unsigned thread = 0; thread < 64; ++thread) {
      for (unsigned i = 0; i < one.shape.m / 4; ++i) {
        uint32_t word = out[thread * c + (halves ? i / 2 : i)];
        uint32_t expected = one.encode(product(one.shape, thread / 32, place_in_c(thread % 32, i)));
        EXPECT_EQ(halves ? word >> (i % 2 * 16) & 0xffff : word, expected)
            << name << ", thread " << thread << ", " << i;
      }
    }
  }
}

TEST_P(NvptxMatrices, ProductsOfDoubles) {
  // A: row g, column i; B: row i, column g; C: row g, columns 2 * i and 2 * i + 1.
  Values in;
  auto put = [&](int value) {
    auto bits = std::bit_cast<uint64_t>(static_cast<double>(value));
    in.push_back(static_cast<uint32_t>(bits));
    in.push_back(static_cast<uint32_t>(bits >> 32));
  };
  for (unsigned t = 0; t < 64; ++t) {
    unsigned group = t % 32 / 4, member = t % 4;
    put(element(t / 32, 0, group, member));
    put(element(t / 32, 1, member, group));
    for (unsigned j = 0; j < 2; ++j) put(element(t / 32, 2, group, member * 2 + j));
  }
  std::string text =
      "{ .reg .f64 a, b, c0, c1, d0, d1; mov.b64 a, {$4,$5}; mov.b64 b, {$6,$7}; mov.b64 c0, {$8,$9};"
      " mov.b64 c1, {$10,$11}; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0,d1}, {a}, {b},"
      " {c0,c1}; mov.b64 {$0,$1}, d0; mov.b64 {$2,$3}, d1; }";
  Values out = run(text, 8, 4, in);
  for (unsigned t = 0; t < 64; ++t) {
    for (unsigned i = 0; i < 2; ++i) {
      uint64_t bits = out[t * 4 + i * 2] | uint64_t{out[t * 4 + i * 2 + 1]} << 32;
      EXPECT_EQ(std::bit_cast<double>(bits), product({8, 4}, t / 32, place_in_c(t % 32, i))) << t;
    }
  }
}

TEST_P(NvptxMatrices, IntegersSaturate) {
  const std::string name = "mma.sync.aligned.m8n8k16.row.col", types = ".s32.u8.s8.s32 {$0,$1}, {$2}, {$3}, {$4,$5};";
  Values in;
  for (unsigned t = 0; t < 64; ++t) in.insert(in.end(), {0xffffffff, 0x7f7f7f7f, 0x7fffffff, 0x80000000});
  const uint32_t sum = 16 * 255 * 127;
  EXPECT_EQ(run(name + types, 4, 2, in)[0], 0x7fffffff + sum);
  Values clamped = run(name + ".satfinite" + types, 4, 2, in);
  EXPECT_EQ(clamped[0], 0x7fffffffu);
  EXPECT_EQ(clamped[1], 0x80000000 + sum);
}

// Each thread stores four words in its own row of shared memory; matrices are of rows of both warps.
class NvptxMatrixMemory : public testing::TestWithParam<const char*> {
 protected:
  static Values run(const std::string& body) {
    std::string text =
        "@tile = internal addrspace(3) global [64 x [4 x i32]] undef, align 16\n"
        "declare void @llvm.nvvm.barrier0()\n"
        "define ptx_kernel void @k(ptr %out) {\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
        "  %n = shl i32 %t, 3\n"
        "  %row = getelementptr [4 x i32], ptr addrspace(3) @tile, i32 %t\n";
    for (unsigned i = 0; i < 4; ++i) {
      std::string n = std::to_string(i);
      text += "  %low" + n + " = add i32 %n, " + std::to_string(2 * i) + "\n  %next" + n + " = add i32 %low" + n +
              ", 1\n  %high" + n + " = shl i32 %next" + n + ", 16\n  %w" + n + " = or i32 %low" + n + ", %high" + n +
              "\n  %p" + n + " = getelementptr i32, ptr addrspace(3) %row, i32 " + n + "\n  store i32 %w" + n +
              ", ptr addrspace(3) %p" + n + "\n";
    }
    text +=
        "  call void @llvm.nvvm.barrier0()\n  %other = xor i32 %t, 33\n"
        "  %from = getelementptr [4 x i32], ptr addrspace(3) @tile, i32 %other\n"
        "  %a = ptrtoint ptr addrspace(3) %from to i32\n  %generic = addrspacecast ptr addrspace(3) %from to ptr\n";
    text += body + "  call void @llvm.nvvm.barrier0()\n";
    for (unsigned i = 0; i < 4; ++i) {
      std::string n = std::to_string(i);
      text += "  %x" + n + " = shl i32 %t, 2\n  %y" + n + " = add i32 %x" + n + ", " + n + "\n  %q" + n +
              " = getelementptr i32, ptr %out, i32 %y" + n + "\n  store i32 %r" + n + ", ptr %q" + n + "\n";
    }
    NvptxCode code(nvptx_kernel(1), text + "  ret void\n}\n", GetParam());
    Values out(256, 0xdead);
    void* arguments[] = {out.data()};
    code.run(arguments, 64);
    return out;
  }
  // Of four registers.
  static std::string unpack() {
    std::string text;
    for (const char* n : {"0", "1", "2", "3"}) {
      text += std::string("  %r") + n + " = extractvalue { i32, i32, i32, i32 } %r, " + n + "\n";
    }
    return text;
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, NvptxMatrixMemory, testing::Values("default<O0>", "default<O3>"));

// The element that was stored by a thread in one of its columns.
uint32_t tile_element(unsigned thread, unsigned column) { return thread * 8 + column; }

TEST_P(NvptxMatrixMemory, Loads) {
  for (const char* name : {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.x4.m8n8.b16"}) {
    const bool generic = name[sizeof "ldmatrix.sync.aligned." - 1] == 'x';
    Values out = run(std::string("  %r = call { i32, i32, i32, i32 } asm sideeffect \"") + name +
                     " {$0, $1, $2, $3}, [$4];\", \"=r,=r,=r,=r," + (generic ? "l\"(ptr %generic)" : "r\"(i32 %a)") +
                     "\n" + unpack());
    for (unsigned t = 0; t < 64; ++t) {
      for (unsigned m = 0; m < 4; ++m) {
        unsigned thread = ((t & 32) + 8 * m + t % 32 / 4) ^ 33, column = t % 4 * 2;
        EXPECT_EQ(out[t * 4 + m], tile_element(thread, column) | tile_element(thread, column + 1) << 16) << name << t;
      }
    }
  }
}

TEST_P(NvptxMatrixMemory, LoadsTransposed) {
  Values out =
      run("  %r = call { i32, i32, i32, i32 } asm sideeffect \"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
          "{$0, $1, $2, $3}, [$4 + 0];\", \"=r,=r,=r,=r,r\"(i32 %a)\n" +
          unpack());
  for (unsigned t = 0; t < 64; ++t) {
    for (unsigned m = 0; m < 4; ++m) {
      unsigned row = (t & 32) + 8 * m + t % 4 * 2, column = t % 32 / 4;
      EXPECT_EQ(out[t * 4 + m], tile_element(row ^ 33, column) | tile_element((row + 1) ^ 33, column) << 16) << t;
    }
  }
}

// What is stored comes back; one of two matrices is transposed on its way.
TEST_P(NvptxMatrixMemory, Stores) {
  Values out = run(
      "  call void asm sideeffect \"stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0], {$1, $2};\", \"r,r,r\"(i32 %a, "
      "i32 %w0, i32 %w1)\n"
      "  %l = call { i32, i32 } asm sideeffect \"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2];\", "
      "\"=r,=r,r\"(i32 %a)\n"
      "  %r0 = extractvalue { i32, i32 } %l, 0\n  %r1 = extractvalue { i32, i32 } %l, 1\n"
      "  call void asm sideeffect \"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [$0], {$1};\", \"r,r\"(i32 %a, "
      "i32 %w2)\n"
      "  %r2 = call i32 asm sideeffect \"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {$0}, [$1];\", \"=r,r\"(i32 "
      "%a)\n"
      "  %plain = call i32 asm sideeffect \"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1];\", \"=r,r\"(i32 %a)\n"
      "  %r3 = call i32 asm sideeffect \"movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;\", \"=r,r\"(i32 %plain)\n");
  for (unsigned t = 0; t < 64; ++t) {
    auto word = [&](unsigned i) { return tile_element(t, 2 * i) | tile_element(t, 2 * i + 1) << 16; };
    EXPECT_EQ(out[t * 4], word(0)) << t;
    EXPECT_EQ(out[t * 4 + 1], word(1)) << t;
    EXPECT_EQ(out[t * 4 + 2], word(2)) << t;
    EXPECT_EQ(out[t * 4 + 3], word(2)) << t;
  }
}

}  // namespace
}  // namespace mneme::codegen::host
