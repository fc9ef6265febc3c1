// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/fiber_form.h"

#include <llvm/IR/InstIterator.h>

#include <set>

#include "codegen/host/abi.h"
#include "codegen/host/analysis/convergence.h"
#include "codegen/host/forms/item_loop.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

bool converges_itself(llvm::Function& function) {
  return llvm::any_of(operations_in(function), [](const auto& found) { return is_convergence_point(found.second); });
}

// Functions with convergence points: in themselves, or in what they call.
class ConvergingFunctions {
 public:
  explicit ConvergingFunctions(llvm::Module& module) {
    for (llvm::Function& function : module) {
      if (converges_itself(function)) functions_.insert(&function);
    }
    for (size_t before = 0; before != functions_.size();) {
      before = functions_.size();
      for (llvm::Function& function : module) {
        auto converges = [&](const llvm::Instruction& instruction) { return may_converge(instruction); };
        if (llvm::any_of(llvm::instructions(function), converges)) functions_.insert(&function);
      }
    }
  }

  bool contains(const llvm::Function& function) const { return functions_.count(&function); }
  // Whether it is a call of one. All calls are direct.
  bool may_converge(const llvm::Instruction& instruction) const {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return call && call->getCalledFunction() && contains(*call->getCalledFunction());
  }

 private:
  std::set<const llvm::Function*> functions_;
};

// What the vendor's compiler concluded about functions that hardly touch memory no longer holds when others run
// meanwhile.
void forget_memory_effects(llvm::Function& function) {
  for (auto kind : {llvm::Attribute::Memory, llvm::Attribute::NoSync, llvm::Attribute::Speculatable}) {
    function.removeFnAttr(kind);
  }
  for (llvm::User* user : function.users()) {
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) call->removeFnAttr(llvm::Attribute::Memory);
  }
}

// Functions that were not inlined find out which work-item they run for in thread-local variables: after others had
// their turn, they are set again.
void publish(llvm::IRBuilderBase& builder) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  builder.CreateStore(call_context(builder), builder.CreateThreadLocalAddress(&thread_context(module)));
  llvm::GlobalVariable& item = thread_item(module);
  llvm::Value* index = builder.CreateThreadLocalAddress(&item);
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    builder.CreateStore(call_query(builder, Query::kLocalId, dimension),
                        builder.CreateConstInBoundsGEP2_32(item.getValueType(), index, 0, dimension));
  }
}

host::CollectiveKind kind_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kBarrierCount:
      return kBlockCount;
    case OperationKind::kBarrierGrid:
      return kGridBarrier;
    case OperationKind::kWaveSync:
      return kWaveSync;
    case OperationKind::kBallot:
      return kWaveBallot;
    case OperationKind::kPermute:
      return kWavePermute;
    case OperationKind::kFirst:
      return kWaveFirst;
    case OperationKind::kYield:
      return kYield;
    default:
      return kBlockBarrier;
  }
}

// `holds_up`: whether lanes at later convergence points of the wave wait for one that yields.
void lower_operation(const ConvergencePoint& point, bool holds_up) {
  llvm::CallInst& call = *point.call;
  llvm::IRBuilder<> builder(&call);
  auto argument = [&](unsigned i, llvm::Type* type) -> llvm::Value* {
    if (i >= call.arg_size()) return llvm::ConstantInt::get(type, is_yield(*point.operation) && holds_up);
    return builder.CreateZExtOrTrunc(call.getArgOperand(i), type);
  };
  llvm::Value* result = call_service(
      builder, "converge", builder.getInt64Ty(),
      {builder.getInt32(kind_of(point.operation->kind)), builder.getInt32(point.number),
       argument(0, builder.getInt64Ty()), argument(1, builder.getInt64Ty()), argument(2, builder.getInt32Ty())});
  publish(builder);
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(builder.CreateZExtOrTrunc(result, call.getType()));
  call.eraseFromParent();
}

// A call of a function with convergence points.
void lower_call(const ConvergencePoint& point) {
  point.call->setTailCallKind(llvm::CallInst::TCK_NoTail);
  llvm::IRBuilder<> before(point.call), after(point.call->getNextNode());
  call_service(before, "enter", before.getVoidTy(), {before.getInt32(point.number)});
  call_service(after, "leave", after.getVoidTy(), {});
}

}  // namespace

const llvm::Function* function_for_fibers(llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (llvm::Function& function : module) {
    if (function.getName() != kernel.name && converges_itself(function)) return &function;
  }
  return nullptr;
}

void lower_convergence_points(llvm::Module& module) {
  ConvergingFunctions converging(module);
  bool hold_up = has_wave_collectives(module);
  for (llvm::Function& function : module) {
    if (!converging.contains(function)) continue;
    forget_memory_effects(function);
    auto may_converge = [&](const llvm::CallInst& call) { return converging.may_converge(call); };
    for (const ConvergencePoint& point : order_convergence_points(function, nullptr, may_converge)) {
      if (point.operation) {
        lower_operation(point, hold_up);
      } else {
        lower_call(point);
      }
    }
  }
}

BlockCode make_fiber_form(llvm::Module& module, llvm::Function& item, uint32_t wave_size) {
  llvm::IRBuilder<> start(&*item.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  publish_item(start, item);
  llvm::Function& function = declare_block_function(module);
  llvm::IRBuilder<> builder(&function.getEntryBlock());
  call_through_table(builder, "run_items", builder.getVoidTy(), function.getArg(0), builder.getInt32(0),
                     {&item, builder.getInt32(wave_size)});
  builder.CreateRetVoid();
  uint32_t keeps = reserved_for_waves(item) ? kKeepsStacks | kKeepsFrames : kKeepsStacks;
  return {&function, keeps};
}

}  // namespace mneme::codegen::host
