// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What instructions of AMD's on memory share: the sizes that their names end in, and updates.
#pragma once
#include "codegen/host/dialect/amdgpu/gcn/gcn.h"

namespace mneme::codegen::host {

// "dword", "b64", "ubyte": how much is moved; what is less than a register is extended.
struct GcnSize {
  unsigned bits;
  bool is_signed;
};
std::optional<GcnSize> gcn_size(llvm::StringRef name);

// Of any alignment that the GPU allows.
llvm::Value* gcn_load(GcnInstruction& instruction, llvm::Value* address, GcnSize size);
void gcn_store(GcnInstruction& instruction, llvm::Value* address, GcnSize size, llvm::Value* value);
// Whether such loads may go to shared memory, where each lane's follows that of the lane before it.
bool gcn_goes_to_shared(GcnSize size);
llvm::Value* gcn_behind(llvm::IRBuilderBase& builder, llvm::Value* address, int64_t bytes);

// An atomic update by name ("add_u32", "smin_x2", "pk_add_f16"): LLVM's operation and the operand's type. Nothing: not
// known. An exchange where a value is found ("cmpswap", "cmpst") is `exchanges`.
struct GcnUpdate {
  llvm::AtomicRMWInst::BinOp operation = llvm::AtomicRMWInst::BAD_BINOP;
  bool exchanges = false;
  GcnType type;
};
std::optional<GcnUpdate> gcn_update(llvm::StringRef name);
llvm::Value* gcn_exchange(llvm::IRBuilderBase& builder, llvm::Value* address, llvm::Value* found, llvm::Value* wanted);
llvm::Value* gcn_update_memory(llvm::IRBuilderBase& builder, const GcnUpdate& update, llvm::Value* address,
                               llvm::Value* value);

// Whether modifiers other than these, which say nothing but where data may stay, are there.
bool has_more_than_hints(const GcnStatement& statement, std::initializer_list<llvm::StringRef> known);
// Whether an update gives the old value.
bool gives_old_value(const GcnStatement& statement);

}  // namespace mneme::codegen::host
