// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/checks/written_memory.h"

#include "codegen/host/abi.h"
#include "codegen/host/neutral/context.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// Members of WrittenMemory, which are 8 bytes each.
constexpr unsigned kSharedRange = 0, kDeviceRange = 3, kAllWritten = 6, kAnything = 7;
static_assert(sizeof(WrittenRange) == 3 * 8 && sizeof(WrittenMemory) == 8 * 8);

}  // namespace

bool WrittenMemoryAccess::takes(uint64_t size) { return size > 0 && size <= kMostWritten; }

llvm::Value* WrittenMemoryAccess::member(unsigned index, llvm::Type* type) {
  Context context(*builder_.GetInsertBlock()->getModule());
  llvm::Value* memory = context.load(builder_, call_context(builder_), Context::kWritten);
  llvm::LoadInst* load =
      builder_.CreateLoad(type, builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), memory, index));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder_.getContext(), {}));
  return load;
}

// The shadow of the address, if that is in the range whose members begin with `first`.
llvm::Value* WrittenMemoryAccess::within(llvm::Value* pointer, unsigned first, llvm::Value* otherwise) {
  llvm::Type* word = builder_.getInt64Ty();
  llvm::Value* offset = builder_.CreateSub(builder_.CreatePtrToInt(pointer, word), member(first, word));
  llvm::Value* is_in = builder_.CreateICmpULT(offset, member(first + 1, word));
  llvm::Value* shadow = builder_.CreateGEP(builder_.getInt8Ty(), member(first + 2, builder_.getPtrTy()), offset);
  return builder_.CreateSelect(is_in, shadow, otherwise);
}

llvm::Value* WrittenMemoryAccess::place(llvm::Value* pointer, Space space, unsigned otherwise) {
  llvm::Value* place = member(otherwise, builder_.getPtrTy());
  if (space != Space::kShared) place = within(pointer, kDeviceRange, place);
  if (space != Space::kGlobal) place = within(pointer, kSharedRange, place);
  return place;
}

llvm::Value* WrittenMemoryAccess::load(llvm::Value* pointer, Space space, uint64_t size, bool in_order) {
  llvm::Type* type = builder_.getIntNTy(static_cast<unsigned>(8 * size));
  return builder_.CreateAlignedLoad(type, place(pointer, space, kAllWritten), llvm::Align(1), in_order);
}

void WrittenMemoryAccess::store(llvm::Value* pointer, Space space, uint64_t size, llvm::Value* shadow, bool in_order) {
  builder_.CreateAlignedStore(shadow, place(pointer, space, kAnything), llvm::Align(1), in_order);
  (void)size;
}

}  // namespace mneme::codegen::host
