// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>

#include <cstddef>

#include "codegen/host/abi.h"
#include "codegen/host/neutral/context.h"

namespace mneme::codegen::host {
namespace {

TEST(Context, IsLaidOutAsTheCallersStructure) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  module.setDataLayout("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128");
  Context described(module);
  const llvm::StructLayout* layout = module.getDataLayout().getStructLayout(described.type());
  auto offset = [&](Context::Member member) { return static_cast<uint64_t>(layout->getElementOffset(member)); };
  EXPECT_EQ(offset(Context::kArguments), offsetof(BlockContext, arguments));
  EXPECT_EQ(offset(Context::kImplicit), offsetof(BlockContext, implicit));
  EXPECT_EQ(offset(Context::kDispatch), offsetof(BlockContext, dispatch));
  EXPECT_EQ(offset(Context::kShared), offsetof(BlockContext, shared));
  EXPECT_EQ(offset(Context::kFrames), offsetof(BlockContext, frames));
  EXPECT_EQ(offset(Context::kFramesSize), offsetof(BlockContext, frames_size));
  EXPECT_EQ(offset(Context::kGroup), offsetof(BlockContext, group));
  EXPECT_EQ(offset(Context::kBlock), offsetof(BlockContext, block));
  EXPECT_EQ(offset(Context::kGrid), offsetof(BlockContext, grid));
  EXPECT_EQ(offset(Context::kSharedDynamic), offsetof(BlockContext, shared_dynamic));
  EXPECT_EQ(offset(Context::kFault), offsetof(BlockContext, fault));
  EXPECT_EQ(offset(Context::kFaultThread), offsetof(BlockContext, fault_thread));
  EXPECT_EQ(offset(Context::kServices), offsetof(BlockContext, services));
  EXPECT_EQ(offset(Context::kLaunch), offsetof(BlockContext, launch));
  EXPECT_EQ(offset(Context::kWritten), offsetof(BlockContext, written));
  EXPECT_EQ(static_cast<uint64_t>(layout->getSizeInBytes()), sizeof(BlockContext));
}

}  // namespace
}  // namespace mneme::codegen::host
