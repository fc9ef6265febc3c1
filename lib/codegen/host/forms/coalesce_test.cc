// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/coalesce.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>

namespace mneme::codegen::host {
namespace {

// The groups of the named values of `void @k(i32 %n, i1 %c)`, each sorted: "a b; c".
std::string groups(const std::string& body, const std::string& apart = "") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = "declare void @use(i32)\ndefine void @k(i32 %n, i1 %c) {\n" + body + "\n}\n";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return error.getMessage().str();
  std::vector<llvm::Instruction*> values;
  for (llvm::Instruction& instruction : llvm::instructions(*module->getFunction("k"))) {
    if (instruction.hasName()) values.push_back(&instruction);
  }
  auto may = [&](llvm::Instruction& a, llvm::Instruction& b) { return a.getName() != apart && b.getName() != apart; };
  std::vector<std::string> found;
  for (const auto& group : coalesce(values, may)) {
    std::vector<std::string> names;
    for (llvm::Instruction* value : group) names.push_back(value->getName().str());
    std::sort(names.begin(), names.end());
    std::string joined;
    for (const std::string& name : names) joined += (joined.empty() ? "" : " ") + name;
    found.push_back(joined);
  }
  std::sort(found.begin(), found.end());
  std::string all;
  for (const std::string& group : found) all += (all.empty() ? "" : "; ") + group;
  return all;
}

constexpr char kSum[] = R"(
  br label %loop
loop:
  %sum = phi i32 [ 0, %0 ], [ %more, %loop ]
  %more = add i32 %sum, %n
  br i1 %c, label %loop, label %done
done:
  call void @use(i32 %more)
  ret void)";

TEST(Coalesce, WhatALoopCarriesOnIsOneVariable) { EXPECT_EQ(groups(kSum), "more sum"); }

TEST(Coalesce, ValuesThatMayNotShareDoNot) { EXPECT_EQ(groups(kSum, "more"), "more; sum"); }

TEST(Coalesce, TheOldValueIsStillWanted) {
  EXPECT_EQ(groups(R"(
  br label %loop
loop:
  %old = phi i32 [ 0, %0 ], [ %new, %loop ]
  %new = add i32 %old, %n
  call void @use(i32 %old)
  br i1 %c, label %loop, label %done
done:
  ret void)"),
            "new; old");
}

TEST(Coalesce, TheOldValueIsWantedBehindTheLoop) {
  EXPECT_EQ(groups(R"(
  br label %loop
loop:
  %old = phi i32 [ 0, %0 ], [ %new, %loop ]
  %new = add i32 %old, %n
  br i1 %c, label %loop, label %done
done:
  call void @use(i32 %old)
  ret void)"),
            "new; old");
}

TEST(Coalesce, PhisThatChangePlacesKeepTheirs) {
  EXPECT_EQ(groups(R"(
  br label %loop
loop:
  %a = phi i32 [ 0, %0 ], [ %b, %loop ]
  %b = phi i32 [ 1, %0 ], [ %a, %loop ]
  br i1 %c, label %loop, label %done
done:
  ret void)"),
            "a; b");
}

TEST(Coalesce, BothWaysOfABranchAndWhatFollows) {
  EXPECT_EQ(groups(R"(
  %first = add i32 %n, 1
  br i1 %c, label %left, label %right
left:
  %one = mul i32 %first, 3
  br label %join
right:
  br label %join
join:
  %result = phi i32 [ %one, %left ], [ %first, %right ]
  call void @use(i32 %result)
  ret void)"),
            "first one result");
}

}  // namespace
}  // namespace mneme::codegen::host
