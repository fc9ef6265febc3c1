// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/fiber_form.h"

#include <llvm/IR/InstIterator.h>

#include <set>

#include "codegen/host/abi.h"
#include "codegen/host/analysis/places.h"
#include "codegen/host/forms/item_loop.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

bool has_places_itself(llvm::Function& function) {
  return llvm::any_of(operations_in(function), [](const auto& found) { return is_place(found.second); });
}

// Where work-items may meet: in a function itself, or in what it calls.
class MeetingFunctions {
 public:
  explicit MeetingFunctions(llvm::Module& module) {
    for (llvm::Function& function : module) {
      if (has_places_itself(function)) insert(function);
    }
    for (size_t before = 0; before != functions_.size();) {
      before = functions_.size();
      for (llvm::Function& function : module) {
        if (llvm::any_of(llvm::instructions(function), [&](auto& instruction) { return may_be_in(instruction); })) {
          insert(function);
        }
      }
    }
  }

  bool may_be_in(const llvm::Function& function) const { return functions_.count(&function); }
  bool may_be_in(const llvm::Instruction& instruction) const {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || call->isInlineAsm()) return false;
    return call->getCalledFunction() ? may_be_in(*call->getCalledFunction()) : behind_pointers_;
  }

 private:
  void insert(const llvm::Function& function) {
    functions_.insert(&function);
    behind_pointers_ |= function.hasAddressTaken();
  }

  std::set<const llvm::Function*> functions_;
  bool behind_pointers_ = false;
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

host::Meeting meeting_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kBarrierCount:
      return kMeetBlockCount;
    case OperationKind::kBarrierGrid:
      return kMeetGrid;
    case OperationKind::kWaveMeet:
      return kWaveMeet;
    case OperationKind::kBallot:
      return kWaveBallot;
    case OperationKind::kPermute:
      return kWavePermute;
    case OperationKind::kFirst:
      return kWaveFirst;
    case OperationKind::kYield:
      return kYield;
    default:
      return kMeetBlock;
  }
}

// `holds_up`: whether lanes at later places of the wave wait for one that yields.
void lower_place(const Place& place, bool holds_up) {
  llvm::CallInst& call = *place.call;
  llvm::IRBuilder<> builder(&call);
  auto argument = [&](unsigned i, llvm::Type* type) -> llvm::Value* {
    if (i >= call.arg_size()) return llvm::ConstantInt::get(type, is_yield(*place.operation) && holds_up);
    return builder.CreateZExtOrTrunc(call.getArgOperand(i), type);
  };
  llvm::Value* result = call_service(
      builder, "meet", builder.getInt64Ty(),
      {builder.getInt32(meeting_of(place.operation->kind)), builder.getInt32(place.number),
       argument(0, builder.getInt64Ty()), argument(1, builder.getInt64Ty()), argument(2, builder.getInt32Ty())});
  publish(builder);
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(builder.CreateZExtOrTrunc(result, call.getType()));
  call.eraseFromParent();
}

// A call that may lead to several functions counts as one place for each, told apart by their addresses.
void lower_call(const Place& place, llvm::Function& base) {
  place.call->setTailCallKind(llvm::CallInst::TCK_NoTail);
  llvm::IRBuilder<> before(place.call);
  llvm::IRBuilder<> after(place.call->getNextNode());
  auto enter = [&](llvm::Value* number) {
    call_service(before, "enter", before.getVoidTy(), {number});
    call_service(after, "leave", after.getVoidTy(), {});
  };
  enter(before.getInt32(place.number));
  if (place.call->getCalledFunction()) return;
  llvm::Value* offset = before.CreatePtrDiff(before.getInt8Ty(), place.call->getCalledOperand(), &base);
  enter(before.CreateTrunc(offset, before.getInt32Ty()));
}

}  // namespace

bool needs_fibers(llvm::Module& module, const bundle::KernelInfo& kernel) {
  return llvm::any_of(module, [&](llvm::Function& function) {
    return function.getName() != kernel.name && has_places_itself(function);
  });
}

void lower_places(llvm::Module& module) {
  MeetingFunctions meeting(module);
  bool hold_up = lanes_meet(module);
  for (llvm::Function& function : module) {
    if (!meeting.may_be_in(function)) continue;
    forget_memory_effects(function);
    auto may_be_in = [&](const llvm::CallInst& call) { return meeting.may_be_in(call); };
    for (const Place& place : order_places(function, nullptr, may_be_in)) {
      if (place.operation) {
        lower_place(place, hold_up);
      } else {
        lower_call(place, function);
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
  return {&function, kKeepsStacks};
}

}  // namespace mneme::codegen::host
