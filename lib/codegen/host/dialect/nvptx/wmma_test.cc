// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wmma of every type, shape and layout: matrices in memory, loaded, multiplied and stored by a warp, by LLVM's
// intrinsics and by assembly.
#include "codegen/host/dialect/matrix_cases.h"
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

class NvptxWmma : public testing::TestWithParam<HowCompiled> {};
INSTANTIATE_TEST_SUITE_P(Forms, NvptxWmma, kWaysToCompile);

// How LLVM's intrinsics have a fragment: so many of one type.
struct Registers {
  unsigned count;
  const char* type;
};
struct Types {
  ElementType a, c, d;
  Registers of_a, of_b, of_c, of_d;
  const char* signature;  // of wmma.mma
};
struct Shape {
  unsigned m, n, k;
};

std::string structure(const Registers& registers) {
  if (registers.count == 1) return registers.type;
  std::string text = "{ ";
  for (unsigned i = 0; i < registers.count; ++i) text += std::string(i ? ", " : "") + registers.type;
  return text + " }";
}
// Its registers as operands, after "%name = …".
std::string operands(const Registers& registers, const std::string& name) {
  std::string text;
  for (unsigned i = 0; i < registers.count; ++i) {
    text += std::string(i ? ", " : "") + registers.type + " %" + name + (registers.count == 1 ? "" : std::to_string(i));
  }
  return text;
}
std::string unpacked(const Registers& registers, const std::string& name) {
  std::string text;
  for (unsigned i = 0; registers.count > 1 && i < registers.count; ++i) {
    text += "  %" + name + std::to_string(i) + " = extractvalue " + structure(registers) + " %" + name + ", " +
            std::to_string(i) + "\n";
  }
  return text;
}

// Elements in memory, rows or columns one behind the other, each of `stride` elements.
std::vector<uint8_t> in_memory(TestMatrix& matrix, bool rows, unsigned stride) {
  unsigned lines = rows ? matrix.rows : matrix.columns, length = rows ? matrix.columns : matrix.rows;
  std::vector<uint8_t> bytes(size_t{lines} * stride * matrix.type.bits / 8 + 8);
  for (unsigned line = 0; line < lines; ++line) {
    for (unsigned i = 0; i < length; ++i) {
      uint64_t bits = rows ? matrix.at(line, i) : matrix.at(i, line);
      size_t at = (size_t{line} * stride + i) * matrix.type.bits;
      for (unsigned bit = 0; bit < matrix.type.bits; ++bit) {
        bytes[(at + bit) / 8] |= static_cast<uint8_t>((bits >> bit & 1) << (at + bit) % 8);
      }
    }
  }
  return bytes;
}
void from_memory(TestMatrix& matrix, bool rows, unsigned stride, const std::vector<uint8_t>& bytes) {
  for (unsigned row = 0; row < matrix.rows; ++row) {
    for (unsigned column = 0; column < matrix.columns; ++column) {
      size_t at = rows ? size_t{row} * stride + column : size_t{column} * stride + row;
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + at * matrix.type.bits / 8, matrix.type.bits / 8);
      matrix.at(row, column) = bits;
    }
  }
}

struct Layouts {
  bool a_rows, b_rows, c_rows, strides;
};

