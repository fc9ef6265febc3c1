// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/collectives.h"

#include <llvm/Support/raw_ostream.h>

#include "codegen/host/analysis/uniformity.h"
#include "codegen/host/forms/item_loop.h"
#include "codegen/host/forms/lower.h"
#include "codegen/host/forms/parallel.h"
#include "codegen/host/forms/regions.h"

namespace mneme::codegen::host {
namespace {

std::string width_of(llvm::Type* type) { return std::to_string(type->getIntegerBitWidth()); }

llvm::Value* element(llvm::IRBuilder<>& builder, const Slot& slot, const Frames& frames, llvm::Value* index) {
  return slot_address(builder, slot, frames.base, frames.count, index);
}

llvm::Value* read(llvm::IRBuilder<>& builder, const Operand& operand, const Frames& frames, llvm::Value* index,
                  const ParallelLoop& loop) {
  if (operand.constant) return operand.constant;
  llvm::LoadInst* load = builder.CreateLoad(operand.slot->type, element(builder, *operand.slot, frames, index));
  loop.mark(*load);
  return load;
}

void write(llvm::IRBuilder<>& builder, const Operand& result, const Frames& frames, llvm::Value* index,
           llvm::Value* value, const ParallelLoop& loop) {
  loop.mark(*builder.CreateStore(value, element(builder, *result.slot, frames, index)));
}

// The same result for all lanes of a wave.
void spread(llvm::IRBuilder<>& builder, const Collective& collective, const Frames& frames, uint32_t wave_size,
            llvm::Value* first, llvm::Value* value) {
  if (!collective.result.slot) return;
  llvm::Value* all = builder.CreateVectorSplat(wave_size, value);
  builder.CreateAlignedStore(all, element(builder, *collective.result.slot, frames, first),
                             llvm::Align(value->getType()->getIntegerBitWidth() / 8));
}

llvm::Value* lanes_that_say_so(llvm::IRBuilder<>& builder, const Collective& collective, const Frames& frames,
                               uint32_t wave_size, llvm::Value* first) {
  if (collective.value.constant) return builder.CreateSExt(collective.value.constant, builder.getInt64Ty());
  auto* type = llvm::FixedVectorType::get(builder.getInt8Ty(), wave_size);
  llvm::Value* said =
      builder.CreateAlignedLoad(type, element(builder, *collective.value.slot, frames, first), llvm::Align(1));
  llvm::Value* mask = builder.CreateBitCast(builder.CreateIsNotNull(said), builder.getIntNTy(wave_size));
  return builder.CreateZExt(mask, builder.getInt64Ty());
}

// Distinguishes collectives that are computed by different code.
std::string name_of(const Collective& collective) {
  std::string name;
  llvm::raw_string_ostream text(name);
  text << "mneme.converge." << static_cast<int>(collective.operation.kind);
  for (const Operand* operand : {&collective.value, &collective.otherwise, &collective.lane, &collective.result}) {
    text << '.';
    if (operand->constant) {
      text << 'c';
      operand->constant->printAsOperand(text, false);
    } else if (operand->slot) {
      text << operand->slot->offset;
    }
  }
  return name;
}

void answer_wave(llvm::IRBuilder<>& builder, const Collective& collective, const Frames& frames, uint32_t wave_size,
                 llvm::Value* first, llvm::Value* active) {
  ParallelLoop loop(builder.getContext());
  switch (collective.operation.kind) {
    case OperationKind::kBallot:
      spread(builder, collective, frames, wave_size, first,
             builder.CreateAnd(active, lanes_that_say_so(builder, collective, frames, wave_size, first)));
      break;
    case OperationKind::kFirst: {
      llvm::Value* lowest = builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active, builder.getTrue());
      llvm::Value* index = builder.CreateAdd(first, lowest, "", true, true);
      spread(builder, collective, frames, wave_size, first, read(builder, collective.value, frames, index, loop));
      break;
    }
    case OperationKind::kPermute:
      make_loop(builder, builder.getInt64(wave_size), loop.metadata(), [&](llvm::Value* lane) {
        llvm::Value* index = builder.CreateAdd(first, lane, "", true, true);
        // The operands of lanes that do not take part may be anything.
        llvm::Value* from =
            builder.CreateZExt(read(builder, collective.lane, frames, index, loop), builder.getInt64Ty());
        from = builder.CreateAnd(from, wave_size - 1);
        llvm::Value* here = builder.CreateTrunc(builder.CreateLShr(active, from), builder.getInt1Ty());
        llvm::Value* source = builder.CreateAdd(first, from, "", true, true);
        llvm::Value* value = read(builder, collective.value, frames, source, loop);
        llvm::Value* otherwise = read(builder, collective.otherwise, frames, index, loop);
        write(builder, collective.result, frames, index, builder.CreateSelect(here, value, otherwise), loop);
      });
      break;
    default:
      break;
  }
}

}  // namespace

