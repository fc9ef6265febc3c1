// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses of functions, and calls through them, in flat IR.
#include "codegen/host/neutral/indirect_calls.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <map>
#include <memory>

#include "codegen/host/neutral/function_addresses.h"

namespace mneme::codegen::host {
namespace {

struct Lowered {
  explicit Lowered(const std::string& ir, bundle::KernelInfo kernel = {}) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString(ir, error, context);
    if (!module) throw std::runtime_error(error.getMessage().str());
    kernel.name = "k";
    lower_indirect_calls(*module, kernel);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  }

  // The numbers that lead somewhere, of the one choice there is.
  std::map<uint64_t, std::string> choices() const {
    std::map<uint64_t, std::string> found;
    for (llvm::Function& function : *module) {
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction);
        if (!choice) continue;
        for (auto one : choice->cases()) {
          auto* call = llvm::cast<llvm::CallInst>(&one.getCaseSuccessor()->front());
          found[one.getCaseValue()->getZExtValue()] = call->getCalledFunction()->getName().str();
        }
      }
    }
    return found;
  }

  int calls_through_pointers() const {
    int count = 0;
    for (llvm::Function& function : *module) {
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        count += call && !call->getCalledFunction();
      }
    }
    return count;
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

TEST(FunctionAddress, DependsOnTheNameOnlyAndIsNoMemory) {
  EXPECT_EQ(objects::function_address("_Z3addff"), objects::function_address(std::string("_Z3") + "addff"));
  EXPECT_NE(objects::function_address("_Z3addff"), objects::function_address("_Z3subff"));
  for (const char* name : {"", "f", "_Z3addff"}) {
    EXPECT_GE(objects::function_address(name), objects::kFunctionsBegin);
    EXPECT_LT(objects::function_address(name), objects::kFunctionsEnd);
    EXPECT_EQ(objects::function_address(name) % 16, 0u);
  }
}

TEST(IndirectCalls, ChooseAmongFunctionsOfTheTypeWhoseAddressIsTaken) {
  Lowered lowered(R"(
@table = constant [2 x ptr] [ptr @a, ptr @other_type]
define internal i32 @a(i32 %x) { ret i32 %x }
define internal i32 @b(i32 %x) { ret i32 1 }
define internal i32 @only_called(i32 %x) { ret i32 2 }
define i32 @kept(i32 %x) { ret i32 3 }
define internal float @other_type(float %x) { ret float %x }
define void @k(ptr %out, ptr %f) {
  %s = call i32 @only_called(i32 0)
  store ptr @b, ptr %out
  %r = call i32 %f(i32 %s)
  store i32 %r, ptr %out
  ret void
})");
  EXPECT_EQ(lowered.choices(), (std::map<uint64_t, std::string>{{objects::function_address("a"), "a"},
                                                                {objects::function_address("b"), "b"},
                                                                {objects::function_address("kept"), "kept"}}));
  EXPECT_EQ(lowered.calls_through_pointers(), 0);
  for (llvm::Function& function : *lowered.module) {
    EXPECT_FALSE(function.hasAddressTaken()) << function.getName().str();
  }
}

TEST(IndirectCalls, AddressesAreNumbersInCodeAndInVariables) {
  Lowered lowered(R"(
@pointer = global ptr @f
define internal void @f() { ret void }
define i1 @k(ptr %p) {
  %same = icmp eq ptr %p, @f
  ret i1 %same
})");
  auto number = [](llvm::Value* value) {
    return llvm::cast<llvm::ConstantInt>(llvm::cast<llvm::ConstantExpr>(value)->getOperand(0))->getZExtValue();
  };
  EXPECT_EQ(number(lowered.module->getNamedGlobal("pointer")->getInitializer()), objects::function_address("f"));
  EXPECT_EQ(number(lowered.module->getFunction("k")->front().front().getOperand(1)), objects::function_address("f"));
}

TEST(IndirectCalls, FunctionsAreWhereTheyWereOnTheGpuOfTheRecording) {
  bundle::KernelInfo kernel;
  kernel.functions = {"a", "b", "c", "unknown"};
  kernel.function_addresses = {8, 24, 24, 0};
  Lowered lowered(R"(
@table = constant [3 x ptr] [ptr @a, ptr @b, ptr @c]
define internal i32 @a(i32 %x) { ret i32 %x }
define internal i32 @b(i32 %x) { ret i32 1 }
define internal i32 @c(i32 %x) { ret i32 1 }
define i32 @unknown(i32 %x) { ret i32 3 }
define void @k(ptr %out, ptr %f) {
  %r = call i32 %f(i32 0)
  store i32 %r, ptr %out
  ret void
})",
                  kernel);
  EXPECT_EQ(lowered.choices(),
            (std::map<uint64_t, std::string>{{8, "a"}, {24, "b"}, {objects::function_address("unknown"), "unknown"}}));
}

TEST(IndirectCalls, ADeclarationOfAnotherTypePassesItsBitsOn) {
  Lowered lowered(R"(
define internal ptr @allocate(i64 %size) { ret ptr null }
define i64 @k(ptr %size) {
  %p = call i64 @allocate(ptr %size)
  ret i64 %p
})");
  EXPECT_EQ(lowered.calls_through_pointers(), 0);
  EXPECT_TRUE(lowered.choices().empty());
}

TEST(IndirectCalls, APointerThatLeadsNowhereEndsTheLaunch) {
  Lowered lowered("define void @k(ptr %f) {\n call void %f()\n ret void\n}");
  EXPECT_TRUE(lowered.choices().empty());
  EXPECT_EQ(lowered.calls_through_pointers(), 0);
  llvm::Function* stop = lowered.module->getFunction("mneme.service.stop");
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->getNumUses(), 1u);
}

}  // namespace
}  // namespace mneme::codegen::host
