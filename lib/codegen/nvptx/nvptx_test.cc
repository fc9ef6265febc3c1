// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/nvptx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "codegen/compile.h"
#include "objects/function_address.h"

namespace mneme::codegen {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// out[tid] = in[tid] * factor + out[tid]; the product and the sum carry `flags`.
std::string kernel_ir(const std::string& flags, const std::string& triple = "nvptx64-nvidia-cuda") {
  return "target triple = \"" + triple + R"("
define void @scale(ptr %in, ptr %out, float %factor) #0 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = sext i32 %tid to i64
  %from = getelementptr float, ptr %in, i64 %i
  %to = getelementptr float, ptr %out, i64 %i
  %x = load float, ptr %from
  %y = load float, ptr %to
  %product = fmul )" +
         flags + R"( float %x, %factor
  %sum = fadd )" +
         flags + R"( float %product, %y
  %half = call i32 @__nvvm_reflect(ptr @name)
  %ftz = icmp ne i32 %half, 0
  %zero = select i1 %ftz, float 0.0, float %sum
  store float %zero, ptr %to
  ret void
}
@name = private constant [11 x i8] c"__CUDA_FTZ\00"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @__nvvm_reflect(ptr)
attributes #0 = { "target-features"="+ptx80,+sm_80" }
!nvvm.annotations = !{!0}
!0 = !{ptr @scale, !"kernel", i32 1}
)";
}

bundle::KernelInfo scale() {
  bundle::KernelInfo info;
  info.name = "scale";
  info.demangled = "scale(float*, float*, float)";
  info.wave_size = 32;
  info.argument_bytes = 20;
  info.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 8, "pointer", "ptr", {}}, {16, 4, "scalar", "float", {}}};
  return info;
}

bundle::Configuration configuration(const std::string& target, const std::string& passes = "default<O3>") {
  bundle::Configuration configuration;
  configuration.target = target;
  configuration.passes = passes;
  configuration.form = "auto";
  return configuration;
}

TEST(Nvptx, KernelsBecomePtx) {
  Code code = compile(scale(), kernel_ir("contract"), configuration("cuda:sm_90"));
  EXPECT_EQ(code.file, "code.ptx");
  ASSERT_EQ(code.stores.size(), 1u);
  EXPECT_EQ(code.stores[0].type, "f32");
  EXPECT_EQ(code.stores[0].argument, 8);
  EXPECT_THAT(code.bytes, AllOf(HasSubstr(".visible .entry scale("), HasSubstr(".target sm_90"),
                                HasSubstr(".version 8.0"), Not(HasSubstr("__nvvm_reflect"))));
  EXPECT_EQ(code.bytes, compile(scale(), kernel_ir("contract"), configuration("cuda:sm_90")).bytes);
  EXPECT_THAT(compile(scale(), kernel_ir(""), configuration("cuda:sm_80", "default<O0>")).bytes,
              AllOf(HasSubstr(".target sm_80"), Not(HasSubstr("__nvvm_reflect"))));
}

TEST(Nvptx, PassesBehindALimitAreSkipped) {
  bundle::Configuration limited = configuration("cuda:sm_90");
  auto code_of = [&](uint32_t limit) {
    limited.opt_bisect = limit;
    return compile(scale(), kernel_ir("contract"), limited);
  };
  const Code none = code_of(0), all = code_of(1'000'000);
  EXPECT_EQ(all.bytes, compile(scale(), kernel_ir("contract"), configuration("cuda:sm_90")).bytes);
  EXPECT_NE(none.bytes, all.bytes);
  EXPECT_THAT(none.bytes, Not(HasSubstr("__nvvm_reflect")));  // what has to be done is done
  EXPECT_THAT(all.remarks, Contains("1 Annotation2MetadataPass on [module]"));
  EXPECT_THAT(all.remarks, Contains(HasSubstr(" on function (scale)")));  // of code generation
  EXPECT_THAT(none.remarks, Each(HasSubstr(" (skipped)")));
}