TestMatrix check(const HowCompiled& how, Shape shape, const Types& types, const Layouts& with,
                 const std::string& operation = "", const std::function<bool(bool, bool)>& bit = nullptr) {
  const std::string geometry =
      "m" + std::to_string(shape.m) + "n" + std::to_string(shape.n) + "k" + std::to_string(shape.k);
  std::mt19937_64 random(geometry.size() + shape.m);
  TestMatrix a(types.a, shape.m, shape.k, random), b(types.a, shape.k, shape.n, random),
      c(types.c, shape.m, shape.n, random), d(types.d, shape.m, shape.n);
  auto layout = [](bool rows) { return rows ? "row" : "col"; };
  // Lines are as long as they must be, or longer.
  auto stride = [&](const TestMatrix& matrix, bool rows) {
    unsigned length = rows ? matrix.columns : matrix.rows;
    return with.strides ? length + (matrix.type.bits < 8 ? 256 : 16) : length;
  };
  std::string declarations, body;
  auto access = [&](const char* what, const TestMatrix& matrix, bool rows, const Registers& registers,
                    const std::string& name, bool stores) {
    std::string full = "@llvm.nvvm.wmma." + geometry + "." + what + "." + layout(rows) +
                       (with.strides ? ".stride." : ".") + matrix.type.name + ".p0";
    std::string list = stores ? ", " + operands(registers, name) : "", types_of = list.empty() ? "" : ", ";
    for (unsigned i = 0; stores && i < registers.count; ++i) types_of += std::string(i ? ", " : "") + registers.type;
    if (with.strides) list += ", i32 " + std::to_string(stride(matrix, rows)), types_of += ", i32";
    std::string type = stores ? "void" : structure(registers);
    declarations += "declare " + type + " " + full + "(ptr" + types_of + ")\n";
    body += "  " + (stores ? "" : "%" + name + " = ") + "call " + type + " " + full + "(ptr %p" + name + list + ")\n";
    if (!stores) body += unpacked(registers, name);
  };
  access("load.a", a, with.a_rows, types.of_a, "a", false);
  access("load.b", b, with.b_rows, types.of_b, "b", false);
  access("load.c", c, with.c_rows, types.of_c, "c", false);
  std::string mma = "@llvm.nvvm.wmma." + geometry + ".mma." + operation + layout(with.a_rows) + "." +
                    layout(with.b_rows) + "." + types.signature;
  auto list = [](const Registers& registers) {
    std::string text;
    for (unsigned i = 0; i < registers.count; ++i) text += std::string(i ? ", " : "") + registers.type;
    return text;
  };
  declarations += "declare " + structure(types.of_d) + " " + mma + "(" + list(types.of_a) + ", " + list(types.of_b) +
                  ", " + list(types.of_c) + ")\n";
  body += "  %d = call " + structure(types.of_d) + " " + mma + "(" + operands(types.of_a, "a") + ", " +
          operands(types.of_b, "b") + ", " + operands(types.of_c, "c") + ")\n" + unpacked(types.of_d, "d");
  access("store.d", d, with.c_rows, types.of_d, "d", true);
  NvptxCode code(
      nvptx_kernel(4),
      declarations + "define ptx_kernel void @k(ptr %pa, ptr %pb, ptr %pc, ptr %pd) {\n" + body + "  ret void\n}\n",
      how.passes, how.form);
  std::vector<uint8_t> memory[] = {
      in_memory(a, with.a_rows, stride(a, with.a_rows)), in_memory(b, with.b_rows, stride(b, with.b_rows)),
      in_memory(c, with.c_rows, stride(c, with.c_rows)), in_memory(d, with.c_rows, stride(d, with.c_rows))};
  void* arguments[] = {memory[0].data(), memory[1].data(), memory[2].data(), memory[3].data()};
  run_matrix_code(*code.object, arguments, 32);
  from_memory(d, with.c_rows, stride(d, with.c_rows), memory[3]);
  expect_product(a, b, c, d, mma + " " + how.form, false, bit);
  return d;
}

void check_layouts(const HowCompiled& how, Shape shape, const Types& types, bool any = true) {
  if (!how.tries_all()) {
    check(how, shape, types, {true, false, false, true});
    return;
  }
  for (bool strides : {false, true}) {
    if (!any) {
      check(how, shape, types, {true, false, strides, strides});
      continue;
    }
    for (bool a_rows : {false, true}) {
      for (bool b_rows : {false, true}) check(how, shape, types, {a_rows, b_rows, strides != a_rows, strides});
    }
  }
}

constexpr Shape kShapes[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};

TEST_P(NvptxWmma, Halves) {
  constexpr Registers kHalves = {8, "<2 x half>"}, kFew = {4, "<2 x half>"}, kSingles = {8, "float"};
  for (Shape shape : kShapes) {
    check_layouts(GetParam(), shape, {kF16, kF16, kF16, kHalves, kHalves, kFew, kFew, "f16.f16"});
    check_layouts(GetParam(), shape, {kF16, kF32, kF32, kHalves, kHalves, kSingles, kSingles, "f32.f32"});
    check(GetParam(), shape, {kF16, kF16, kF32, kHalves, kHalves, kFew, kSingles, "f32.f16"}, {true, true, true, true});
    check(GetParam(), shape, {kF16, kF32, kF16, kHalves, kHalves, kSingles, kFew, "f16.f32"}, {true, true, true, true});
  }
}

TEST_P(NvptxWmma, OtherFloatingPoint) {
  constexpr Registers kSums = {8, "float"};
  const Registers of_a[] = {{4, "i32"}, {8, "i32"}, {2, "i32"}}, of_b[] = {{4, "i32"}, {2, "i32"}, {8, "i32"}};
  for (unsigned i = 0; i < 3; ++i) {
    check_layouts(GetParam(), kShapes[i], {kBf16, kF32, kF32, of_a[i], of_b[i], kSums, kSums, "bf16"});
  }
  check_layouts(GetParam(), {16, 16, 8}, {kTf32, kF32, kF32, {4, "i32"}, {4, "i32"}, kSums, kSums, "tf32"});
  constexpr Registers kDouble = {1, "double"}, kDoubles = {2, "double"};
  auto types = [&](const char* signature) {
    return Types{kF64, kF64, kF64, kDouble, kDouble, kDoubles, kDoubles, signature};
  };
  check_layouts(GetParam(), {8, 8, 4}, types("f64"));
  std::vector<TestMatrix> ways;
  for (const char* signature : {"rm.f64", "rn.f64", "rz.f64", "rp.f64"}) {
    ways.push_back(check(GetParam(), {8, 8, 4}, types(signature), {true, false, true, false}));
  }
  for (unsigned i = 0; i < 64; ++i) {
    auto way = [&](unsigned j) { return ways[j].number(i / 8, i % 8); };
    EXPECT_LE(way(0), way(1));
    EXPECT_LE(way(1), way(3));
    EXPECT_LT(way(0), way(3));
    EXPECT_LE(way(0), way(2));
    EXPECT_LE(way(2), way(3));
  }
}

