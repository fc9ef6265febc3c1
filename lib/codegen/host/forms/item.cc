// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/InstIterator.h>

#include "base/error.h"
#include "codegen/host/forms/lower.h"
#include "codegen/host/neutral/fixed_launch.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr uint64_t kImplicitSize = 256;
constexpr uint64_t kDispatchSize = 64;
constexpr uint64_t kMostThreads = 1024;
constexpr llvm::StringLiteral kWaveMemory = "mneme-wave-memory";  // bytes, of the item

// Where a function reads a query's answer: computed once, at its entry.
class Answers {
 public:
  Answers(llvm::Function& function, uint32_t wave_size, uint64_t wave_memory)
      : function_(function),
        wave_size_(wave_size),
        wave_memory_size_(wave_memory),
        context_type_(*function.getParent()),
        builder_(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca()) {
    context_ = context_in(function, builder_);
  }

  llvm::Value* answer(const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::kImplicit:
        if (!implicit_) implicit_ = context_type_.load(builder_, context_, Context::kImplicit, 0, kImplicitSize);
        return implicit_;
      case OperationKind::kDispatch:
        if (!dispatch_) dispatch_ = context_type_.load(builder_, context_, Context::kDispatch, 0, kDispatchSize);
        return dispatch_;
      case OperationKind::kContext:
        return context_;
      case OperationKind::kWaveMemory:
        if (!wave_memory_) wave_memory_ = wave_memory();
        return wave_memory_;
      case OperationKind::kQuery:
        break;
      default:  // collectives
        return nullptr;
    }
    llvm::Value*& known = queries_[static_cast<size_t>(operation.query)][operation.dimension];
    if (!known) known = query(operation.query, operation.dimension);
    return known;
  }

 private:
  llvm::Value* query(Query what, unsigned dimension) {
    switch (what) {
      case Query::kLocalId:
        return local_id(dimension);
      case Query::kGroupId:
        return context_type_.load(builder_, context_, Context::kGroup, dimension);
      case Query::kLocalSize:
        return context_type_.load(builder_, context_, Context::kBlock, dimension);
      case Query::kGroupCount:
        return context_type_.load(builder_, context_, Context::kGrid, dimension);
    }
    return nullptr;
  }

  // The waves' memory, one after the other, stands where the frames begin (lower.h).
  llvm::Value* wave_memory() {
    auto known = [&](Query what, unsigned dimension) { return answer({OperationKind::kQuery, what, dimension}); };
    llvm::Value* index = known(Query::kLocalId, 2);
    for (unsigned dimension : {1, 0}) {
      index = builder_.CreateMul(index, known(Query::kLocalSize, dimension), "", true, true);
      index = builder_.CreateAdd(index, known(Query::kLocalId, dimension), "", true, true);
    }
    llvm::Value* wave =
        builder_.CreateZExt(builder_.CreateUDiv(index, builder_.getInt32(wave_size_)), builder_.getInt64Ty());
    llvm::Value* frames = context_type_.load(builder_, context_, Context::kFrames);
    return builder_.CreateInBoundsGEP(builder_.getInt8Ty(), frames,
                                      builder_.CreateMul(wave, builder_.getInt64(wave_memory_size_)));
  }

  llvm::Value* local_id(unsigned dimension) {
    if (function_.getName() == kItemFunction) return function_.getArg(1 + dimension);
    llvm::GlobalVariable& item = thread_item(*function_.getParent());
    llvm::Value* address = builder_.CreateConstInBoundsGEP2_32(item.getValueType(),
                                                               builder_.CreateThreadLocalAddress(&item), 0, dimension);
    return builder_.CreateLoad(builder_.getInt32Ty(), address);
  }

  llvm::Function& function_;
  uint32_t wave_size_;
  uint64_t wave_memory_size_;  // bytes
  Context context_type_;
  llvm::IRBuilder<> builder_;
  llvm::Value* context_ = nullptr;
  llvm::Value* implicit_ = nullptr;
  llvm::Value* dispatch_ = nullptr;
  llvm::Value* wave_memory_ = nullptr;
  llvm::Value* queries_[4][3] = {};
};

// Loads through the launch's structures see what cannot change.
void mark_invariant_loads(llvm::Value* pointer) {
  llvm::SmallVector<llvm::Value*, 8> work = {pointer};
  llvm::SmallPtrSet<llvm::Value*, 16> seen;
  while (!work.empty()) {
    llvm::Value* value = work.pop_back_val();
    if (!seen.insert(value).second) continue;
    for (llvm::User* user : value->users()) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
      } else if (llvm::isa<llvm::GetElementPtrInst, llvm::SelectInst, llvm::PHINode>(user)) {
        work.push_back(user);
      }
    }
  }
}

void check_arguments(const llvm::Function& entry, const bundle::KernelInfo& kernel) {
  if (entry.arg_size() == kernel.arguments.size() && entry.getReturnType()->isVoidTy()) return;
  throw Error::of("the IR's kernel '{}' takes {} arguments, the recorded one {}", kernel.demangled, entry.arg_size(),
                  kernel.arguments.size());
}