TEST(Nvptx, WhatWasCompiledWithoutOptimisationCanBeOptimised) {
  std::string ir = kernel_ir(""), plain = compile(scale(), ir, configuration("cuda:sm_90")).bytes;
  ir.replace(ir.find("#0 = { "), 7, "#0 = { noinline optnone ");
  EXPECT_EQ(compile(scale(), ir, configuration("cuda:sm_90")).bytes, plain);
}

// Which ptxas refuses to optimise.
TEST(Nvptx, WhatIsForDebuggersIsLeftOutOfOptimisedCode) {
  std::string ir = kernel_ir("");
  ir.replace(ir.find(" #0 {"), 5, " #0 !dbg !3 {");
  ir.replace(ir.find("ptr %to\n  ret"), 8, "ptr %to, !dbg !5\n");
  ir += R"(!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!4}
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !2, isOptimized: false, emissionKind: FullDebug)
!2 = !DIFile(filename: "scale.cu", directory: "/")
!3 = distinct !DISubprogram(name: "scale", file: !2, line: 7, type: !6, unit: !1, spFlags: DISPFlagDefinition)
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DILocation(line: 8, scope: !3)
!6 = !DISubroutineType(types: !7)
!7 = !{null}
)";
  bundle::Configuration asked = configuration("cuda:sm_90", "default<O0>");
  EXPECT_THAT(compile(scale(), ir, asked).bytes, AllOf(HasSubstr(".loc"), Not(HasSubstr(", debug"))));
  asked.ptxas_level = 0;
  EXPECT_THAT(compile(scale(), ir, asked).bytes, AllOf(HasSubstr(".loc"), HasSubstr(".target sm_90, debug")));
}

// A replay that rounds otherwise than the application did would not verify.
// As clang does, which LLVM's own text for the level leaves out.
TEST(Nvptx, StoresSideBySideAreOneWhereCodeIsToBeSmall) {
  bundle::KernelInfo pairs = scale();
  pairs.name = pairs.demangled = "pairs";
  std::string ir = R"(target triple = "nvptx64-nvidia-cuda"
define void @pairs(ptr %in, ptr align 4 %out, float %factor) #0 {
  %second = getelementptr i16, ptr %in, i64 1
  %x = load i16, ptr %in, align 4
  %y = load i16, ptr %second
  %x_low = and i16 %x, 32767
  %y_low = and i16 %y, 32767
  %after = getelementptr i16, ptr %out, i64 1
  store i16 %x_low, ptr %out, align 4
  store i16 %y_low, ptr %after
  ret void
}
attributes #0 = { minsize optsize "target-features"="+ptx80,+sm_80" }
!nvvm.annotations = !{!0}
!0 = !{ptr @pairs, !"kernel", i32 1}
)";
  for (const char* passes : {"default<O2>", "default<Oz>"}) {
    EXPECT_THAT(compile(pairs, ir, configuration("cuda:sm_90", passes)).bytes, Not(HasSubstr("st.global.u16")))
        << passes;
  }
}

TEST(Nvptx, MultipliesAndAddsAsTheApplicationsCompilerWasTold) {
  EXPECT_THAT(compile(scale(), kernel_ir("contract"), configuration("cuda:sm_90")).bytes, HasSubstr("fma.rn.f32"));
  EXPECT_THAT(compile(scale(), kernel_ir(""), configuration("cuda:sm_90")).bytes,
              AllOf(Not(HasSubstr("fma.")), HasSubstr("mul.rn.f32"), HasSubstr("add.rn.f32")));
  bundle::Configuration fused = configuration("cuda:sm_90");
  fused.fuse = true;
  EXPECT_THAT(compile(scale(), kernel_ir(""), fused).bytes, HasSubstr("fma.rn.f32"));
}

