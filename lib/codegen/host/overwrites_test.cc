// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/overwrites.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

namespace mneme::codegen::host {
namespace {

constexpr char kDeclarations[] = R"(
@next = internal global i32 undef #0
@row = internal global [64 x i32] undef #0
@variable = external global i32 #1
declare void @mneme.barrier()
declare i32 @mneme.local.id.x()
declare i32 @mneme.group.id.x()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
attributes #0 = { "mneme-memory"="shared" }
attributes #1 = { "mneme-memory"="device" }
)";

// What is left of a kernel's body: a letter for each load (l), store (s), barrier (B) and meeting of the wave (M).
std::string sequence(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = kDeclarations + ("define void @k(ptr %in, i32 %n) {\n" + body + "\n}\n");
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) return error.getMessage().str();
  meet_before_overwriting(*module);
  std::string found;
  for (llvm::Instruction& instruction : llvm::instructions(*module->getFunction("k"))) {
    if (llvm::isa<llvm::LoadInst>(instruction)) found += 'l';
    if (llvm::isa<llvm::StoreInst>(instruction)) found += 's';
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call) continue;
    if (call->getCalledFunction()->getName() == "mneme.barrier") found += 'B';
    if (call->getCalledFunction()->getName() == "mneme.wave.meet") found += 'M';
  }
  return found;
}

// `if (<id> == 0) <guarded>` between two stretches of code.
std::string guarded(const std::string& before, const char* id, const std::string& inside, const std::string& after) {
  return before + "\n %id = call i32 @" + id + "()\n %c = icmp eq i32 %id, 0\n br i1 %c, label %then, label %join\n" +
         "then:\n" + inside + "\n br label %join\njoin:\n" + after + "\n ret void";
}

constexpr char kLoad[] = "%v = load i32, ptr @next";
constexpr char kStore[] = "store i32 %n, ptr @next";
constexpr char kLocal[] = "mneme.local.id.x";

TEST(Overwrites, OneThreadsStoreWaitsForTheOthersLoads) {
  EXPECT_EQ(sequence(guarded(kLoad, kLocal, kStore, "call void @mneme.barrier()")), "lMsB");
}

TEST(Overwrites, SoDoesEverybodys) { EXPECT_EQ(sequence(std::string(kLoad) + "\n" + kStore + "\nret void"), "lMs"); }

TEST(Overwrites, ABarrierBetweenIsEnough) {
  EXPECT_EQ(sequence(guarded(std::string(kLoad) + "\n call void @mneme.barrier()", kLocal, kStore, "")), "lBs");
}

TEST(Overwrites, WhatOneThreadDoesByItselfIsLeftAlone) {
  EXPECT_EQ(sequence(guarded("", kLocal, std::string(kLoad) + "\n" + kStore, "call void @mneme.barrier()")), "lsB");
}

TEST(Overwrites, ABranchThatAllTakeIsNoGuard) {
  EXPECT_EQ(sequence(guarded("", "mneme.group.id.x", std::string(kLoad) + "\n" + kStore, "call void @mneme.barrier()")),
            "lMsB");
}

TEST(Overwrites, ThreadsThatReturnedAreNotMissed) {
  EXPECT_EQ(sequence(R"(
  %id = call i32 @mneme.local.id.x()
  %c = icmp ult i32 %id, %n
  br i1 %c, label %stays, label %leaves
leaves:
  ret void
stays:
  %v = load i32, ptr @next
  store i32 %n, ptr @next
  call void @mneme.barrier()
  ret void)"),
            "lMsB");
}

TEST(Overwrites, TheWayRoundALoopCounts) {
  EXPECT_EQ(sequence(R"(
  br label %loop
loop:
  store i32 %n, ptr @next
  call void @mneme.barrier()
  %v = load i32, ptr @next
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %end
end:
  ret void)"),
            "MsBl");
}

TEST(Overwrites, BehindALoopOfDifferentLengthsAllAreTogether) {
  EXPECT_EQ(sequence(R"(
  %id = call i32 @mneme.local.id.x()
  br label %loop
loop:
  %i = phi i32 [ %id, %0 ], [ %j, %loop ]
  %j = add i32 %i, 64
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %end
end:
  %v = load i32, ptr @next
  store i32 %n, ptr @next
  call void @mneme.barrier()
  ret void)"),
            "lMsB");
}

TEST(Overwrites, PointersInLocalVariablesAreFollowed) {
  EXPECT_EQ(sequence(R"(
  %p = alloca ptr
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8, i1 false)
  store ptr @next, ptr %p
  %a = load ptr, ptr %p
  %v = load i32, ptr %a
  %b = load ptr, ptr %p
  store i32 %n, ptr %b
  ret void)"),
            "slllMs");
}

TEST(Overwrites, OtherPlacesAndOtherMemoryAreLeftAlone) {
  EXPECT_EQ(sequence("%v = load i32, ptr @row\n %p = getelementptr i32, ptr @row, i64 1\n store i32 %v, ptr %p\n"
                     "%w = load i32, ptr %p\n ret void"),
            "lsl");
  EXPECT_EQ(sequence("%v = load i32, ptr @variable\n store i32 %n, ptr @variable\n ret void"), "ls");
}

}  // namespace
}  // namespace mneme::codegen::host
