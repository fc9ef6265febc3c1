// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/neutral.h"

#include <llvm/IR/InstIterator.h>

#include <array>
#include <iterator>

#include "base/error.h"
#include "codegen/host/abi.h"

namespace mneme::codegen::host {
namespace {

constexpr std::array<llvm::StringLiteral, 4> kQueryNames = {"mneme.local.id.", "mneme.group.id.", "mneme.local.size.",
                                                            "mneme.group.count."};
constexpr llvm::StringLiteral kImplicit = "mneme.implicit";
constexpr llvm::StringLiteral kDispatch = "mneme.dispatch";
constexpr llvm::StringLiteral kContext = "mneme.context";
constexpr llvm::StringLiteral kWaveMemoryName = "mneme.wave.memory";
constexpr llvm::StringLiteral kBarrier = "mneme.barrier";
constexpr llvm::StringLiteral kBarrierCount = "mneme.barrier.count";
constexpr llvm::StringLiteral kBarrierGrid = "mneme.barrier.grid";
constexpr llvm::StringLiteral kWaveSyncName = "mneme.wave.sync";
constexpr llvm::StringLiteral kStep = "mneme.step";
constexpr llvm::StringLiteral kJoint = "mneme.joint";
constexpr llvm::StringLiteral kBallot = "mneme.wave.ballot";
constexpr llvm::StringLiteral kPermute = "mneme.wave.permute.";
constexpr llvm::StringLiteral kFirst = "mneme.wave.first.";
constexpr llvm::StringLiteral kYieldOfItem = "mneme.yield";
constexpr llvm::StringLiteral kEnd = "mneme.end";
constexpr llvm::StringLiteral kService = "mneme.service.";
constexpr llvm::StringLiteral kItemOrdered = "mneme.ordered";
constexpr llvm::StringLiteral kMemoryAttribute = "mneme-memory";
constexpr std::array<llvm::StringLiteral, 4> kMemoryNames = {"private", "device", "shared", "dynamic"};

llvm::Module& module_of(llvm::IRBuilderBase& builder) { return *builder.GetInsertBlock()->getModule(); }

// A function of its arguments only: free to be moved, merged and hoisted.
llvm::FunctionCallee declare_pure(llvm::Module& module, llvm::StringRef name, llvm::Type* type,
                                  llvm::ArrayRef<llvm::Type*> parameters = {}) {
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, llvm::FunctionType::get(type, parameters, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setSpeculatable();
  return callee;
}

// A convergence point: it stays where it is in the flow of control, and memory may have changed behind it.
llvm::CallInst* call_convergent(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::Type* result,
                                llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::Type*, 3> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::FunctionCallee callee =
      module_of(builder).getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setConvergent();
  function->setDoesNotThrow();
  llvm::CallInst* call = builder.CreateCall(callee, arguments);
  call->setConvergent();
  return call;
}

const char* width_name(const llvm::Value* value) {
  if (value->getType()->isIntegerTy(32)) return "i32";
  if (value->getType()->isIntegerTy(64)) return "i64";
  throw Error("a wave operation on neither i32 nor i64");
}

}  // namespace

llvm::Value* call_query(llvm::IRBuilderBase& builder, Query query, unsigned dimension) {
  std::string name = (kQueryNames[static_cast<size_t>(query)] + llvm::Twine("xyz"[dimension])).str();
  return builder.CreateCall(declare_pure(module_of(builder), name, builder.getInt32Ty()));
}

llvm::Value* call_implicit(llvm::IRBuilderBase& builder) {
  return builder.CreateCall(declare_pure(module_of(builder), kImplicit, builder.getPtrTy()));
}

llvm::Value* call_dispatch(llvm::IRBuilderBase& builder) {
  return builder.CreateCall(declare_pure(module_of(builder), kDispatch, builder.getPtrTy()));
}

llvm::Value* call_context(llvm::IRBuilderBase& builder) {
  return builder.CreateCall(declare_pure(module_of(builder), kContext, builder.getPtrTy()));
}

llvm::Value* call_wave_memory(llvm::IRBuilderBase& builder, uint32_t bytes) {
  llvm::FunctionCallee callee =
      declare_pure(module_of(builder), kWaveMemoryName, builder.getPtrTy(), {builder.getInt32Ty()});
  return builder.CreateCall(callee, {builder.getInt32(bytes)});
}

uint64_t wave_memory_size(llvm::Module& module) {
  uint64_t most = 0;
  llvm::Function* function = module.getFunction(kWaveMemoryName);
  if (!function) return 0;
  for (llvm::User* user : function->users()) {
    most = std::max(most, llvm::cast<llvm::ConstantInt>(user->getOperand(0))->getZExtValue());
  }
  return llvm::alignTo(most, 64);
}

// Below 1024, and so is every part of the sum.
llvm::Value* thread_index(llvm::IRBuilderBase& builder) {
  auto size = [&](unsigned dimension) { return call_query(builder, Query::kLocalSize, dimension); };
  auto id = [&](unsigned dimension) { return call_query(builder, Query::kLocalId, dimension); };
  llvm::Value* plane = builder.CreateMul(id(2), size(1), "", true, true);
  llvm::Value* row = builder.CreateMul(builder.CreateAdd(plane, id(1), "", true, true), size(0), "", true, true);
  return builder.CreateAdd(row, id(0), "", true, true);
}

llvm::Value* lane_index(llvm::IRBuilderBase& builder, uint32_t wave_size) {
  return builder.CreateAnd(thread_index(builder), wave_size - 1);
}

llvm::CallInst* call_barrier(llvm::IRBuilderBase& builder) {
  return call_convergent(builder, kBarrier, builder.getVoidTy(), {});
}
llvm::CallInst* call_barrier_count(llvm::IRBuilderBase& builder, llvm::Value* condition) {
  return call_convergent(builder, kBarrierCount, builder.getInt32Ty(), {condition});
}
llvm::CallInst* call_grid_barrier(llvm::IRBuilderBase& builder) {
  return call_convergent(builder, kBarrierGrid, builder.getVoidTy(), {});
}
llvm::CallInst* call_wave_sync(llvm::IRBuilderBase& builder) {
  return call_convergent(builder, kWaveSyncName, builder.getVoidTy(), {});
}
void fence_compiler(llvm::CallBase& assembly) {
  if (assembly.doesNotAccessMemory()) return;
  llvm::IRBuilder<>(&assembly).CreateFence(llvm::AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread);
}
bool within_block(const llvm::FenceInst& fence) { return within_block(fence.getContext(), fence.getSyncScopeID()); }
bool within_block(const llvm::LLVMContext& context, llvm::SyncScope::ID scope) {
  llvm::SmallVector<llvm::StringRef, 8> names;
  context.getSyncScopeNames(names);
  llvm::StringRef name = scope < names.size() ? names[scope] : "";
  return name.starts_with("workgroup") || name.starts_with("wavefront") || name.starts_with("singlethread");
}
llvm::CallInst* call_ballot(llvm::IRBuilderBase& builder, llvm::Value* condition) {
  return call_convergent(builder, kBallot, builder.getInt64Ty(), {condition});
}
llvm::CallInst* call_permute(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::Value* otherwise,
                             llvm::Value* lane) {
  return call_convergent(builder, kPermute.str() + width_name(value), value->getType(), {value, otherwise, lane});
}
llvm::CallInst* call_first(llvm::IRBuilderBase& builder, llvm::Value* value) {
  return call_convergent(builder, kFirst.str() + width_name(value), value->getType(), {value});
}

llvm::CallInst* call_step(llvm::IRBuilderBase& builder) {
  return call_convergent(builder, kStep, builder.getVoidTy(), {});
}
llvm::CallInst* call_joint(llvm::IRBuilderBase& builder) {
  return call_convergent(builder, kJoint, builder.getVoidTy(), {});
}
llvm::CallInst* call_yield(llvm::IRBuilderBase& builder) {
  return call_convergent(builder, kYieldOfItem, builder.getVoidTy(), {});
}

llvm::CallInst* call_service(llvm::IRBuilderBase& builder, std::string_view name, llvm::Type* result,
                             llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::Type*, 12> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::FunctionCallee callee = module_of(builder).getOrInsertFunction(kService.str() + std::string(name),
                                                                       llvm::FunctionType::get(result, types, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  return builder.CreateCall(callee, arguments);
}

llvm::CallInst* call_stop(llvm::IRBuilderBase& builder, uint32_t fault, llvm::Value* text) {
  if (!text) text = llvm::ConstantPointerNull::get(builder.getPtrTy());
  return call_service(builder, "stop", builder.getVoidTy(), {builder.getInt32(fault), text});
}

llvm::CallInst* call_end(llvm::IRBuilderBase& builder) {
  llvm::FunctionCallee callee =
      module_of(builder).getOrInsertFunction(kEnd, llvm::FunctionType::get(builder.getVoidTy(), false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotReturn();
  function->setDoesNotThrow();
  return builder.CreateCall(callee);
}

bool is_end(const llvm::Function& function) { return function.getName() == kEnd; }

std::optional<Operation> operation_of(const llvm::Function& function) {
  llvm::StringRef name = function.getName();
  if (!name.starts_with("mneme.")) return std::nullopt;
  static const std::pair<llvm::StringRef, OperationKind> kNamed[] = {{kImplicit, OperationKind::kImplicit},
                                                                     {kDispatch, OperationKind::kDispatch},
                                                                     {kContext, OperationKind::kContext},
                                                                     {kWaveMemoryName, OperationKind::kWaveMemory},
                                                                     {kBarrier, OperationKind::kBarrier},
                                                                     {kBarrierCount, OperationKind::kBarrierCount},
                                                                     {kBarrierGrid, OperationKind::kBarrierGrid},
                                                                     {kWaveSyncName, OperationKind::kWaveSync},
                                                                     {kBallot, OperationKind::kBallot},
                                                                     {kYieldOfItem, OperationKind::kYield},
                                                                     {kStep, OperationKind::kStep},
                                                                     {kJoint, OperationKind::kJoint}};
  for (auto [known, kind] : kNamed) {
    if (name == known) return Operation{kind, {}, 0};
  }
  if (name.starts_with(kPermute)) return Operation{OperationKind::kPermute, {}, 0};
  if (name.starts_with(kFirst)) return Operation{OperationKind::kFirst, {}, 0};
  for (size_t i = 0; i < kQueryNames.size(); ++i) {
    if (name.starts_with(kQueryNames[i])) {
      return Operation{OperationKind::kQuery, static_cast<Query>(i), static_cast<unsigned>(name.back() - 'x')};
    }
  }
  if (name.consume_front(kService)) {
    for (unsigned i = 0; i < std::size(kServiceNames); ++i) {
      if (name == kServiceNames[i]) return Operation{OperationKind::kService, {}, 0, i};
    }
  }
  return std::nullopt;
}

std::optional<Operation> operation_at(const llvm::Value& value) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&value);
  if (!call || !call->getCalledFunction()) return std::nullopt;
  return operation_of(*call->getCalledFunction());
}

std::optional<unsigned> queried_dimension(const llvm::Value& value, Query query) {
  auto operation = operation_at(value);
  if (!operation || operation->kind != OperationKind::kQuery || operation->query != query) return std::nullopt;
  return operation->dimension;
}

bool is_block_collective(const Operation& operation) {
  return operation.kind == OperationKind::kBarrier || operation.kind == OperationKind::kBarrierCount ||
         operation.kind == OperationKind::kBarrierGrid;
}

bool is_wave_collective(const Operation& operation) {
  return operation.kind == OperationKind::kWaveSync || operation.kind == OperationKind::kBallot ||
         operation.kind == OperationKind::kPermute || operation.kind == OperationKind::kFirst;
}

bool is_step(const Operation& operation) { return operation.kind == OperationKind::kStep; }
bool is_joint(const Operation& operation) { return operation.kind == OperationKind::kJoint; }
bool is_yield(const Operation& operation) { return operation.kind == OperationKind::kYield; }

bool is_convergence_point(const Operation& operation) {
  return is_block_collective(operation) || is_wave_collective(operation) || is_yield(operation);
}

bool has_wave_collectives(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& function) {
    auto operation = operation_of(function);
    return operation && is_wave_collective(*operation) && !function.use_empty();
  });
}

std::vector<std::pair<llvm::CallInst*, Operation>> operations_in(llvm::Function& function) {
  std::vector<std::pair<llvm::CallInst*, Operation>> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto operation = operation_at(instruction)) {
      found.emplace_back(llvm::cast<llvm::CallInst>(&instruction), *operation);
    }
  }
  return found;
}

void set_memory_class(llvm::GlobalVariable& variable, MemoryClass memory) {
  variable.addAttribute(kMemoryAttribute, kMemoryNames[static_cast<size_t>(memory)]);
}

void mark_item_ordered(llvm::Instruction& access) {
  access.setMetadata(kItemOrdered, llvm::MDNode::get(access.getContext(), {}));
}

bool is_item_ordered(const llvm::Instruction& access) { return access.hasMetadata(kItemOrdered); }

bool is_blocks_own(const llvm::GlobalVariable& variable) {
  MemoryClass memory = memory_class(variable);
  return memory == MemoryClass::kShared || memory == MemoryClass::kSharedDynamic;
}

MemoryClass memory_class(const llvm::GlobalVariable& variable) {
  llvm::StringRef name = variable.getAttribute(kMemoryAttribute).getValueAsString();
  for (size_t i = 0; i < kMemoryNames.size(); ++i) {
    if (name == kMemoryNames[i]) return static_cast<MemoryClass>(i);
  }
  return MemoryClass::kPrivateConstant;
}

}  // namespace mneme::codegen::host
