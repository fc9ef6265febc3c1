// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/share_code.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// The blocks that joints were put into. `long` in the body stands for much code.
std::string joints(std::string body) {
  std::string much;
  for (int i = 0; i < 300; ++i) much += "  store i32 1, ptr %p\n";
  for (size_t at; (at = body.find("long\n")) != std::string::npos;) body.replace(at, 5, much);
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = "declare void @mneme.barrier()\ndefine void @k(ptr %p, i1 %c) {\n" + body + "\n}\n";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return error.getMessage().str();
  llvm::Function& function = *module->getFunction("k");
  share_code(function);
  std::string found;
  for (auto& [call, operation] : operations_in(function)) {
    if (is_joint(operation)) found += call->getParent()->getName().str() + " ";
  }
  return found;
}

constexpr char kLoop[] = R"(
  br label %head
head:
  BODY
  br i1 %c, label %latch, label %done
latch:
  call void @mneme.barrier()
  br label %head
done:
  ret void)";

std::string loop_of(const std::string& what) {
  std::string body = kLoop;
  return body.replace(body.find("  BODY\n"), 7, what);
}

TEST(ShareCode, TheHeadOfALargeLoopWithABarrier) { EXPECT_EQ(joints(loop_of("long\n")), "head "); }

TEST(ShareCode, NotOfASmallOne) { EXPECT_EQ(joints(loop_of("  store i32 1, ptr %p\n")), ""); }

// Else it would go by the level of optimisation who comes to the memory first.
TEST(ShareCode, NotWhereOrderMakesADifferenceUnlessItIsVeryMuch) {
  const std::string ordered = "  %old = atomicrmw add ptr %p, i32 1 seq_cst\n  store i32 %old, ptr %p\n";
  EXPECT_EQ(joints(loop_of(ordered + "long\n")), "");
  EXPECT_EQ(joints(loop_of("  store volatile i32 1, ptr %p\nlong\n")), "");
  EXPECT_EQ(joints(loop_of(ordered + "long\nlong\nlong\nlong\n")), "head ");
}

TEST(ShareCode, NotWhereOnlyOneRegionIs) {
  EXPECT_EQ(joints(R"(
  br i1 %c, label %left, label %right
left:
  br label %join
right:
  br label %join
join:
  long
  call void @mneme.barrier()
  ret void)"),
            "");
}

TEST(ShareCode, BehindBarriersOnBothWays) {
  EXPECT_EQ(joints(R"(
  br i1 %c, label %left, label %right
left:
  call void @mneme.barrier()
  br label %join
right:
  call void @mneme.barrier()
  br label %join
join:
  long
  ret void)"),
            "join ");
}

}  // namespace
}  // namespace mneme::codegen::host