// Where constants have taken the place of arguments that are read in any case (a bound, say), the bytes may be read
// under conditions only. A load of theirs that is moved ahead of its condition loses what it is known to lead to, and
// the one behind it stays in the loop over work-items, which is then not vectorised well.
void keep_readable(llvm::IRBuilderBase& builder, llvm::Value* bytes, uint64_t size) {
  llvm::Value *known[] = {bytes, builder.getInt64(size)}, *aligned[] = {bytes, builder.getInt64(sizeof(uint64_t))};
  builder.CreateAssumption(
      builder.getTrue(), {llvm::OperandBundleDef("dereferenceable", known), llvm::OperandBundleDef("align", aligned)});
}

llvm::Value* load_argument(llvm::IRBuilderBase& builder, llvm::Value* bytes, const llvm::Argument& argument,
                           const bundle::Argument& place, const bundle::KernelInfo& kernel) {
  const llvm::DataLayout& layout = argument.getParent()->getParent()->getDataLayout();
  llvm::Value* address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), bytes, place.offset);
  bool by_reference = argument.hasByRefAttr();
  llvm::Type* type = by_reference ? argument.getParamByRefType() : argument.getType();
  if (uint64_t{place.offset} + layout.getTypeStoreSize(type) > kernel.argument_bytes) {
    throw Error::of("argument {} of the kernel '{}' lies beyond the recorded argument bytes", argument.getArgNo(),
                    kernel.demangled);
  }
  if (by_reference) return address;
  llvm::LoadInst* load = builder.CreateAlignedLoad(type, address, llvm::Align(1));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

void answer_queries(llvm::Module& module, uint32_t wave_size, uint64_t wave_memory) {
  std::optional<bundle::LaunchSize> launch = fixed_launch(module);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    std::optional<Answers> answers;
    std::vector<llvm::CallInst*> answered;  // erased last: the answers may be computed ahead of one of them
    for (auto& [call, operation] : operations_in(function)) {
      if (is_convergence_point(operation)) continue;
      if (!answers) answers.emplace(function, wave_size, wave_memory);
      llvm::Value* answer = answers->answer(operation);
      if (llvm::MDNode* range = call->getMetadata(llvm::LLVMContext::MD_range)) {
        auto* load = llvm::dyn_cast<llvm::LoadInst>(answer);
        if (load) load->setMetadata(llvm::LLVMContext::MD_range, range);
      }
      if (operation.kind == OperationKind::kImplicit || operation.kind == OperationKind::kDispatch) {
        mark_invariant_loads(call);
      }
      if (launch && operation.kind == OperationKind::kImplicit) answer_implicit_loads(*call, *launch);
      if (launch && operation.kind == OperationKind::kDispatch) answer_dispatch_loads(*call, *launch);
      call->replaceAllUsesWith(answer);
      answered.push_back(call);
    }
    for (llvm::CallInst* call : answered) call->eraseFromParent();
  }
}

}  // namespace

llvm::Function& make_item(llvm::Module& module, const bundle::KernelInfo& kernel) {
  llvm::Function& entry = *module.getFunction(kernel.name);
  check_arguments(entry, kernel);
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, word, word, word}, false);
  llvm::Function& item = *llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, kItemFunction, module);
  item.setDoesNotThrow();
  Context(module).mark(*item.getArg(0));
  for (unsigned dimension = 0; dimension < 3; ++dimension)
    item.getArg(1 + dimension)->setName(llvm::StringRef("xyz").substr(dimension, 1));
  item.splice(item.begin(), &entry);

  llvm::IRBuilder<> builder(&*item.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  llvm::Value* bytes = Context(module).load(builder, item.getArg(0), Context::kArguments, 0,
                                            std::max<uint64_t>(kernel.argument_bytes, 1));
  if (entry.hasFnAttribute(kFixedArguments)) keep_readable(builder, bytes, kernel.argument_bytes);
  for (llvm::Argument& argument : entry.args()) {
    argument.replaceAllUsesWith(load_argument(builder, bytes, argument, kernel.arguments[argument.getArgNo()], kernel));
  }
  if (!entry.use_empty()) throw Error::of("the kernel '{}' calls itself", kernel.demangled);
  entry.eraseFromParent();
  uint64_t wave_memory = wave_memory_size(module);
  if (wave_memory) item.addFnAttr(kWaveMemory, std::to_string(wave_memory * (kMostThreads / kernel.wave_size)));
  answer_queries(module, kernel.wave_size, wave_memory);
  return item;
}

uint64_t reserved_for_waves(const llvm::Function& item) {
  uint64_t size = 0;
  item.getFnAttribute(kWaveMemory).getValueAsString().getAsInteger(10, size);
  return size;
}

void publish_item(llvm::IRBuilderBase& builder, llvm::Function& item) {
  llvm::Module& module = *item.getParent();
  auto may_ask = [&](const llvm::Function& function) { return &function != &item && !function.isDeclaration(); };
  if (llvm::none_of(module, may_ask)) return;
  builder.CreateStore(item.getArg(0), builder.CreateThreadLocalAddress(&thread_context(module)));
  llvm::Value* index = builder.CreateThreadLocalAddress(&thread_item(module));
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    builder.CreateStore(item.getArg(1 + dimension),
                        builder.CreateConstInBoundsGEP2_32(thread_item(module).getValueType(), index, 0, dimension));
  }
}

}  // namespace mneme::codegen::host
