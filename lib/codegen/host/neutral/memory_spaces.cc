// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/memory_spaces.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/host/neutral/context.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr uint64_t kSharedSizeInDispatch = 28;  // offset in the dispatch packet
constexpr uint64_t kNearStack = 1 << 20;        // a work-item's variables are no farther from its stack pointer

Value* of_context(Builder& builder, Context::Member member) {
  return Context(*builder.GetInsertBlock()->getModule()).load(builder, call_context(builder), member);
}

Value* distance(Builder& builder, Value* pointer, Value* from) {
  llvm::Type* word = builder.getInt64Ty();
  return builder.CreateSub(builder.CreatePtrToInt(pointer, word), builder.CreatePtrToInt(from, word));
}

}  // namespace

Value* shared_beginning(Builder& builder) { return of_context(builder, Context::kShared); }

Value* shared_dynamic_size(Builder& builder) { return of_context(builder, Context::kSharedDynamic); }

Value* shared_size(Builder& builder) {
  Value* address =
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), call_dispatch(builder), kSharedSizeInDispatch);
  return builder.CreateLoad(builder.getInt32Ty(), address);
}

Value* is_shared(Builder& builder, Value* pointer) {
  Value* size = builder.CreateZExt(shared_size(builder), builder.getInt64Ty());
  return builder.CreateICmpULT(distance(builder, pointer, shared_beginning(builder)), size);
}

// A work-item's variables lie on the stack that it runs on, or where it keeps them across barriers. Shared memory may
// lie close to a stack.
Value* is_private(Builder& builder, Value* pointer) {
  Value* stack = builder.CreateIntrinsic(llvm::Intrinsic::frameaddress, {builder.getPtrTy()}, {builder.getInt32(0)});
  Value* beside = builder.CreateAdd(distance(builder, pointer, stack), builder.getInt64(kNearStack));
  Value* on_stack = builder.CreateICmpULT(beside, builder.getInt64(2 * kNearStack));
  Value* kept = builder.CreateICmpULT(distance(builder, pointer, of_context(builder, Context::kFrames)),
                                      of_context(builder, Context::kFramesSize));
  return builder.CreateAnd(builder.CreateOr(on_stack, kept), builder.CreateNot(is_shared(builder, pointer)));
}

}  // namespace mneme::codegen::host
