// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/vectorize/keep_order.h"

#include <gtest/gtest.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>

namespace mneme::codegen::host {
namespace {

// How many addresses are hidden from the vectoriser in a loop with this body. %px and %py are two fields of a structure
// in %p, %qx and %qy of one in %q. The loop is marked as parallel, unless `mark` says otherwise.
size_t hidden(const std::string& body, const std::string& mark = "!llvm.loop !0") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = R"(
define void @block(ptr %p, ptr %q, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr inbounds { i32, i32 }, ptr %p, i64 %i
  %py = getelementptr inbounds { i32, i32 }, ptr %p, i64 %i, i32 1
  %qx = getelementptr inbounds { i32, i32 }, ptr %q, i64 %i
  %qy = getelementptr inbounds { i32, i32 }, ptr %q, i64 %i, i32 1
)" + body + R"(
  %next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %next, %count
  br i1 %again, label %loop, label %done, )" +
                     mark + R"(
done:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.parallel_accesses", !2}
!2 = distinct !{}
!3 = distinct !{!3}
)";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  llvm::PassBuilder builder;
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([&] { return builder.buildDefaultAAPipeline(); });
  llvm::LoopAnalysisManager loops;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(analyses);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, analyses, components, modules);
  llvm::Function& function = *module->getFunction("block");
  KeepOrder().run(function, analyses);
  return llvm::count_if(llvm::instructions(function),
                        [](const llvm::Instruction& i) { return llvm::isa<llvm::FreezeInst>(i); });
}

const std::string kLoadX = "%x = load i32, ptr %px, !llvm.access.group !2\n";
const std::string kLoadY = "%y = load i32, ptr %py, !llvm.access.group !2\n";
const std::string kReload = "%z = load i32, ptr %px, !llvm.access.group !2\n";

std::string store(const std::string& value, const std::string& to) {
  return "store i32 " + value + ", ptr %" + to + ", !llvm.access.group !2\n";
}

TEST(KeepOrder, LoadStaysBehindStoreToWhatMayBeTheSame) {
  EXPECT_EQ(hidden(kLoadX + kLoadY + store("%y", "qx") + kReload + store("%z", "qy")), 2u);  // the reload, the store
  EXPECT_EQ(hidden(kLoadY + store("%y", "qx") + kReload), 1u);
}

TEST(KeepOrder, StoreStaysBeforeLoadOfWhatMayBeTheSame) {
  EXPECT_EQ(hidden(store("1", "qx") + kLoadX + store("%x", "qy")), 1u);
  EXPECT_EQ(hidden(store("1", "qx") + store("2", "px") + store("3", "qy")), 1u);
}

TEST(KeepOrder, NothingIsHiddenWhereNothingIsPassed) {
  EXPECT_EQ(hidden(kLoadX + kLoadY + store("%y", "qx") + store("%x", "qy")), 0u);
  EXPECT_EQ(hidden(kLoadX + store("%x", "qx") + store("2", "qy")), 0u);
}

TEST(KeepOrder, OtherFieldsOfTheSameStructureAreNotTheSame) {
  EXPECT_EQ(hidden(kLoadX + store("%x", "px") + kLoadY + store("%y", "py")), 0u);
}

TEST(KeepOrder, LoopsThatAreNotMarkedAreLeftToTheVectoriser) {
  EXPECT_EQ(hidden(kLoadY + store("%y", "qx") + kReload, "!llvm.loop !3"), 0u);
}

TEST(KeepOrder, PipelinesWrittenOutGetThePass) {
  EXPECT_EQ(with_order_kept("default<O3>"), "default<O3>");
  EXPECT_EQ(with_order_kept("function(sroa,loop(licm),loop-vectorize<no-interleave-forced-only>),no-loop-vectorize"),
            "function(sroa,loop(licm),mneme-keep-order,loop-vectorize<no-interleave-forced-only>),no-loop-vectorize");
  EXPECT_EQ(with_order_kept("loop-distribute"), "mneme-keep-order,loop-distribute");
  EXPECT_EQ(with_order_kept(""), "");
}

}  // namespace
}  // namespace mneme::codegen::host
