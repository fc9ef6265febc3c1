// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warps, calls, rounding and forms of text; refusals and damage.
#include "codegen/ptx/lift.h"

#include <gmock/gmock.h>
#include <llvm/IR/LLVMContext.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "codegen/ptx/cases.h"

namespace mneme::codegen::ptx {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Lift, UsesDynamicSharedMemory) {
  std::vector<uint32_t> in = numbers(64);
  expect_each(kernel_of(R"(
  mov.u64 %rd1, room;
  add.s64 %rd2, %rd1, %o;
  st.shared.u32 [%rd2], %x;
  barrier.sync 0;
  cvta.shared.u64 %rd3, %rd1;
  xor.b64 %rd4, %o, 4;
  add.s64 %rd5, %rd3, %rd4;
  ld.u32 %y, [%rd5];
)",
                        ".extern .shared .align 16 .b8 room[];"),
              [&](uint32_t t, uint32_t) { return in[t ^ 1]; });
}

TEST(Lift, ExchangesInAWarp) {
  std::vector<uint32_t> in = numbers(64);
  expect_each(kernel_of(R"(
  shfl.sync.bfly.b32 %r1|%p1, %x, 3, 31, -1;
  vote.sync.ballot.b32 %r2, %p1, -1;
  xor.b32 %y, %r1, %r2;
)"),
              [&](uint32_t t, uint32_t) { return ~in[t ^ 3]; });
}

TEST(Lift, CallsFunctions) {
  std::string text = kernel_of(R"(
  {
  .param .b32 param0;
  st.param.b32 [param0+0], %x;
  .param .align 8 .b8 param1[16];
  st.param.b64 [param1+0], %o;
  st.param.b32 [param1+8], %t;
  .param .b32 retval0;
  call.uni (retval0), f, (param0, param1);
  ld.param.b32 %y, [retval0+0];
  }
)",
                               R"(
.func (.param .b32 func_retval0) f(.param .b32 f_param_0, .param .align 8 .b8 f_param_1[16])
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<3>;
  ld.param.u32 %r1, [f_param_0];
  ld.param.u64 %rd1, [f_param_1];
  ld.param.u32 %r2, [f_param_1+8];
  cvt.u32.u64 %r3, %rd1;
  add.s32 %r4, %r1, %r2;
  add.s32 %r4, %r4, %r3;
  st.param.b32 [func_retval0+0], %r4;
  ret;
}
)");
  expect_each(text, [](uint32_t t, uint32_t x) { return x + t + 4 * t; });
}

TEST(Lift, CallsThroughATable) {
  std::string text = kernel_of(R"(
  and.b32 %r1, %t, 1;
  mul.wide.u32 %rd1, %r1, 8;
  mov.u64 %rd2, table;
  add.s64 %rd3, %rd2, %rd1;
  ld.global.u64 %rd4, [%rd3];
  {
  .param .b32 param0;
  st.param.b32 [param0+0], %x;
  .param .b32 retval0;
  prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
  call (retval0), %rd4, (param0), prototype_0;
  ld.param.b32 %y, [retval0+0];
  }
)",
                               R"(
.func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; shl.b32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) next(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.global .align 8 .u64 table[2] = {twice, next};
)");
  std::string ir = ir_of(text);
  EXPECT_THAT(ir, HasSubstr("define internal i32 @twice(i32"));
  EXPECT_THAT(ir, HasSubstr("@table = addrspace(1) externally_initialized global [2 x i64]"));
}

TEST(Lift, JumpsByATable) {
  expect_each(kernel_of(R"(
  and.b32 %r1, %t, 1;
targets: .branchtargets one, two;
  brx.idx %r1, targets;
one:
  mov.u32 %y, 11;
  bra.uni behind;
two:
  mov.u32 %y, 22;
behind:
)"),
              [](uint32_t t, uint32_t) { return t & 1 ? 22 : 11; });
}

