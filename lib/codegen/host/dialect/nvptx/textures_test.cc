// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Textures and surfaces of CUDA's kernels: what instructions and intrinsics ask of the host device, and what they give.
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

constexpr char kFour[] = "{ float, float, float, float }";

struct Did {
  std::string images;
  std::vector<uint32_t> out;
};

// Runs one call of `type`, whose `results` go to memory as numbers of 32 bits.
Did run(const std::string& type, unsigned results, const std::string& call, const std::string& declarations = "") {
  std::string body = declarations + "\ndefine ptx_kernel void @k(ptr %out) {\n  %r = call " + type + " " + call + "\n";
  if (results == 0) body.replace(body.find("%r = "), 5, "");
  for (unsigned i = 0; i < results; ++i) {
    std::string n = std::to_string(i), value = "%v" + n, element = type;
    if (type.front() == '{') {
      body += "  " + value + " = extractvalue " + type + " %r, " + n + "\n";
      element = type.substr(2, type.find_first_of(", ", 2) - 2);
    } else {
      value = "%r";
    }
    body += "  %p" + n + " = getelementptr i32, ptr %out, i64 " + n + "\n  store " + element + " " + value +
            ", ptr %p" + n + "\n";
  }
  NvptxCode code(nvptx_kernel(1), body + "  ret void\n}\n");
  Did did;
  did.out.resize(8);
  void* out = did.out.data();
  did.images = code.run(&out, 1).images;
  return did;
}

std::string assembly(const std::string& text, const std::string& constraints, const std::string& operands) {
  return "asm sideeffect \"" + text + "\", \"" + constraints + "\"(" + operands + ")";
}

// A texture's four channels by an instruction on handle 64.
std::string sampled(const std::string& instruction, const std::string& place, const std::string& constraints,
                    const std::string& operands) {
  Did did = run(kFour, 4,
                assembly(instruction + " {$0, $1, $2, $3}, [$4, " + place + ";", "=f,=f,=f,=f,l" + constraints,
                         "i64 64" + operands));
  EXPECT_EQ(did.out, (std::vector<uint32_t>{0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0, 0, 0, 0}))
      << instruction;
  return did.images;
}

TEST(NvptxTextures, InstructionsOfEachGeometry) {
  EXPECT_EQ(sampled("tex.1d.v4.f32.f32", "{$5}]", ",f", ", float 1.5"),
            "sample 64 by 112 shape 1 at 1.5 0 0 layer 0 level 0|");
  EXPECT_EQ(sampled("tex.2d.v4.f32.f32", "{$5, $6}]", ",f,f", ", float 1.5, float 2.5"),
            "sample 64 by 112 shape 2 at 1.5 2.5 0 layer 0 level 0|");
  EXPECT_EQ(sampled("tex.3d.v4.f32.f32", "{$5, $6, $7, $7}]", ",f,f,f", ", float 1.5, float 2.5, float 3.5"),
            "sample 64 by 112 shape 3 at 1.5 2.5 3.5 layer 0 level 0|");
  EXPECT_EQ(sampled("tex.a1d.v4.f32.f32", "{$5, $6}]", ",r,f", ", i32 7, float 1.5"),
            "sample 64 by 112 shape 5 at 1.5 0 0 layer 7 level 0|");
  EXPECT_EQ(sampled("tex.a2d.v4.f32.f32", "{$5, $6, $7, $7}]", ",r,f,f", ", i32 7, float 1.5, float 2.5"),
            "sample 64 by 112 shape 6 at 1.5 2.5 0 layer 7 level 0|");
  EXPECT_EQ(sampled("tex.cube.v4.f32.f32", "{$5, $6, $7, $7}]", ",f,f,f", ", float 1.5, float 2.5, float 3.5"),
            "sample 64 by 112 shape 10 at 1.5 2.5 3.5 layer 0 level 0|");
  EXPECT_EQ(
      sampled("tex.acube.v4.f32.f32", "{$5, $6, $7, $8}]", ",r,f,f,f", ", i32 7, float 1.5, float 2.5, float 3.5"),
      "sample 64 by 112 shape 14 at 1.5 2.5 3.5 layer 7 level 0|");
  EXPECT_EQ(sampled("tex.1d.v4.f32.s32", "{$5}]", ",r", ", i32 9"), "load 64 at 9 0 0|");
  EXPECT_EQ(sampled("tld4.b.2d.v4.f32.f32", "{$5, $6}]", ",f,f", ", float 1.5, float 2.5"),
            "gather 64 by 112 channel 2 at 1.5 2.5|");
}

