// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What CUDA's kernels ask of their surroundings (abi.h: Services) by names that HIP's do not use.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "base/error.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/dialect/nvptx/raise.h"
#include "codegen/host/neutral/neutral.h"
#include "objects/graph_condition.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr unsigned kWordsAtOnce = 7;

// The bytes of a format, the final zero included.
Value* length_of(Builder& builder, Value* format) {
  llvm::Type* size = builder.getInt64Ty();
  llvm::StringRef text;
  if (llvm::getConstantStringInfo(format, text)) return builder.getInt64(text.size() + 1);
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::FunctionCallee strlen =
      module.getOrInsertFunction("strlen", llvm::FunctionType::get(size, {builder.getPtrTy()}, false));
  return builder.CreateAdd(builder.CreateCall(strlen, {format}), builder.getInt64(1));
}

// clang puts the arguments into a structure of its own.
llvm::StructType* type_of_arguments(Value* buffer) {
  auto* structure = llvm::dyn_cast<llvm::AllocaInst>(buffer->stripPointerCasts());
  return structure ? llvm::dyn_cast<llvm::StructType>(structure->getAllocatedType()) : nullptr;
}

// Those that a format asks for, as a compiler lays them out that tells no types: of four bytes or eight, at multiples
// of their size.
llvm::SmallVector<unsigned, 16> sizes_by_format(llvm::StringRef format) {
  llvm::SmallVector<unsigned, 16> sizes;
  for (size_t at = format.find('%'); at != llvm::StringRef::npos; at = format.find('%')) {
    format = format.drop_front(at + 1);
    llvm::StringRef options = format.take_until([](char c) { return llvm::isAlpha(c) || c == '%'; });
    format = format.drop_front(options.size());
    llvm::StringRef length = format.take_while([](char c) { return llvm::StringRef("hlLjzt").contains(c); });
    format = format.drop_front(length.size());
    if (format.empty()) break;
    char conversion = format.front();
    format = format.drop_front();
    if (conversion == '%') continue;
    sizes.append(options.count('*'), 4);
    bool wide =
        length.contains_insensitive('l') || length.contains('j') || length.contains('z') || length.contains('t');
    sizes.push_back(wide || llvm::StringRef("fFeEgGaAsp").contains(conversion) ? 8 : 4);
  }
  return sizes;
}

// Nothing: they cannot be told.
std::optional<llvm::SmallVector<Value*, 16>> words_of(Builder& builder, Value* format, Value* buffer) {
  llvm::SmallVector<Value*, 16> words;
  buffer = buffer->stripPointerCasts();
  if (llvm::isa<llvm::ConstantPointerNull>(buffer)) return words;
  llvm::Type* wide = builder.getInt64Ty();
  if (llvm::StructType* type = type_of_arguments(buffer)) {
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      Value* address = builder.CreateStructGEP(type, buffer, i);
      words.push_back(as_type(builder, builder.CreateLoad(type->getElementType(i), address), wide));
    }
    return words;
  }
  llvm::StringRef text;
  if (!llvm::getConstantStringInfo(format, text)) return std::nullopt;
  uint64_t offset = 0;
  for (unsigned size : sizes_by_format(text)) {
    offset = llvm::alignTo(offset, size);
    Value* address = builder.CreateConstGEP1_64(builder.getInt8Ty(), buffer, offset);
    words.push_back(
        as_type(builder, builder.CreateAlignedLoad(builder.getIntNTy(size * 8), address, llvm::Align(size)), wide));
    offset += size;
  }
  return words;
}

// vprintf(format, arguments)
Value* print(Builder& builder, Value* format, llvm::ArrayRef<Value*> words) {
  llvm::Type* number = builder.getInt64Ty();
  Value* message = call_service(builder, "print_begin", number, {builder.getInt32(1)});
  message = call_service(builder, "print_string", number,
                         {message, format, length_of(builder, format), builder.getInt32(words.empty())});
  for (size_t i = 0; i < words.size(); i += kWordsAtOnce) {
    size_t count = std::min<size_t>(kWordsAtOnce, words.size() - i);
    llvm::SmallVector<Value*, 10> arguments = {message, builder.getInt32(static_cast<uint32_t>(count))};
    for (size_t j = 0; j < kWordsAtOnce; ++j) arguments.push_back(j < count ? words[i + j] : builder.getInt64(0));
    arguments.push_back(builder.getInt32(i + count == words.size()));
    message = call_service(builder, "print_words", number, arguments);
  }
  return call_service(builder, "print_count", builder.getInt32Ty(), {format});
}

using Raise = llvm::function_ref<Value*(Builder&, llvm::CallInst&)>;

void raise_calls(llvm::Module& module, llvm::StringRef name, Raise raise) {
  llvm::Function* function = module.getFunction(name);
  if (!function || !function->isDeclaration()) return;
  for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledOperand() != function) continue;
    llvm::IRBuilder<> builder(call);
    Value* value = raise(builder, *call);
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(as_type(builder, value, call->getType()));
    call->eraseFromParent();
  }
}

// What virtual tables have in the place of a function that their class does not define.
void stop_at_pure_virtual_calls(llvm::Module& module) {
  llvm::Function* function = module.getFunction("__cxa_pure_virtual");
  if (!function || !function->isDeclaration()) return;
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "", function));
  builder.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
  builder.CreateUnreachable();
}

}  // namespace

void raise_cuda_services(llvm::Module& module, const bundle::KernelInfo& kernel) {
  raise_calls(module, "vprintf", [&](Builder& builder, llvm::CallInst& call) {
    auto words = words_of(builder, call.getArgOperand(0), call.getArgOperand(1));
    if (!words) {
      throw Error::of("kernel '{}' calls vprintf with arguments of its own making, which the host device does not have",
                      kernel.demangled);
    }
    return print(builder, call.getArgOperand(0), *words);
  });
  raise_calls(module, "malloc", [](Builder& builder, llvm::CallInst& call) {
    return call_service(builder, "allocate", builder.getPtrTy(), {call.getArgOperand(0)});
  });
  raise_calls(module, "free", [](Builder& builder, llvm::CallInst& call) {
    return call_service(builder, "release", builder.getVoidTy(), {call.getArgOperand(0)});
  });
  // All handles of conditions are ours there.
  raise_calls(module, objects::kSetCondition, [](Builder& builder, llvm::CallInst& call) -> Value* {
    Value* slot = builder.CreateAnd(call.getArgOperand(0), objects::slot_of(~uint64_t{0}));
    return builder.CreateStore(call.getArgOperand(1), builder.CreateIntToPtr(slot, builder.getPtrTy()));
  });
  stop_at_pure_virtual_calls(module);
  raise_services(module);  // __assertfail, traps
}

}  // namespace mneme::codegen::host