TEST(Lift, KeepsScopesApart) {
  expect_each(kernel_of(R"(
  {
  .reg .pred q;
  setp.gt.u32 q, %t, 10;
  @q bra done;
  mov.u32 %y, 1;
  bra end;
done:
  mov.u32 %y, 2;
end:
  }
  {
  .reg .b32 q;
  mov.u32 q, %y;
  setp.gt.u32 %p1, %t, 20;
  @%p1 bra done;
  add.u32 %y, q, 10;
done:
  }
)"),
              [](uint32_t t, uint32_t) { return (t > 10 ? 2 : 1) + (t > 20 ? 0 : 10); });
}

TEST(Lift, PacksAndUnpacks) {
  expect_each(kernel_of(R"(
  mov.b32 {%rs1, %rs2}, %x;
  mov.b32 %r1, {%rs2, %rs1};
  cvt.s32.s8 %r2, %rs1;
  st.global.v2.u16 [%out], {%rs1, %rs2};
  ld.global.v2.u16 {%rs3, %rs4}, [%out];
  cvt.u32.u16 %r3, %rs4;
  add.s32 %y, %r1, %r2;
  add.s32 %y, %y, %r3;
)"),
              [](uint32_t, uint32_t x) {
                return (x >> 16 | x << 16) + static_cast<uint32_t>(static_cast<int8_t>(x)) + (x >> 16);
              });
}

TEST(Lift, KeepsRoundingAndFlushing) {
  std::string text = kernel_of(R"(
  mov.b32 %f1, %x;
  mul.rn.f32 %f2, %f1, 0f3F8CCCCD;
  add.rn.f32 %f2, %f2, 0f3F800000;
  add.rz.f32 %f3, %f2, 0f2F800000;
  mul.f32 %f5, %f1, %f1;
  mul.ftz.f32 %f4, %f1, 0f00800000;
  st.global.f32 [%out+4], %f4;
  st.global.f32 [%out+8], %f5;
  mov.b32 %y, %f3;
)");
  std::string ir = ir_of(text);
  EXPECT_THAT(ir, HasSubstr("@llvm.nvvm.mul.rn.f(float"));
  EXPECT_THAT(ir, HasSubstr("@llvm.nvvm.add.rn.f(float"));
  EXPECT_THAT(ir, HasSubstr("fmul contract float"));
  EXPECT_THAT(ir, HasSubstr("asm sideeffect \"mul.ftz.f32 $0, $1, 0f00800000;"));
  EXPECT_THAT(ir, HasSubstr("add.rz.f32 $0, $1, 0f2F800000;"));
  EXPECT_THAT(ir, Not(HasSubstr("denormal-fp-math-f32")));
}

TEST(Lift, RefusesWhatIsDefinedTwice) {
  EXPECT_THAT(refusal_of(".func f() { ret; }\n.func f(.param .b32 a) { ret; }\n.entry k() { ret; }"),
              HasSubstr("line 4 of the PTX ('f() { ret') is defined twice"));
  EXPECT_THAT(refusal_of(".func f() { ret; }\n.func g(.param .b32 a) { ret; }\n.alias g, f;\n.entry k() { ret; }"),
              HasSubstr("is defined twice"));
}

TEST(Lift, KnowsTheNumbersOfThreads) {
  std::string ir = ir_of(kernel_of("mov.u32 %r1, %laneid; shl.b32 %r2, %r1, 2; add.u32 %y, %r2, %x;"));
  EXPECT_THAT(ir, HasSubstr("range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid()"));
  EXPECT_THAT(ir, HasSubstr("shl nuw nsw i32"));
}

