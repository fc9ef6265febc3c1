// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device library's work-item functions, by name.
#include <llvm/IR/IRBuilder.h>

#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/dialect/rebuild.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// size_t f(unsigned dimension): one of three values, `otherwise` beyond them.
void answer_by_dimension(llvm::Function& function, uint64_t otherwise,
                         llvm::function_ref<llvm::Value*(llvm::IRBuilderBase&, unsigned)> value) {
  llvm::IRBuilder<> builder = rebuild(function);
  llvm::Value* answer = llvm::ConstantInt::get(function.getReturnType(), otherwise);
  for (unsigned dimension : {2u, 1u, 0u}) {
    llvm::Value* here = builder.CreateZExtOrTrunc(value(builder, dimension), function.getReturnType());
    answer = builder.CreateSelect(builder.CreateICmpEQ(function.getArg(0), builder.getInt32(dimension)), here, answer);
  }
  builder.CreateRet(answer);
}

// Thread numbers along a dimension stay below 2^31 (run_grid refuses larger grids), so the sums
// wrap neither way; knowing that, LLVM can tell that neighbouring threads touch neighbouring elements.
llvm::Value* global_id(llvm::IRBuilderBase& builder, unsigned dimension) {
  llvm::Value* group = call_query(builder, Query::kGroupId, dimension);
  llvm::Value* size = call_query(builder, Query::kLocalSize, dimension);
  llvm::Value* first = builder.CreateMul(group, size, "", true, true);
  return builder.CreateAdd(first, call_query(builder, Query::kLocalId, dimension), "", true, true);
}

llvm::Value* global_size(llvm::IRBuilderBase& builder, unsigned dimension) {
  llvm::Value* count = call_query(builder, Query::kGroupCount, dimension);
  return builder.CreateMul(count, call_query(builder, Query::kLocalSize, dimension), "", true, true);
}

}  // namespace

void raise_work_item_functions(llvm::Module& module) {
  auto query = [](Query what) {
    return [what](llvm::IRBuilderBase& builder, unsigned dimension) { return call_query(builder, what, dimension); };
  };
  auto answer = [&](llvm::StringRef name, uint64_t otherwise, auto value) {
    if (llvm::Function* function = module.getFunction(name)) answer_by_dimension(*function, otherwise, value);
  };
  answer("__ockl_get_local_id", 0, query(Query::kLocalId));
  answer("__ockl_get_group_id", 0, query(Query::kGroupId));
  answer("__ockl_get_local_size", 1, query(Query::kLocalSize));
  answer("__ockl_get_enqueued_local_size", 1, query(Query::kLocalSize));
  answer("__ockl_get_num_groups", 1, query(Query::kGroupCount));
  answer("__ockl_get_global_id", 0, global_id);
  answer("__ockl_get_global_size", 1, global_size);
  answer("__ockl_get_global_offset", 0, [](llvm::IRBuilderBase& builder, unsigned) { return builder.getInt32(0); });
}

}  // namespace mneme::codegen::host