// clang's driver has LLVM do so for CUDA, and only for it: a variant would not be what the application ran.
TEST(Nvptx, StoresSideBySideBecomeAMemset) {
  std::string stores;
  for (int i = 0; i < 40; ++i) {
    stores += fmt::format("  %q{0} = getelementptr i64, ptr %p, i64 {0}\n  store i64 0, ptr %q{0}\n", i);
  }
  bundle::KernelInfo clear = scale();
  clear.name = "clear";
  std::string ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine void @clear(ptr %p) {\n" + stores +
                   "  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{ptr @clear, !\"kernel\", i32 1}\n";
  EXPECT_THAT(compile(clear, ir, configuration("cuda:sm_90")).bytes,
              AllOf(HasSubstr("st.global.u8"), HasSubstr("bra")));
  EXPECT_THAT(compile(clear, ir, configuration("cuda:sm_90", "default<O0>")).bytes, Not(HasSubstr("st.global.u8")));
}

// A kernel that calls what its argument points to; `g` may be that.
constexpr char kCaller[] = R"(target triple = "nvptx64-nvidia-cuda"
@llvm.compiler.used = appending global [1 x ptr] [ptr @g], section "llvm.metadata"
@table = addrspace(1) externally_initialized global [2 x ptr] [ptr @f, ptr @g]
define internal i32 @f(i32 %x) noinline { ret i32 1 }
define internal i32 @g(i32 %x) noinline { ret i32 2 }
define void @call(ptr %function, ptr %out) {
  %same = icmp eq ptr %function, @f
  %number = zext i1 %same to i32
  %result = call i32 %function(i32 %number)
  store i32 %result, ptr %out
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @call, !"kernel", i32 1}
)";

bundle::KernelInfo caller(std::vector<uint64_t> addresses) {
  bundle::KernelInfo info = scale();
  info.name = info.demangled = "call";
  info.arguments = {};
  info.argument_bytes = 16;
  info.functions = {"f", "gone", "g"};
  info.function_addresses = std::move(addresses);
  return info;
}

std::string_view body_of(std::string_view ptx, std::string_view function) {
  size_t begin = ptx.find(function);
  return ptx.substr(begin, ptx.find("\n}", begin) - begin);
}

// The assembler numbers functions in the order in which code takes their addresses.
TEST(Nvptx, TakesAddressesOfFunctionsInTheRecordedOrder) {
  std::string ptx = compile(caller({32, 16, 8}), kCaller, configuration("cuda:sm_90")).bytes;
  // Declared before all others, and external.
  size_t declared = ptx.find(".visible .func __mneme_take_functions");
  ASSERT_NE(declared, std::string::npos) << ptx;
  EXPECT_EQ(ptx.find(".func "), ptx.find(".func __mneme_take_functions")) << ptx;
  size_t first = ptx.find(".visible .func __mneme_take_functions", declared + 1), kernel = ptx.find(".entry call(");
  ASSERT_NE(kernel, std::string::npos);
  ASSERT_LT(first, kernel) << ptx;
  std::string taker = ptx.substr(ptx.find('{', first), kernel - first);
  std::vector<size_t> order;
  for (const char* name : {", g;", ", __mneme_nothing_2;", ", __mneme_nothing_3;", ", f;"})
    order.push_back(taker.find(name));
  EXPECT_TRUE(std::ranges::is_sorted(order)) << taker;
  EXPECT_NE(order.back(), std::string::npos) << taker;
  for (const char* name : {"f", "g"}) EXPECT_THAT(ptx, HasSubstr(objects::address_symbol(name) + " = " + name + ";"));
  EXPECT_THAT(ptx, Not(HasSubstr(objects::address_symbol("gone"))));
}