TEST(Lift, CountsElements) {
  std::string ir = ir_of(kernel_of(R"(
  shl.b32 %r1, %t, 2;
  mov.u32 %r2, tile;
  add.u32 %r3, %r2, %r1;
  setp.gt.u32 %p1, %t, 15;
  @%p1 bra over;
  ld.shared.u32 %x, [%r3+64];
over:
  st.shared.u32 [%r3], %x;
  mov.u32 %y, %x;)",
                                   ".shared .align 4 .b8 tile[4096];\n"));
  EXPECT_THAT(ir, HasSubstr("getelementptr i32, ptr addrspace(3) @tile, i64"));
  EXPECT_THAT(ir, HasSubstr(", 16\n"));
  EXPECT_THAT(ir, Not(HasSubstr(", i64 64\n")));
  EXPECT_THAT(ir, HasSubstr("icmp ult i32"));
  EXPECT_THAT(ir, Not(HasSubstr("icmp ugt")));
  EXPECT_THAT(ir, HasSubstr("getelementptr i32, ptr addrspace(1)"));
}

TEST(Lift, MakesUpdatesOfAtomics) {
  std::string ir = ir_of(kernel_of(R"(
  atom.global.add.u32 %y, [%out], %x;
  red.relaxed.gpu.global.max.s32 [%out+4], %x;
  atom.shared.cas.b32 %r1, [tile+8], %x, 5;
  atom.add.release.gpu.u32 %r2, [%in], 1;
  atom.global.inc.u32 %r3, [%in], 7;)",
                                   ".shared .align 4 .b8 tile[64];\n"));
  EXPECT_THAT(ir, HasSubstr("atomicrmw add ptr addrspace(1)"));
  EXPECT_THAT(ir, HasSubstr("atomicrmw max ptr addrspace(1)"));
  EXPECT_THAT(ir, HasSubstr("cmpxchg ptr addrspace(3)"));
  EXPECT_THAT(ir, HasSubstr("asm sideeffect \"atom.add.release.gpu.u32"));
  EXPECT_THAT(ir, HasSubstr("asm sideeffect \"atom.global.inc.u32"));
  std::vector<uint32_t> out = run(kernel_of(R"(
  mov.u32 %r1, tile;
  st.shared.u32 [tile], 0;
  bar.sync 0;
  atom.shared.add.u32 %r2, [%r1], 3;
  bar.sync 0;
  ld.shared.u32 %y, [tile];)",
                                            ".shared .align 4 .b8 tile[64];\n"),
                                  numbers(64));
  EXPECT_THAT(out, testing::Each(192u));
}

float of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

// Of numbers of all sizes, sums of which cancel, and the strangest.
TEST(Lift, RoundsFloatsAsTold) {
  std::vector<uint32_t> in = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7f7fffff, 0xff7fffff, 1,
                              0x80000001, 0x00800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x34000000, 0x4b800001};
  for (uint32_t i = 1; in.size() < 512; ++i) in.push_back(i * 2654435761u);
  for (auto [suffix, mode] : {std::pair("rm", FE_DOWNWARD), {"rp", FE_UPWARD}, {"rz", FE_TOWARDZERO}}) {
    for (const char* operation : {"add", "mul", "fma"}) {
      for (uint32_t second : {0x3f800000u, 0xbf800001u, 0x80000000u, 0x00000003u, 0x7f7fffffu, 0x4b400001u}) {
        SCOPED_TRACE(fmt::format("{}.{} {:x}", operation, suffix, second));
        bool fused = operation == std::string("fma");
        std::vector<uint32_t> out =
            run(kernel_of(fmt::format("mov.b32 %f1, %x; {}.{}.f32 %f2, %f1, 0f{:08x}{}; mov.b32 %y, %f2;", operation,
                                      suffix, second, fused ? ", 0fcb400001" : "")),
                in);
        std::fesetround(mode);
        for (size_t i = 0; i < in.size(); ++i) {
          volatile float x = of_bits(in[i]), y = of_bits(second), z = of_bits(0xcb400001);
          volatile float expected = fused ? std::fma(x, y, z) : operation == std::string("add") ? x + y : x * y;
          bool same =
              std::isnan(expected) ? std::isnan(of_bits(out[i])) : std::bit_cast<uint32_t>(float(expected)) == out[i];
          if (!same) {
            std::fesetround(FE_TONEAREST);
            FAIL() << std::hex << in[i] << " gives " << out[i] << ", not " << std::bit_cast<uint32_t>(float(expected));
          }
        }
        std::fesetround(FE_TONEAREST);
      }
    }
  }
}