TEST(NvptxTextures, LevelsAndSlopes) {
  EXPECT_EQ(sampled("tex.level.a2d.v4.f32.f32", "{$5, $6, $7, $7}], $8", ",r,f,f,f",
                    ", i32 7, float 1.5, float 2.5, float 3.0"),
            "sample 64 by 112 shape 22 at 1.5 2.5 0 layer 7 level 3|");
  EXPECT_EQ(sampled("tex.grad.2d.v4.f32.f32", "{$5, $6}], {$7, $8}, {$9, $10}", ",f,f,f,f,f,f",
                    ", float 1.5, float 2.5, float 3.0, float 4.0, float 5.0, float 6.0"),
            "slopes 64 shape 2: 3 4 0, 5 6 0|sample 64 by 112 shape 18 at 1.5 2.5 0 layer 0 level 2.5|");
  EXPECT_EQ(sampled("tex.grad.3d.v4.f32.f32", "{$5, $5, $5, $5}], {$6, $7, $8, $8}, {$9, $10, $11, $11}",
                    ",f,f,f,f,f,f,f", ", float 1.5, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0, float 7.0"),
            "slopes 64 shape 3: 2 3 4, 5 6 7|sample 64 by 112 shape 19 at 1.5 1.5 1.5 layer 0 level 2.5|");
}

// As clang's headers have it: whether the texel is in memory.
TEST(NvptxTextures, TexelsAreResident) {
  Did did = run("{ float, float, float, float, i16 }", 4,
                assembly("{.reg .pred %p0;\\0A\\09tex.2d.v4.f32.f32\\09{$0, $1, $2, $3}|%p0, [$5, {$6, $7}];\\0A\\09"
                         "selp.u16 $4, 1, 0, %p0; }",
                         "=f,=f,=f,=f,=h,l,f,f", "i64 64, float 1.5, float 2.5"));
  EXPECT_EQ(did.images, "sample 64 by 112 shape 2 at 1.5 2.5 0 layer 0 level 0|");
}

std::string loaded(const std::string& instruction, const std::string& place, const std::string& constraints,
                   const std::string& operands, uint32_t first) {
  Did did =
      run("i32", 1, assembly(instruction + " {$0}, [$1, " + place + "];", "=r,l" + constraints, "i64 64" + operands));
  EXPECT_EQ(did.out[0], first) << instruction;
  return did.images;
}

TEST(NvptxTextures, SurfacesAreReadByTheByte) {
  EXPECT_EQ(loaded("suld.b.1d.b32.trap", "{$2}", ",r", ", i32 8", 0x04030201), "read 4 of 64 bounds 0 at 8 0 0|");
  EXPECT_EQ(loaded("suld.b.2d.b32.clamp", "{$2, $3}", ",r,r", ", i32 8, i32 9", 0x04030201),
            "read 4 of 64 bounds 1 at 8 9 0|");
  EXPECT_EQ(loaded("suld.b.3d.b32.zero", "{$2, $3, $4, $4}", ",r,r,r", ", i32 8, i32 9, i32 10", 0x04030201),
            "read 4 of 64 bounds 2 at 8 9 10|");
  EXPECT_EQ(loaded("suld.b.a1d.cg.b32.zero", "{$2, $3}", ",r,r", ", i32 5, i32 8", 0x04030201),
            "read 4 of 64 bounds 2 at 8 0 5|");
  EXPECT_EQ(loaded("suld.b.a2d.b32.zero", "{$2, $3, $4, $4}", ",r,r,r", ", i32 5, i32 8, i32 9", 0x04030201),
            "read 4 of 64 bounds 2 at 8 9 5|");
  Did bytes =
      run("{ i16, i16 }", 2, assembly("suld.b.1d.v2.b8.zero {$0, $1}, [$2, {$3}];", "=h,=h,l,r", "i64 64, i32 6"));
  EXPECT_EQ(bytes.images, "read 2 of 64 bounds 2 at 6 0 0|");
  EXPECT_EQ(bytes.out[0], 1u);
  EXPECT_EQ(bytes.out[1], 2u);
  Did wide =
      run("{ i64, i64 }", 2, assembly("suld.b.1d.v2.b64.zero {$0, $1}, [$2, {$3}];", "=l,=l,l,r", "i64 64, i32 16"));
  EXPECT_EQ(wide.images, "read 16 of 64 bounds 2 at 16 0 0|");
}

TEST(NvptxTextures, SurfacesAreWrittenByTheByte) {
  EXPECT_EQ(run("void", 0,
                assembly("sust.b.2d.v2.b16.trap [$0, {$1, $2}], {$3, $4};", "l,r,r,h,h",
                         "i64 64, i32 8, i32 9, i16 258, i16 772"))
                .images,
            "write 4 of 64 bounds 0 at 8 9 0: 3040102 0 0 0|");
  EXPECT_EQ(run("void", 0,
                assembly("sust.b.a2d.v4.b32.zero [$0, {$1, $2, $3, $3}], {$4, $4, $5, $5};", "l,r,r,r,r,f",
                         "i64 64, i32 5, i32 8, i32 9, i32 10, float 1.0"))
                .images,
            "write 16 of 64 bounds 2 at 8 9 5: a a 3f800000 3f800000|");
  EXPECT_EQ(run("void", 0, assembly("sust.b.1d.b8.clamp [$0, {$1}], {$2};", "l,r,h", "i64 64, i32 8, i16 300")).images,
            "write 1 of 64 bounds 1 at 8 0 0: 2c 0 0 0|");
}

