// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/step_loops.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// How many steps a work-item with this body gets. %p and %n are the same for all.
size_t steps(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = R"(
declare void @mneme.barrier()
declare i64 @mneme.wave.ballot(i1)
define void @mneme.item(ptr %context, i32 %x, i32 %y, i32 %z) {
entry:
  %p = load ptr, ptr %context, !invariant.load !0
  %at = getelementptr i8, ptr %context, i64 8
  %n = load i32, ptr %at, !invariant.load !0
  %i = zext i32 %x to i64
)" + body + "\n}\n!0 = !{}\n";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  llvm::Function& item = *module->getFunction("mneme.item");
  step_through_loops(item);
  size_t count = 0;
  for (auto& [call, operation] : operations_in(item)) count += is_step(operation);
  return count;
}

// sum += p[k * ROW + i * COLUMN] for k below COUNT; then p[i] = sum.
std::string loop(const std::string& row, const std::string& column, const std::string& count) {
  return R"(
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k1, %body ]
  %sum = phi float [ 0.0, %before ], [ %more, %body ]
  %again = icmp slt i32 %k, )" +
         count + R"(
  br i1 %again, label %body, label %done
body:
  %k64 = zext i32 %k to i64
  %down = mul i64 %k64, )" +
         row + R"(
  %across = mul i64 %i, )" +
         column + R"(
  %index = add i64 %down, %across
  %from = getelementptr float, ptr %p, i64 %index
  %value = load float, ptr %from
  %scaled = fmul float %value, 2.0
  %more = fadd float %sum, %scaled
  %k1 = add i32 %k, 1
  br label %loop
done:
  %to = getelementptr float, ptr %p, i64 %i
  store float %sum, ptr %to)";
}

const std::string kStart = "  br label %before\nbefore:";

TEST(StepLoops, NeighboursNextToEachOther) { EXPECT_EQ(steps(kStart + loop("1000", "1", "%n") + "\n  ret void"), 2u); }

TEST(StepLoops, AllTheSame) { EXPECT_EQ(steps(kStart + loop("1", "0", "%n") + "\n  ret void"), 2u); }

TEST(StepLoops, NotWhereNeighboursAreFarApart) {
  EXPECT_EQ(steps(kStart + loop("1", "1000", "%n") + "\n  ret void"), 0u);
}

TEST(StepLoops, NotIfEachGoesRoundAsOftenAsItLikes) {
  EXPECT_EQ(steps(kStart + loop("1000", "1", "%x") + "\n  ret void"), 0u);
}

TEST(StepLoops, NotWhatIsUnrolled) {
  EXPECT_EQ(steps(kStart + loop("1000", "1", "4") + "\n  ret void"), 0u);
  EXPECT_EQ(steps(kStart + loop("1000", "1", "400") + "\n  ret void"), 2u);
}

TEST(StepLoops, BehindAnEarlyReturn) {
  EXPECT_EQ(steps("  %in = icmp ult i32 %x, %n\n  br i1 %in, label %before, label %out\nout:\n  ret void\nbefore:" +
                  loop("1000", "1", "%n") + "\n  ret void"),
            2u);
}

TEST(StepLoops, NotWhereOnlySomeAreAndAllMeetAgain) {
  EXPECT_EQ(
      steps("  %in = icmp ult i32 %x, %n\n  br i1 %in, label %before, label %out\nbefore:" + loop("1000", "1", "%n") +
            "\n  br label %out\nout:\n  call void @mneme.barrier()\n  store i32 1, ptr %p\n  ret void"),
      0u);
}

TEST(StepLoops, NotWithPlacesOfWaves) {
  EXPECT_EQ(
      steps("  %all = call i64 @mneme.wave.ballot(i1 true)\n" + kStart + loop("1000", "1", "%n") + "\n  ret void"), 0u);
}

}  // namespace
}  // namespace mneme::codegen::host
