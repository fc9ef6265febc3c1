// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a configuration says beside its pipeline, as it shows in the IR and in the PTX of an NVIDIA GPU's code.
#include <gmock/gmock.h>

#include <cstring>

#include "base/error.h"
#include "codegen/compile.h"

namespace mneme::codegen {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// out[i] += in[i] * factor, for i from the thread's number, in steps of the block's size, below n.
constexpr char kKernel[] = R"(target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, float }
define void @k(ptr %out, ptr byval(%pair) align 4 %pair, i32 %n, i1 %twice) #0 {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %step = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %p = getelementptr %pair, ptr %pair, i32 0, i32 1
  %factor = load float, ptr %p
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %a = mul i32 %i, %step
  %b = add i32 %a, %tid
  %x = sext i32 %b to i64
  %q = getelementptr float, ptr %out, i64 %x
  %v = load float, ptr %q
  %f = fmul float %v, %factor
  %g = call float @help(float %f)
  %h = select i1 %twice, float %g, float %f
  store float %h, ptr %q
  %next = add i32 %i, %blocks
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define float @help(float %x) {
  %a = fadd float %x, 1.0
  MUCH
  ret float %e
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
attributes #0 = { "target-features"="+ptx80,+sm_80" }
!nvvm.annotations = !{!0, !1}
!0 = !{ptr @k, !"kernel", i32 1}
!1 = !{ptr @k, !"maxntidx", i32 512, !"minctasm", i32 3}
)";

bundle::KernelInfo kernel() {
  bundle::KernelInfo info;
  info.name = info.demangled = "k";
  info.wave_size = 32;
  info.argument_bytes = 21;
  info.arguments = {{0, 8, "pointer", "ptr", {}},
                    {8, 8, "struct", "%pair", {}},
                    {16, 4, "scalar", "i32", {}},
                    {20, 1, "scalar", "i1", {}}};
  return info;
}

bundle::InstanceInfo instance() {
  bundle::InstanceInfo info;
  info.id = digest_of("one");
  info.grid = {4, 1, 1};
  info.block = {96, 1, 1};
  struct {
    uint64_t out = 0x400000001000;
    int32_t first = 7;
    float factor = 2.5;
    int32_t n = 4096;
    char twice = 1;
  } arguments;
  info.arguments = std::string(reinterpret_cast<const char*>(&arguments), 21);
  return info;
}

Code compiled(const std::function<void(bundle::Configuration&)>& change, const bundle::InstanceInfo* of = nullptr) {
  bundle::Configuration configuration;
  configuration.target = "cuda:sm_90";
  configuration.passes = "default<O3>";
  configuration.form = "auto";
  change(configuration);
  // Too much to be inlined at any rate.
  std::string much = "%a0 = fadd float %x, 1.0\n";
  for (int i = 0; i < 60; ++i) much += fmt::format("  %a{} = fdiv float %a{}, %x\n", i + 1, i);
  std::string ir = kKernel;
  ir.replace(ir.find("MUCH"), 4, much + "  %e = fadd float %a60, %a");
  return compile(kernel(), ir, configuration, {of, true});
}

Code plain() {
  return compiled([](bundle::Configuration&) {});
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Adjust, TextsAreWhatWasCompiled) {
  Code code = plain();
  EXPECT_EQ(code.assembly, code.bytes);
  EXPECT_THAT(code.ir, AllOf(HasSubstr("define void @k("), HasSubstr("ntid.x")));
}

TEST(Adjust, LaunchBounds) {
  EXPECT_THAT(plain().bytes, AllOf(HasSubstr(".maxntid 512"), HasSubstr(".minnctapersm 3")));
  Code code = compiled([](bundle::Configuration& c) { c.max_threads = 128; });
  EXPECT_THAT(code.bytes, AllOf(HasSubstr(".maxntid 128"), HasSubstr(".minnctapersm 3"), HasSubstr(".entry k(")));
  code = compiled([](bundle::Configuration& c) { c.max_threads = 64, c.min_blocks = 8; });
  EXPECT_THAT(code.bytes, AllOf(HasSubstr(".maxntid 64"), HasSubstr(".minnctapersm 8"), Not(HasSubstr("512"))));
}

TEST(Adjust, ArgumentsBecomeConstants) {
  bundle::InstanceInfo one = instance();
  Code code = compiled([](bundle::Configuration& c) { c.specialize_args = "2"; }, &one);
  EXPECT_THAT(code.bytes, AllOf(HasSubstr("4096"), Not(HasSubstr("ld.param.u32"))));
  EXPECT_THAT(plain().bytes, AllOf(Not(HasSubstr("4096")), HasSubstr("ld.param.u32")));
  // 2.5 of the structure, and the boolean.
  code = compiled([](bundle::Configuration& c) { c.specialize_args = "all"; }, &one);
  EXPECT_THAT(code.bytes, AllOf(HasSubstr("0f40200000"), Not(HasSubstr("selp.f32"))));
  EXPECT_THAT(plain().bytes, AllOf(Not(HasSubstr("0f40200000")), HasSubstr("selp.f32")));
  // A pointer, which recorded memory has where it was.
  code = compiled([](bundle::Configuration& c) { c.specialize_args = "0"; }, &one);
  EXPECT_THAT(code.ir, HasSubstr(std::to_string(0x400000001000)));
}

TEST(Adjust, DimensionsBecomeConstantsThatTheDriverHoldsTo) {
  bundle::InstanceInfo one = instance();
  Code code = compiled([](bundle::Configuration& c) { c.specialize_dims = true; }, &one);
  EXPECT_THAT(code.bytes, AllOf(HasSubstr(".reqntid 96, 1, 1"), Not(HasSubstr("%ntid")), Not(HasSubstr("maxntid"))));
  EXPECT_THAT(plain().bytes, AllOf(HasSubstr("%ntid"), Not(HasSubstr("reqntid"))));
  code = compiled(
      [](bundle::Configuration& c) {
        c.specialize_dims = true;
        c.block = {32, 1, 1};
      },
      &one);
  EXPECT_THAT(code.bytes, HasSubstr(".reqntid 32, 1, 1"));
}

TEST(Adjust, FastMathIsOfEachOperation) {
  EXPECT_THAT(plain().ir, Not(HasSubstr("reassoc")));
  Code code = compiled([](bundle::Configuration& c) { c.fast_math = "arcp,reassoc"; });
  EXPECT_THAT(code.ir, HasSubstr("fmul reassoc arcp float"));
}

TEST(Adjust, AttributesAreOnTheKernel) {
  Code code = compiled([](bundle::Configuration& c) { c.attributes = "key=value minsize"; });
  EXPECT_THAT(code.ir, AllOf(HasSubstr("\"key\"=\"value\""), HasSubstr("minsize")));
  EXPECT_THAT(plain().ir, AllOf(Not(HasSubstr("\"key\"")), Not(HasSubstr("minsize"))));
}

TEST(Adjust, ThresholdsOfThePipeline) {
  bundle::InstanceInfo one = instance();
  auto unrolled = [&](std::optional<uint32_t> threshold) {
    return compiled(
        [&](bundle::Configuration& c) {
          c.unroll_threshold = threshold;
          c.specialize_dims = true;
          c.specialize_args = "2,3";
          c.grid = {256, 1, 1};
        },
        &one);
  };
  // Sixteen times round, of which one may be apart.
  EXPECT_LE(count(unrolled(0).ir, "store float"), 2u);
  EXPECT_EQ(count(unrolled(1'000'000).ir, "store float"), 16u);
  EXPECT_EQ(unrolled(std::nullopt).bytes, unrolled(std::nullopt).bytes) << "the option does not stay";

  auto inlined = [](std::optional<uint32_t> threshold) {
    return compiled([&](bundle::Configuration& c) { c.inline_threshold = threshold; });
  };
  EXPECT_THAT(inlined(std::nullopt).ir, Not(HasSubstr("call float @help")));
  EXPECT_THAT(inlined(0).ir, HasSubstr("call float @help"));
}

TEST(Adjust, Features) {
  EXPECT_THAT(plain().bytes, HasSubstr(".version 8.0"));
  EXPECT_THAT(compiled([](bundle::Configuration& c) { c.features = "+ptx83"; }).bytes, HasSubstr(".version 8.3"));
}

template <typename Body>
std::string fault(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Adjust, SaysWhatCannotBe) {
  EXPECT_THAT(fault([] { compiled([](bundle::Configuration& c) { c.specialize_args = "all"; }); }),
              HasSubstr("no instance whose values"));
  bundle::InstanceInfo one = instance();
  EXPECT_THAT(fault([&] { compiled([](bundle::Configuration& c) { c.specialize_args = "4"; }, &one); }),
              HasSubstr("has no argument 4: it has 4, counted from 0"));
  EXPECT_THAT(fault([&] { compiled([](bundle::Configuration& c) { c.plugins = "0123"; }); }),
              HasSubstr("no plugin with the digest '0123' is loaded"));
  one.arguments.resize(18);
  EXPECT_THAT(fault([&] { compiled([](bundle::Configuration& c) { c.specialize_args = "2"; }, &one); }),
              HasSubstr("argument 2 of the kernel 'k' lies beyond the recorded argument bytes"));
}

}  // namespace
}  // namespace mneme::codegen