// In memory, in code and where it is called: numbers in place of what the loader makes of functions.
TEST(Nvptx, LooksUpFunctionsWhoseAddressesAreOfAnotherKind) {
  for (const std::vector<uint64_t>& addresses :
       {std::vector<uint64_t>{}, {0, 0, 0}, {0x7f0012345600, 8, 16}, {8, 16, 8 * 5000}, {8, 12, 16}}) {
    const bundle::KernelInfo info = caller(addresses);
    const uint64_t f = objects::recorded_or_made_address(info, "f"), g = objects::recorded_or_made_address(info, "g");
    std::string ptx = compile(info, kCaller, configuration("cuda:sm_90")).bytes;
    EXPECT_THAT(ptx, HasSubstr(fmt::format("table[2] = {{{}, {}}}", f, g)));
    // The kernel compares with the number; `f` and `g` themselves are known to the lookup alone.
    std::string_view kernel = body_of(ptx, ".entry call(");
    EXPECT_THAT(kernel, AllOf(HasSubstr(std::to_string(f)), HasSubstr("__mneme_function_at"), Not(HasSubstr(", f;"))));
    std::string_view lookup = body_of(ptx, ") __mneme_function_at(");
    for (const char* part : {", f;", ", g;", "trap;"}) EXPECT_THAT(lookup, HasSubstr(part));
    EXPECT_THAT(lookup, HasSubstr(std::to_string(g)));
  }
}

// nvJitLink makes code of which functions have the loader's addresses, so that places are numbers like any other.
TEST(Nvptx, LooksUpFunctionsWhereTheAssemblerMakesNoTable) {
  bundle::Configuration linked = configuration("cuda:sm_90");
  linked.assembler = "nvjitlink";
  std::string ptx = compile(caller({32, 16, 8}), kCaller, linked).bytes;
  EXPECT_THAT(ptx, AllOf(HasSubstr("__mneme_function_at"), HasSubstr("table[2] = {32, 8}"),
                         Not(HasSubstr("__mneme_take_functions"))));
  linked.assembler = "ptxas";
  EXPECT_THAT(compile(caller({32, 16, 8}), kCaller, linked).bytes,
              AllOf(HasSubstr("__mneme_take_functions"), Not(HasSubstr("__mneme_function_at"))));
  bundle::KernelInfo none = caller({});
  none.functions = {};
  EXPECT_THAT(compile(none, kCaller, linked).bytes, Not(HasSubstr("__mneme_")));
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Nvptx, SaysWhatItCannotDo) {
  EXPECT_THAT(refusal([] { compile(scale(), kernel_ir("", "amdgcn-amd-amdhsa"), configuration("cuda:sm_90")); }),
              HasSubstr("was compiled for amdgcn-amd-amdhsa, not for NVIDIA's GPUs"));
  EXPECT_THAT(refusal([] { compile(scale(), kernel_ir(""), configuration("cuda:sm_90", "internalize,globaldce")); }),
              HasSubstr("removes, renames or hides 'scale'"));
  EXPECT_THAT(refusal([] { compile(scale(), kernel_ir(""), configuration("cuda:sm_1")); }),
              HasSubstr("'sm_1' is not an NVIDIA GPU"));
  bundle::Configuration checked = configuration("cuda:sm_90");
  checked.check_memory = true;
  EXPECT_THAT(refusal([&] { compile(scale(), kernel_ir(""), checked); }), HasSubstr("for the host device"));
  bundle::KernelInfo other = scale();
  other.name = "other";
  EXPECT_THAT(refusal([&] { compile(other, kernel_ir(""), configuration("cuda:sm_90")); }),
              HasSubstr("has no function 'other'"));
}

TEST(Targets, AreNamedInFullOrByTheirProcessor) {
  EXPECT_EQ(target_named("sm_90"), "cuda:sm_90");
  EXPECT_EQ(target_named("cuda:sm_90a"), "cuda:sm_90a");
  EXPECT_EQ(target_named("host:x86-64-v2"), "host:x86-64-v2");
  EXPECT_THAT(target_named("host"), testing::StartsWith("host:x86-64-v"));
  for (const char* none : {"", "cuda:gfx90a", "cuda:", "sm_9", "host:sm_90", "cuda:sm_90;"}) {
    EXPECT_THAT(refusal([&] { target_named(none); }), HasSubstr("no target")) << none;
  }
}

}  // namespace
}  // namespace mneme::codegen
