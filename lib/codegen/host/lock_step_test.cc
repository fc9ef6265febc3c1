// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/lock_step.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include "codegen/host/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr char kDeclarations[] = R"(
@tile = internal global [64 x i32] undef #0
@flag = external global i32 #1
declare void @mneme.barrier()
declare i64 @mneme.wave.ballot(i1)
declare void @other(ptr)
attributes #0 = { "mneme-memory"="shared" }
attributes #1 = { "mneme-memory"="device" }
)";

// What is left of a kernel's body: a letter for each load (l), store (s), meeting of the wave (M), barrier (B), ballot
// (V), fence (F) and other call (c).
std::string sequence(const std::string& body, const std::string& declarations = kDeclarations) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = declarations + "define void @k(ptr %in, ptr %t, i1 %c) {\n" + body + "\n}\n";
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return error.getMessage().str();
  meet_in_lock_step(*module, "k");
  std::string found;
  for (llvm::Instruction& instruction : llvm::instructions(*module->getFunction("k"))) {
    if (llvm::isa<llvm::LoadInst>(instruction)) found += 'l';
    if (llvm::isa<llvm::StoreInst>(instruction)) found += 's';
    if (llvm::isa<llvm::FenceInst>(instruction)) found += 'F';
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call) continue;
    auto operation = operation_of(*call->getCalledFunction());
    if (!operation) {
      found += 'c';
    } else if (operation->kind == OperationKind::kWaveMeet) {
      found += 'M';
    } else {
      found += is_block_place(*operation) ? 'B' : 'V';
    }
  }
  return found;
}

constexpr char kStep[] = R"(
  %a = load volatile i32, ptr @tile
  %p = getelementptr i32, ptr @tile, i64 8
  %b = load volatile i32, ptr %p
  store volatile i32 %b, ptr @tile
)";

std::string renamed(std::string text, const char* more) {
  for (const char* name : {"%a", "%b", "%p"}) {
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += 2) text.insert(at + 2, more);
  }
  return text;
}

TEST(LockStep, VolatileSharedMemoryIsReadByAllBeforeAnyWrites) {
  EXPECT_EQ(sequence(std::string(kStep) + renamed(kStep, "2") + "ret void"), "llMsMllMs");
}

TEST(LockStep, BarriersAreMeetings) {
  EXPECT_EQ(sequence(std::string("store volatile i32 1, ptr @tile\n call void @mneme.barrier()") + kStep + "ret void"),
            "sBllMs");
  EXPECT_EQ(sequence(std::string("store volatile i32 1, ptr @tile\n %v = call i64 @mneme.wave.ballot(i1 true)") +
                     kStep + "ret void"),
            "sVllMs");
}

TEST(LockStep, PlainAndForeignMemoryIsLeftAlone) {
  EXPECT_EQ(sequence("store i32 1, ptr @tile\n %v = load i32, ptr @tile\n ret void"), "sl");
  EXPECT_EQ(sequence("store volatile i32 1, ptr %in\n %v = load volatile i32, ptr @flag\n ret void"), "sl");
  EXPECT_EQ(sequence("%x = alloca i32\n store volatile i32 1, ptr %x\n %v = load volatile i32, ptr %x\n ret void"),
            "sl");
}

TEST(LockStep, PointersThatMayLeadThere) {
  // Chosen between two, and one kept in a local variable, as code that nobody optimised has it.
  EXPECT_EQ(sequence("%p = select i1 %c, ptr @tile, ptr %in\n store volatile i32 1, ptr %p\n"
                     "%v = load volatile i32, ptr %p\n ret void"),
            "sMl");
  EXPECT_EQ(sequence("%x = alloca ptr\n store ptr @tile, ptr %x\n %p = load ptr, ptr %x\n"
                     "store volatile i32 1, ptr %p\n %v = load volatile i32, ptr %p\n ret void"),
            "slsMl");
}

TEST(LockStep, WritesAreFollowedAcrossBranches) {
  EXPECT_EQ(sequence("br i1 %c, label %w, label %r\n"
                     "w:\n store volatile i32 1, ptr @tile\n br label %r\n"
                     "r:\n %v = load volatile i32, ptr @tile\n ret void"),
            "sMl");
  // Round a loop: the store comes after the load of the iteration before.
  EXPECT_EQ(sequence("br label %loop\n"
                     "loop:\n %v = load volatile i32, ptr @tile\n store volatile i32 %v, ptr @tile\n"
                     "br i1 %c, label %loop, label %end\n end:\n ret void"),
            "MlMs");
  EXPECT_EQ(sequence("call void @other(ptr @tile)\n %v = load volatile i32, ptr @tile\n ret void"), "cMl");
}

TEST(LockStep, FencesAreMeetingsUnlessOneIsBeside) {
  EXPECT_EQ(sequence("store i32 1, ptr @tile\n fence syncscope(\"wavefront\") acq_rel\n"
                     "%v = load i32, ptr @tile\n ret void"),
            "sMl");
  EXPECT_EQ(sequence("store i32 1, ptr @tile\n fence seq_cst\n %v = load i32, ptr @tile\n ret void"), "sMFl");
  EXPECT_EQ(sequence("store i32 1, ptr @tile\n fence syncscope(\"workgroup\") release\n call void @mneme.barrier()\n"
                     "fence syncscope(\"workgroup\") acquire\n %v = load i32, ptr @tile\n ret void"),
            "sBl");
  EXPECT_EQ(sequence("fence syncscope(\"workgroup\") release\n fence syncscope(\"workgroup\") acquire\n ret void"),
            "M");
  EXPECT_EQ(sequence("fence syncscope(\"workgroup\") release\n br label %next\n next:\n call void @mneme.barrier()\n"
                     "br label %last\n last:\n fence syncscope(\"workgroup\") acquire\n ret void"),
            "B");
}

TEST(LockStep, FencesWithNothingSharedAreNoMeetings) {
  EXPECT_EQ(sequence("store i32 1, ptr %in\n fence seq_cst\n fence syncscope(\"workgroup\") acq_rel\n"
                     "store i32 2, ptr %in\n ret void",
                     ""),
            "sFs");
}

}  // namespace
}  // namespace mneme::codegen::host
