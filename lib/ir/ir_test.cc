// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>

#include "base/error.h"
#include "ir/module.h"
#include "ir/optimize.h"
#include "ir/pass_gate.h"

namespace mneme::ir {
namespace {

constexpr char kText[] = R"(
define i32 @sum() {
  %a = alloca i32
  store i32 40, ptr %a
  %b = load i32, ptr %a
  %c = add i32 %b, 2
  ret i32 %c
})";

template <typename Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kBadInput);
    return error.what();
  }
  return "";
}

TEST(Module, ReadsTextAndBitcodeAlike) {
  llvm::LLVMContext context;
  auto text = load_module(context, kText, "text");
  auto bitcode = load_module(context, write_bitcode(*text), "bitcode");
  ASSERT_NE(bitcode->getFunction("sum"), nullptr);
  EXPECT_EQ(bitcode->getFunction("sum")->getInstructionCount(), 5u);
  EXPECT_NE(print_module(*bitcode).find("alloca i32"), std::string::npos);
}

TEST(Module, SaysWhatIsWrongWithIr) {
  llvm::LLVMContext context;
  EXPECT_NE(message_of([&] { load_module(context, "define i32 @f( {", "the file 'x.ll'"); }).find("the file 'x.ll'"),
            std::string::npos);
  std::string bitcode = write_bitcode(*load_module(context, kText, "text"));
  for (size_t cut : {size_t{0}, size_t{3}, size_t{8}, bitcode.size() / 2, bitcode.size() - 4}) {
    EXPECT_NE(message_of([&] {
                auto module = load_module(context, bitcode.substr(0, cut), "cut");
                if (!module->getFunction("sum")) throw Error("nothing in it");
              }),
              "")
        << cut;
  }
  // Parses, but a value is used before it is defined.
  EXPECT_NE(message_of([&] {
              load_module(context, "define i32 @f() {\n  %a = add i32 %b, 1\n  %b = add i32 1, 1\n  ret i32 %a\n}",
                          "x");
            }).find("not valid IR"),
            std::string::npos);
}

TEST(Optimize, RunsThePipelineThatIsAskedFor) {
  llvm::LLVMContext context;
  auto module = load_module(context, kText, "text");
  optimize(*module, "function(sroa)", nullptr);
  EXPECT_EQ(module->getFunction("sum")->getInstructionCount(), 2u);
  optimize(*module, "default<O2>", nullptr);
  EXPECT_EQ(module->getFunction("sum")->getInstructionCount(), 1u);
}

TEST(Optimize, SaysNothingOfLoopsThatCannotBeUnrolled) {
  constexpr char kLoop[] = R"(
declare i1 @more()
define void @f() {
  br label %loop
loop:
  %again = call i1 @more()
  br i1 %again, label %loop, label %done, !llvm.loop !0
done:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.enable"}
)";
  llvm::LLVMContext context;
  auto module = load_module(context, kLoop, "loop");
  testing::internal::CaptureStderr();
  optimize(*module, "default<O3>", nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Optimize, SkipsPassesBehindALimit) {
  constexpr char kPipeline[] = "function(sroa,instcombine)";
  auto instructions = [&](std::optional<uint32_t> limit, std::vector<std::string>* passes = nullptr) {
    PassGate gate(limit);
    llvm::LLVMContext context;
    auto module = load_module(context, kText, "text");
    Tuning tuning;
    tuning.gate = &gate;
    optimize(*module, kPipeline, nullptr, {}, tuning);
    if (passes) *passes = gate.passes();
    return module->getFunction("sum")->getInstructionCount();
  };
  std::vector<std::string> passes;
  EXPECT_EQ(instructions(0), 5u);
  EXPECT_EQ(instructions(1, &passes), 2u);
  EXPECT_EQ(passes, (std::vector<std::string>{"1 SROAPass on sum", "2 InstCombinePass on sum (skipped)"}));
  EXPECT_EQ(instructions(2), 1u);
  // Nothing of it is left for the next.
  EXPECT_EQ(instructions(std::nullopt, &passes), 1u);
  EXPECT_TRUE(passes.empty());
}

TEST(Optimize, NumbersPassesOfCodeAnew) {
  PassGate gate(3);
  gate.begin_pipeline();
  EXPECT_TRUE(gate.shouldRunPass("A", "f"));
  for (int i = 0; i < 2; ++i) {
    gate.begin_code();
    EXPECT_TRUE(gate.shouldRunPass("B", "f"));
    EXPECT_TRUE(gate.shouldRunPass("C", "f"));
    EXPECT_FALSE(gate.shouldRunPass("D", "f"));
  }
  EXPECT_EQ(gate.passes().size(), 4u);
}

TEST(Optimize, PassesOnWhatLlvmSaysOfABadPipeline) {
  std::string message = message_of([] { check_pipeline("default<O2>,no-such-pass"); });
  EXPECT_NE(message.find("no-such-pass"), std::string::npos);
  EXPECT_NE(message.find("unknown"), std::string::npos);
  EXPECT_EQ(message_of([] { check_pipeline("default<O2>,function(loop-unroll)"); }), "");
}

}  // namespace
}  // namespace mneme::ir