TEST_P(NvptxWmma, Integers) {
  constexpr Registers kSums = {8, "i32"};
  const Registers of_a[] = {{2, "i32"}, {4, "i32"}, {1, "i32"}}, of_b[] = {{2, "i32"}, {1, "i32"}, {4, "i32"}};
  for (unsigned i = 0; i < 3; ++i) {
    for (const ElementType& type : {kS8, kU8}) {
      check_layouts(GetParam(), kShapes[i], {type, kS32, kS32, of_a[i], of_b[i], kSums, kSums, type.name});
    }
  }
  constexpr Registers kOne = {1, "i32"}, kTwo = {2, "i32"};
  for (const ElementType& type : {kS4, kU4}) {
    check_layouts(GetParam(), {8, 8, 32}, {type, kS32, kS32, kOne, kOne, kTwo, kTwo, type.name}, false);
  }
  for (bool strides : {false, true}) {
    Types bits = {kB1, kS32, kS32, kOne, kOne, kTwo, kTwo, "b1"};
    check(GetParam(), {8, 8, 128}, bits, {true, false, true, strides}, "xor.popc.",
          [](bool a, bool b) { return a != b; });
    check(GetParam(), {8, 8, 128}, bits, {true, false, false, strides}, "and.popc.",
          [](bool a, bool b) { return a && b; });
  }
}

// A fragment of wmma is as many of mma as make the same product: so a program that mixes both finds on sm_80.
TEST_P(NvptxWmma, AssemblyInSharedMemory) {
  std::string text =
      "@tile = internal addrspace(3) global [256 x i16] undef, align 32\n"
      "declare void @llvm.nvvm.barrier0()\n"
      "define ptx_kernel void @k(ptr %in, ptr %out) {\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "  %x = zext i32 %t to i64\n  br label %copy\ncopy:\n  %i = phi i64 [ %x, %0 ], [ %j, %copy ]\n"
      "  %p = getelementptr i16, ptr %in, i64 %i\n  %v = load i16, ptr %p\n"
      "  %q = getelementptr i16, ptr addrspace(3) @tile, i64 %i\n  store i16 %v, ptr addrspace(3) %q\n"
      "  %j = add i64 %i, 32\n  %more = icmp ult i64 %j, 256\n  br i1 %more, label %copy, label %done\ndone:\n"
      "  call void @llvm.nvvm.barrier0()\n"
      "  call void asm sideeffect \"{ .reg .b32 a<8>, b<8>, d<4>, c; mov.b32 c, 0;"
      " wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {a0,a1,a2,a3,a4,a5,a6,a7}, [$0], 16;"
      " wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {b0,b1,b2,b3,b4,b5,b6,b7}, [$0];"
      " mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {d0,d1}, {a0,a1,a2,a3}, {b0,b1}, {c,c};"
      " mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {d2,d3}, {a4,a5,a6,a7}, {b2,b3}, {c,c};"
      " wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [$1], {d0,d1,d2,d3}, 16; }\","
      " \"r,l\"(ptr addrspace(3) @tile, ptr %out)\n  ret void\n}\n";
  NvptxCode code(nvptx_kernel(2), text, GetParam().passes, GetParam().form);
  std::mt19937_64 random(3);
  TestMatrix a(kF16, 16, 16, random), b(kF16, 16, 16), c(kF16, 16, 16), d(kF16, 16, 16);
  for (unsigned i = 0; i < 256; ++i) b.at(i / 16, i % 16) = a.at(i % 16, i / 16);
  std::vector<uint8_t> in = in_memory(a, true, 16), out(512);
  void* arguments[] = {in.data(), out.data()};
  run_matrix_code(*code.object, arguments, 32);
  from_memory(d, true, 16, out);
  expect_product(a, b, c, d, GetParam().form);
}

TEST(NvptxWmmaNames, WhatIsNotThereIsRefused) {
  for (const char* text :
       {"wmma.load.a.sync.aligned.col.m8n8k32.s4 {a}, [p]", "wmma.load.a.sync.aligned.row.m8n8k16.s8 {a}, [p]",
        "wmma.load.c.sync.aligned.row.m16n16k16.f64 {a}, [p]"}) {
    EXPECT_NE(nvptx_refusal(std::string("call void asm sideeffect \"{ .reg .b32 a; .reg .b64 p; mov.b64 p, 0; ") +
                            text + "; }\", \"\"()")
                  .find("uses inline assembly"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace mneme::codegen::host
