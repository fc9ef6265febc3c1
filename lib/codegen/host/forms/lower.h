// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the neutral form, flattened and inlined, to code that runs a block of work-items (abi.h).
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "bundle/format.h"
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
    kLaunch
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

// On the kernel: some of its arguments are constants (codegen/adjust.h).
inline constexpr char kFixedArguments[] = "mneme-fixed-arguments";

// The steps, in order. Each leaves valid IR.

// Whether the code prints or uses the heap: then the order of blocks shows in what is printed, and in addresses.
bool uses_ordered_services(const llvm::Module& module);

// Calls of services become calls through the context's table of them.
void lower_services(llvm::Module& module);
// Such a call, where context and thread are at hand.
llvm::CallInst* call_through_table(llvm::IRBuilderBase& builder, std::string_view service, llvm::Type* result,
                                   llvm::Value* context, llvm::Value* thread, llvm::ArrayRef<llvm::Value*> more);

// Turns `void kernel(arguments…)` into `void mneme.item(ptr context, i32 x, i32 y, i32 z)`, the work-item
// at (x, y, z) of the context's block; neutral queries are answered, barriers are left. Returns it.
// Throws Error when the IR's arguments are not the recorded ones, or for a barrier in a function that
// could not be inlined.
llvm::Function& make_item(llvm::Module& module, const bundle::KernelInfo& kernel);
// Tells functions that were not inlined which work-item they run for, if there are any. To be said where `item` begins,
// and again wherever others may have had their turn.
void publish_item(llvm::IRBuilderBase& builder, llvm::Function& item);

// Replaces shared variables by their places in the context's shared memory; returns the static bytes.
uint64_t lower_shared_memory(llvm::Module& module, const bundle::KernelInfo& kernel);

// Replaces device variables by loads of their addresses from a table; returns the table (an array of
// GlobalSlot) and its length.
std::pair<llvm::Constant*, uint64_t> lower_device_variables(llvm::Module& module, const bundle::KernelInfo& kernel);

// Make `void mneme.run_block(ptr context)` out of the item.
struct BlockCode {
  llvm::Function* run_block;
  uint32_t keeps;  // Keeps (abi.h)
};
// `most_threads` is what a block may have.
BlockCode make_loop_form(llvm::Module& module, llvm::Function& item, const bundle::KernelInfo& kernel,
                         uint32_t most_threads);

// What else whoever runs a kernel is to know of it: members of CodeObject (abi.h).
struct Traits {
  bool ordered;
  uint32_t waits;         // Waits
  uint32_t most_threads;  // in a block
  std::array<uint32_t, 3> block_strides;
  uint32_t wave_dimensions, wave_size;
  uint64_t shared_static;
};

// The CodeObject that the shared object exports.
void make_code_object(llvm::Module& module, const BlockCode& code, const bundle::KernelInfo& kernel,
                      const Traits& traits, std::pair<llvm::Constant*, uint64_t> globals);

// The BlockContext in a function: work-item code gets it as its first parameter; a function that was
// not inlined finds it in a thread-local variable. Loaded at the function's entry.
llvm::Value* context_in(llvm::Function& function, llvm::IRBuilderBase& builder);

// Those thread-local variables: the context (a pointer) and the work-item's index in the block ([3 x i32]).
llvm::GlobalVariable& thread_context(llvm::Module& module);
llvm::GlobalVariable& thread_item(llvm::Module& module);

}  // namespace mneme::codegen::host
