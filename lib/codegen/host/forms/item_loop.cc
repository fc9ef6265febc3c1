// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/item_loop.h"

#include "codegen/host/forms/lower.h"

namespace mneme::codegen::host {

llvm::Function& declare_block_function(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {llvm::PointerType::get(context, 0)}, false);
  llvm::Function& function = *llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, kBlockFunction, module);
  function.setDoesNotThrow();
  Context(module).mark(*function.getArg(0));
  llvm::BasicBlock::Create(context, "entry", &function);
  return function;
}

void make_loop(llvm::IRBuilder<>& builder, llvm::Value* count, llvm::MDNode* metadata,
               llvm::function_ref<void(llvm::Value*)> body) {
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* start = llvm::BasicBlock::Create(builder.getContext(), "loop", function);
  builder.CreateBr(start);
  builder.SetInsertPoint(start);
  llvm::PHINode* index = builder.CreatePHI(count->getType(), 2);
  index->addIncoming(llvm::ConstantInt::get(count->getType(), 0), before);
  body(index);
  llvm::Value* next = builder.CreateAdd(index, llvm::ConstantInt::get(count->getType(), 1), "", true, true);
  llvm::BasicBlock* end = llvm::BasicBlock::Create(builder.getContext(), "end", function);
  llvm::BranchInst* back = builder.CreateCondBr(builder.CreateICmpULT(next, count), start, end);
  if (metadata) back->setMetadata(llvm::LLVMContext::MD_loop, metadata);
  index->addIncoming(next, builder.GetInsertBlock());
  builder.SetInsertPoint(end);
}

void for_each_item(llvm::IRBuilder<>& builder, llvm::Value* context, llvm::MDNode* metadata,
                   llvm::function_ref<void(llvm::Value*, llvm::Value*, llvm::Value*, llvm::Value*)> body) {
  Context type(*builder.GetInsertBlock()->getModule());
  llvm::Value* size[3];
  llvm::Value* wide[3];
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    size[dimension] = type.load(builder, context, Context::kBlock, dimension);
    wide[dimension] = builder.CreateZExt(size[dimension], builder.getInt64Ty());
  }
  // first + i, which stays below the block's size
  auto step = [&](llvm::Value* first, llvm::Value* i) {
    return builder.CreateAdd(first, builder.CreateZExt(i, builder.getInt64Ty()), "", true, true);
  };
  make_loop(builder, size[2], nullptr, [&](llvm::Value* z) {
    z->setName("z");
    llvm::Value* plane = builder.CreateMul(builder.CreateZExt(z, builder.getInt64Ty()), wide[1], "", true, true);
    make_loop(builder, size[1], nullptr, [&](llvm::Value* y) {
      y->setName("y");
      llvm::Value* row = builder.CreateMul(step(plane, y), wide[0], "", true, true);
      make_loop(builder, size[0], metadata, [&](llvm::Value* x) {
        x->setName("x");
        body(x, y, z, step(row, x));
      });
    });
  });
}

// Row by row: a block has at most 1024 work-items, so 32 bits hold every index.
void for_items_between(llvm::IRBuilder<>& builder, llvm::Value* context, llvm::Value* first, llvm::Value* last,
                       llvm::MDNode* metadata,
                       llvm::function_ref<void(llvm::Value*, llvm::Value*, llvm::Value*, llvm::Value*)> body) {
  Context type(*builder.GetInsertBlock()->getModule());
  llvm::Value* width = type.load(builder, context, Context::kBlock, 0);
  llvm::Value* height = type.load(builder, context, Context::kBlock, 1);
  llvm::Value* one = builder.getInt32(1);
  llvm::Value* begin = builder.CreateTrunc(first, builder.getInt32Ty());
  llvm::Value* end = builder.CreateTrunc(last, builder.getInt32Ty());
  llvm::Value* top = builder.CreateUDiv(begin, width);
  llvm::Value* bottom = builder.CreateUDiv(builder.CreateSub(end, one), width);
  make_loop(builder, builder.CreateAdd(builder.CreateSub(bottom, top), one), nullptr, [&](llvm::Value* i) {
    llvm::Value* row = builder.CreateAdd(top, i, "", true, true);
    llvm::Value* origin = builder.CreateMul(row, width, "", true, true);
    llvm::Value* left = builder.CreateSub(builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, begin, origin), origin);
    llvm::Value* right =
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, width, builder.CreateSub(end, origin, "", true, true));
    llvm::Value* y = builder.CreateURem(row, height);
    llvm::Value* z = builder.CreateUDiv(row, height);
    make_loop(builder, builder.CreateSub(right, left, "", true, true), metadata, [&](llvm::Value* j) {
      llvm::Value* x = builder.CreateAdd(left, j, "", true, true);
      llvm::Value* index = builder.CreateAdd(builder.CreateZExt(origin, builder.getInt64Ty()),
                                             builder.CreateZExt(x, builder.getInt64Ty()), "", true, true);
      body(x, y, z, index);
    });
  });
}

llvm::Value* count_items(llvm::IRBuilder<>& builder, llvm::Value* context) {
  Context type(*builder.GetInsertBlock()->getModule());
  llvm::Value* count = builder.getInt64(1);
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    llvm::Value* size = type.load(builder, context, Context::kBlock, dimension);
    count = builder.CreateMul(count, builder.CreateZExt(size, builder.getInt64Ty()), "", true, true);
  }
  return count;
}

}  // namespace mneme::codegen::host