TEST(Lift, SaysWhichLineItDoesNotKnow) {
  EXPECT_EQ(refusal_of(".visible .entry k()\n{\n  .reg .b32 %r<2>;\n  bra nowhere;\n}\n"),
            "line 7 of the PTX ('bra nowhere') leads nowhere");
  EXPECT_THAT(refusal_of(".visible .entry k()\n{\n  mov.u32 %r1, 1;\n}\n"), HasSubstr("line 6"));
  EXPECT_THAT(refusal_of(".visible .entry other() { ret; }\n"), HasSubstr("no kernel 'k'"));
  EXPECT_THAT(refusal_of(".visible .entry k() {\n"), HasSubstr("has no end"));
  EXPECT_THAT(refusal_of("nonsense\n"), HasSubstr("line 4"));
  EXPECT_THAT(refusal_of(".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, gone; }\n"), HasSubstr("'gone'"));
}

// The texts that ptx_fuzz begins with.
TEST(Lift, ReadsTheCorpus) {
  unsigned texts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MNEME_CORPUS)) {
    SCOPED_TRACE(entry.path());
    llvm::LLVMContext context;
    Lifted lifted = lift(context, read_file(entry.path()));
    EXPECT_EQ(lifted.kernels.size(), 1u);
    for (const auto& [name, why] : lifted.refused) ADD_FAILURE() << name << ": " << why;
    ++texts;
  }
  EXPECT_GE(texts, 7u);
}

// A stranger's text ends in an Error, never otherwise.
TEST(Lift, SurvivesDamage) {
  std::string text = kHead + kernel_of(R"(
  .shared .align 4 .b8 tile[256];
  .local .align 4 .b8 own[16];
  mov.u32 %r1, tile;
  setp.eq.u32 %p1|%p2, %t, 1;
  @%p1 bra one;
  mov.b32 {%rs1, %rs2}, %x;
  { .param .b32 a; st.param.b32 [a], %x; .param .b32 r; call.uni (r), f, (a); ld.param.b32 %y, [r]; }
one:
  shfl.sync.bfly.b32 %r1|%p1, %x, 3, 31, -1;
  ld.global.v2.u32 {%r3, %r4}, [%in+8];
  fma.rn.ftz.f32 %f1, %f2, 0f3F800000, %f1;
  mov.u64 %rd1, table;
)",
                                       ".func (.param .b32 r) f(.param .b32 a) { ret; }\n"
                                       ".global .align 8 .u64 table[2] = {f, generic(table)+8};\n");
  uint64_t state = 1;
  auto random = [&](size_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % limit;
  };
  constexpr std::string_view kSigns = "{}[]();,.%@|+-:<>=_ \n0aLr";
  unsigned refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (size_t n = random(3) + 1; n > 0; --n) {
      size_t at = random(damaged.size());
      if (random(2))
        damaged[at] = kSigns[random(kSigns.size())];
      else
        damaged.erase(at, random(12) + 1);
    }
    try {
      llvm::LLVMContext context;
      refused += !lift(context, damaged).refused.empty();
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000u);
}

TEST(Lift, RefusesOnlyTheKernelsThatUseWhatItDoesNotKnow) {
  llvm::LLVMContext context;
  Lifted lifted = lift(context, std::string(kHead) +
                                    ".func f() { bra nowhere; }\n"
                                    ".visible .entry bad() { call f; ret; }\n"
                                    ".visible .entry good() { ret; }\n");
  EXPECT_THAT(lifted.kernels, testing::ElementsAre("bad", "good"));
  EXPECT_TRUE(lifted.refused.contains("f"));
  EXPECT_FALSE(lifted.module->getFunction("good")->isDeclaration());
  EXPECT_NO_THROW(lift_kernel(std::string(kHead) + ".func f() { bra nowhere; }\n.visible .entry k() { ret; }\n", "k"));
}

}  // namespace
}  // namespace mneme::codegen::ptx