llvm::AllocaInst* Collectives::local(const std::string& name, llvm::Type* type) {
  llvm::AllocaInst*& known = locals_[name];
  if (!known) {
    llvm::BasicBlock& entry = item_.getEntryBlock();
    known = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, nullptr, name);
  }
  return known;
}

bool Collectives::owns(const llvm::AllocaInst& local) const {
  return llvm::any_of(locals_, [&](const auto& known) { return known.second == &local; });
}

Operand Collectives::take_operand(llvm::IRBuilder<>& builder, llvm::Value* value, const char* name) {
  if (llvm::isa<llvm::UndefValue>(value)) return {.constant = llvm::Constant::getNullValue(value->getType())};
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return {.constant = constant};
  if (value->getType()->isIntegerTy(1)) value = builder.CreateZExt(value, builder.getInt8Ty());
  Operand operand = {.local = local(name + width_of(value->getType()), value->getType())};
  builder.CreateStore(value, operand.local);
  return operand;
}

Collective Collectives::replace(llvm::CallInst& call, const Operation& operation) {
  llvm::IRBuilder<> before(&call);
  Collective collective = {operation, {}, {}, {}, {}};
  if (call.arg_size() > 0) collective.value = take_operand(before, call.getArgOperand(0), "value");
  if (operation.kind == OperationKind::kPermute) {
    bool same = call.getArgOperand(1) == call.getArgOperand(0);
    collective.otherwise = same ? collective.value : take_operand(before, call.getArgOperand(1), "otherwise");
    collective.lane = take_operand(before, call.getArgOperand(2), "lane");
  }
  if (call.getType()->isVoidTy() || call.use_empty()) return collective;
  collective.result.local = local("result" + width_of(call.getType()), call.getType());
  llvm::IRBuilder<> after(call.getNextNode());
  llvm::LoadInst* result = after.CreateLoad(call.getType(), collective.result.local);
  if (operation.kind == OperationKind::kBarrierCount) mark_uniform(*result);
  call.replaceAllUsesWith(result);
  return collective;
}

void compute_wave_collective(llvm::IRBuilder<>& builder, const Collective& collective, const Frames& frames,
                             uint32_t wave_size, llvm::Value* first, llvm::Value* active) {
  if (!collective.result.slot) return;  // nobody asks
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::Type *pointer = builder.getPtrTy(), *wide = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {pointer, wide, wide, wide}, false);
  auto* function = llvm::cast<llvm::Function>(module.getOrInsertFunction(name_of(collective), type).getCallee());
  if (function->empty()) {
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->setDoesNotThrow();
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> inside(llvm::BasicBlock::Create(module.getContext(), "entry", function));
    Frames same = {nullptr, function->getArg(0), function->getArg(1), nullptr};
    answer_wave(inside, collective, same, wave_size, function->getArg(2), function->getArg(3));
    inside.CreateRetVoid();
  }
  builder.CreateCall(function, {frames.base, frames.count, first, active});
}

void compute_block_collective(llvm::IRBuilder<>& builder, const Collective& collective, const Frames& frames,
                              llvm::Value* exact, llvm::Value* point) {
  if (collective.operation.kind == OperationKind::kBarrierGrid) {
    if (!point)
      call_through_table(builder, "converge_grid", builder.getVoidTy(), frames.context, builder.getInt32(0), {});
    return;
  }
  if (!collective.result.slot) return;
  ParallelLoop loop(builder.getContext());
  llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::Value* sum = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(builder.getInt32Ty());
  builder.CreateStore(builder.getInt32(0), sum);
  make_loop(builder, exact, nullptr, [&](llvm::Value* index) {
    llvm::Value* says = builder.CreateZExt(read(builder, collective.value, frames, index, loop), builder.getInt32Ty());
    if (point) {
      llvm::Value* at = builder.CreateLoad(builder.getInt32Ty(),
                                           builder.CreateInBoundsGEP(builder.getInt32Ty(), frames.points, index));
      says = builder.CreateSelect(builder.CreateICmpEQ(at, point), says, builder.getInt32(0));
    }
    builder.CreateStore(builder.CreateAdd(builder.CreateLoad(builder.getInt32Ty(), sum), says), sum);
  });
  llvm::Value* total = builder.CreateLoad(builder.getInt32Ty(), sum);
  make_loop(builder, exact, loop.metadata(), [&](llvm::Value* index) {
    llvm::Value* result = total;
    if (point) {  // elsewhere other results wait to be taken
      llvm::Value* at = builder.CreateLoad(builder.getInt32Ty(),
                                           builder.CreateInBoundsGEP(builder.getInt32Ty(), frames.points, index));
      llvm::Value* old =
          builder.CreateLoad(builder.getInt32Ty(), element(builder, *collective.result.slot, frames, index));
      result = builder.CreateSelect(builder.CreateICmpEQ(at, point), total, old);
    }
    write(builder, collective.result, frames, index, result, loop);
  });
}

}  // namespace mneme::codegen::host
