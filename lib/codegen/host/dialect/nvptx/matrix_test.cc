// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices between shared memory and a warp's registers: each lane's part as the figures of the PTX ISA have it.
#include "codegen/host/dialect/nvptx/run.h"

namespace mneme::codegen::host {
namespace {

using Values = std::vector<uint32_t>;

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
