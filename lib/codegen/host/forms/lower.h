// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the neutral form, flattened and inlined, to code that runs a block of work-items (abi.h).
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <cstdint>
#include <utility>

#include "bundle/format.h"
#include "codegen/host/neutral/context.h"

namespace mneme::codegen::host {

// On the kernel: some of its arguments are constants (codegen/adjust.h).
inline constexpr char kFixedArguments[] = "mneme-fixed-arguments";

// The kernel becomes the work-item at (x, y, z) of the context's block. Neutral queries are answered; collectives stay.
//
//   void @kernel(ptr %out, i32 %n)   ──▶   void @mneme.item(ptr %context, i32 %x, i32 %y, i32 %z)
//   call i32 @mneme.local.id.x()     ──▶   %x
//   %n                               ──▶   load i32 from the context's argument bytes
//
// Relies on lower_services: what is left of the neutral form are queries and collectives. Returns the function. Throws
// Error when the IR's arguments are not the recorded ones.
//
// The memory of waves that the kernel asks for (neutral.h) stands where the frames begin: reserved_for_waves() bytes of
// a block with as many waves as one may have. What else is in the frames stands behind.
llvm::Function& make_item(llvm::Module& module, const bundle::KernelInfo& kernel);
uint64_t reserved_for_waves(const llvm::Function& item);
// Tells functions that were not inlined which work-item they run for, if there are any. To be said where `item` begins,
// and again wherever others may have had their turn.
void publish_item(llvm::IRBuilderBase& builder, llvm::Function& item);

// Shared variables become their offsets in the context's shared memory:
//
//   @tile   ──▶   getelementptr i8, ptr %shared, i64 256
//
// Returns the static bytes.
uint64_t lower_shared_memory(llvm::Module& module, const bundle::KernelInfo& kernel);

// Device variables become loads of their addresses from a table, which the caller fills in:
//
//   @counter   ──▶   load ptr, ptr @mneme.globals[0].address
//
// Returns the table (an array of GlobalSlot) and its length.
std::pair<llvm::Constant*, uint64_t> lower_device_variables(llvm::Module& module, const bundle::KernelInfo& kernel);

// `void mneme.run_block(ptr context)` out of the item: loops over work-items (loop_form.cc), or fibers (fiber_form.h).
struct BlockCode {
  llvm::Function* run_block;
  uint32_t keeps;  // Keeps (abi.h)
};
// `most_threads` is what a block may have.
BlockCode make_loop_form(llvm::Module& module, llvm::Function& item, const bundle::KernelInfo& kernel,
                         uint32_t most_threads);

// Properties of a kernel that its caller needs: members of CodeObject (abi.h).
struct Traits {
  bool ordered;
  uint32_t waits;         // Waits
  uint32_t most_threads;  // in a block
  std::array<uint32_t, 3> block_strides;
  uint32_t wave_dimensions, wave_size;
  uint64_t shared_static;
  uint32_t checks;  // TrackedChecks
};

// The CodeObject that the shared object exports.
void make_code_object(llvm::Module& module, const BlockCode& code, const bundle::KernelInfo& kernel,
                      const Traits& traits, std::pair<llvm::Constant*, uint64_t> globals);

}  // namespace mneme::codegen::host