TEST(NvptxTextures, Queries) {
  for (auto [instruction, what] : {std::pair{"txq.width.b32", 2},
                                   {"suq.height.b32", 3},
                                   {"txq.depth.b32", 4},
                                   {"txq.array_size.b32", 4},
                                   {"txq.num_mipmap_levels.b32", 5}}) {
    Did did = run("i32", 1, assembly(std::string(instruction) + " $0, [$1];", "=r,l", "i64 64"));
    EXPECT_EQ(did.images, fmt::format("query {} of 64|", what));
    EXPECT_EQ(did.out[0], 17u);
  }
}

TEST(NvptxTextures, IntrinsicsAreTheSameInstructions) {
  auto call = [](const std::string& type, unsigned results, const std::string& name, const std::string& types,
                 const std::string& operands) {
    return run(type, results, "@llvm.nvvm." + name + "(" + operands + ")",
               "declare " + type + " @llvm.nvvm." + name + "(" + types + ")")
        .images;
  };
  EXPECT_EQ(call(kFour, 4, "tex.unified.2d.array.level.v4f32.f32", "i64, i32, float, float, float",
                 "i64 64, i32 7, float 1.5, float 2.5, float 3.0"),
            "sample 64 by 112 shape 22 at 1.5 2.5 0 layer 7 level 3|");
  EXPECT_EQ(call("{ i32, i32, i32, i32 }", 4, "tex.unified.3d.v4s32.s32", "i64, i32, i32, i32",
                 "i64 64, i32 1, i32 2, i32 3"),
            "load 64 at 1 2 3|");
  EXPECT_EQ(call(kFour, 4, "tld4.unified.a.2d.v4f32.f32", "i64, float, float", "i64 64, float 1.5, float 2.5"),
            "gather 64 by 112 channel 3 at 1.5 2.5|");
  EXPECT_EQ(call("{ i16, i16 }", 2, "suld.2d.array.v2i16.zero", "i64, i32, i32, i32", "i64 64, i32 5, i32 8, i32 9"),
            "read 4 of 64 bounds 2 at 8 9 5|");
  EXPECT_EQ(call("void", 0, "sust.b.3d.v2i32.clamp", "i64, i32, i32, i32, i32, i32",
                 "i64 64, i32 8, i32 9, i32 10, i32 1, i32 2"),
            "write 8 of 64 bounds 1 at 8 9 10: 1 2 0 0|");
  EXPECT_EQ(call("i32", 1, "suq.array.size", "i64", "i64 64"), "query 4 of 64|");
}

// Nothing is guessed.
TEST(NvptxTextures, OtherFormsAreRefused) {
  for (const char* text :
       {"tex.2d.v4.f32.f32 {$0, $0, $0, $0}, [$1, $1, {$2, $2}];", "tex.2d.v4.f32.f32 {$0, $0, $0, $0}, [$1, {$2}];",
        "tex.2d.v4.f32.f32 {$0, $0, $0, $0}, [$1, {$2, $2}], {$3, $3};",
        "tex.2d.v2.f16x2.f32 {$0, $0}, [$1, {$2, $2}];",
        "tex.2dms.v4.f32.s32 {$0, $0, $0, $0}, [$1, {$3, $3, $3, $3}];",
        "tld4.r.cube.v4.f32.f32 {$0, $0, $0, $0}, [$1, {$2, $2, $2, $2}];",
        "tex.a2d.v4.f32.s32 {$0, $0, $0, $0}, [$1, {$3, $3, $3, $3}];", "sust.p.1d.b32.trap [$1, {$3}], {$3};",
        "sured.b.add.1d.u32.trap [$1, {$3}], $3;", "suld.b.1d.v4.b64.trap {$0, $0, $0, $0}, [$1, {$3}];",
        "txq.channel_data_type.b32 $0, [$1];"}) {
    std::string refusal = nvptx_refusal("%r = call float asm sideeffect \"" + std::string(text) +
                                        "\", \"=f,l,f,r\"(i64 64, float 1.0, i32 2)");
    EXPECT_NE(refusal.find("which the host device does not have"), std::string::npos) << text << ": " << refusal;
  }
}

}  // namespace
}  // namespace mneme::codegen::host
