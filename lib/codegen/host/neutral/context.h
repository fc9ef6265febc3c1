// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How code on the host reaches what its caller hands it (abi.h).
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "bundle/launch.h"

namespace mneme::codegen::host {

// abi.h's BlockContext as LLVM sees it, and loads of its members. A launch does not change while its
// code runs, so the loads are invariant and may move freely.
class Context {
 public:
  explicit Context(llvm::Module& module);

  enum Member {
    kArguments,
    kImplicit,
    kDispatch,
    kShared,
    kFrames,
    kFramesSize,
    kGroup,
    kBlock,
    kGrid,
    kSharedDynamic,
    kFault,
    kFaultThread,
    kServices,
    kLaunch,
    kWritten
  };

  llvm::StructType* type() const { return type_; }
  // What is fixed (fixed_launch.h) is no load, but a constant. Pointers come with `readable` bytes known to be there.
  llvm::Value* load(llvm::IRBuilderBase& builder, llvm::Value* context, Member member, unsigned index = 0,
                    uint64_t readable = 0) const;
  llvm::Value* address(llvm::IRBuilderBase& builder, llvm::Value* context, Member member, unsigned index = 0) const;
  // Marks a parameter that points to a BlockContext.
  void mark(llvm::Argument& argument) const;

 private:
  llvm::StructType* type_;
  std::optional<bundle::LaunchSize> launch_;  // if there is but one
};

inline constexpr char kItemFunction[] = "mneme.item";
inline constexpr char kBlockFunction[] = "mneme.run_block";

// The BlockContext in a function: work-item code gets it as its first parameter; a function that was
// not inlined finds it in a thread-local variable. Loaded at the function's entry.
llvm::Value* context_in(llvm::Function& function, llvm::IRBuilderBase& builder);

// Those thread-local variables: the context (a pointer) and the work-item's index in the block ([3 x i32]).
llvm::GlobalVariable& thread_context(llvm::Module& module);
llvm::GlobalVariable& thread_item(llvm::Module& module);

// Whether the code prints or uses the heap: then the order of blocks shows in what is printed, and in addresses.
bool uses_ordered_services(const llvm::Module& module);

// Calls of services become calls through the context's table of them.
void lower_services(llvm::Module& module);
// Such a call, where context and thread are at hand.
llvm::CallInst* call_through_table(llvm::IRBuilderBase& builder, std::string_view service, llvm::Type* result,
                                   llvm::Value* context, llvm::Value* thread, llvm::ArrayRef<llvm::Value*> more);

}  // namespace mneme::codegen::host
