// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inline assembly that HIP programs and headers contain: what only waits or stands for nothing goes; a few loads and
// stores that libraries spell out are made plain; the rest is refused with its text.
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>

#include "base/error.h"
#include "codegen/host/amdgpu_intrinsics.h"
#include "codegen/host/neutral.h"
#include "codegen/host/raise_amdgpu.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;

// The instructions of a text, without comments, labels of none.
std::vector<StringRef> instructions_of(StringRef text) {
  std::vector<StringRef> found;
  llvm::SmallVector<StringRef, 4> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    for (StringRef comment : {";", "//"}) line = line.split(comment).first;
    line = line.trim();
    if (!line.empty()) found.push_back(line);
  }
  return found;
}

// Waits and cache operations: memory is where it should be already.
bool does_nothing(StringRef instruction) {
  StringRef name = instruction.take_until([](char c) { return llvm::isSpace(c); });
  for (StringRef prefix : {"s_waitcnt", "s_wait_", "s_dcache_", "s_icache_inv", "buffer_gl0_inv", "buffer_gl1_inv",
                           "buffer_wbinvl1", "buffer_wbl2", "buffer_invl2", "buffer_inv"}) {
    if (name.starts_with(prefix)) return true;
  }
  return name == "s_nop" || name == "s_sleep" || name == "s_setprio" || name == "s_inst_prefetch";
}

// Each result of an assembly without instructions is the operand in whose place it stands ("=v,0").
Value* tied_results(llvm::IRBuilderBase& builder, llvm::CallInst& call) {
  auto* assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  llvm::InlineAsm::ConstraintInfoVector constraints = assembly->ParseConstraints();
  unsigned results = 0, operands = 0;
  for (const auto& constraint : constraints) results += constraint.Type == llvm::InlineAsm::isOutput;
  llvm::SmallVector<Value*, 4> values(results);
  for (const auto& constraint : constraints) {
    if (constraint.Type == llvm::InlineAsm::isOutput && constraint.isIndirect) return nullptr;
    if (constraint.Type != llvm::InlineAsm::isInput) continue;
    Value* operand = call.getArgOperand(operands++);
    if (constraint.Codes.empty()) continue;
    unsigned place = 0;
    if (!StringRef(constraint.Codes[0]).getAsInteger(10, place) && place < results) values[place] = operand;
  }
  if (std::find(values.begin(), values.end(), nullptr) != values.end()) return nullptr;
  auto* type = llvm::dyn_cast<llvm::StructType>(call.getType());
  if (!type) return values[0]->getType() == call.getType() ? values[0] : nullptr;
  Value* all = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < results; ++i) {
    if (values[i]->getType() != type->getElementType(i)) return nullptr;
    all = builder.CreateInsertValue(all, values[i], i);
  }
  return all;
}

struct Access {
  StringRef name;  // behind flat_load_, global_store_, …
  unsigned bits;
};
constexpr Access kAccesses[] = {{"ubyte", 8},   {"sbyte", 8},  {"byte", 8},   {"ushort", 16},
                                {"sshort", 16}, {"short", 16}, {"dword", 32}, {"dwordx2", 64},
                                {"b8", 8},      {"b16", 16},   {"b32", 32},   {"b64", 64}};

const Access* find_access(StringRef name) {
  auto* found =
      std::find_if(std::begin(kAccesses), std::end(kAccesses), [&](auto& access) { return access.name == name; });
  return found == std::end(kAccesses) ? nullptr : found;
}

// "flat_load_dword $0, $1 glc" and "flat_store_dword $0, $1 slc", as rocPRIM and hipCUB have them.
bool raise_access(llvm::CallInst& call, StringRef instruction) {
  StringRef name = instruction.take_until([](char c) { return llvm::isSpace(c); });
  StringRef operands = instruction.drop_front(name.size()).trim();
  if (!name.consume_front("flat_") && !name.consume_front("global_")) return false;
  if (!operands.starts_with("$0, $1")) return false;
  StringRef flags = operands.drop_front(6);
  llvm::SmallVector<StringRef, 4> words;
  llvm::SplitString(flags, words, ", \t");
  for (StringRef word : words) {
    if (!llvm::is_contained({"off", "glc", "slc", "dlc", "sc0", "sc1", "nt"}, word)) return false;
  }
  llvm::IRBuilder<> builder(&call);
  if (name.consume_front("load_")) {
    const Access* access = find_access(name);
    unsigned size = call.getType()->getPrimitiveSizeInBits();
    if (!access || call.arg_size() != 1 || size < access->bits) return false;
    llvm::LoadInst* load = builder.CreateLoad(builder.getIntNTy(access->bits), call.getArgOperand(0), true);
    llvm::Type* whole = builder.getIntNTy(size);
    Value* wide = name.starts_with("s") ? builder.CreateSExt(load, whole) : builder.CreateZExt(load, whole);
    call.replaceAllUsesWith(builder.CreateBitCast(wide, call.getType()));
  } else if (name.consume_front("store_")) {
    const Access* access = find_access(name);
    unsigned size = call.arg_size() == 2 ? call.getArgOperand(1)->getType()->getPrimitiveSizeInBits() : 0;
    if (!access || size < access->bits) return false;
    Value* whole = builder.CreateBitCast(call.getArgOperand(1), builder.getIntNTy(size));
    builder.CreateStore(builder.CreateTrunc(whole, builder.getIntNTy(access->bits)), call.getArgOperand(0), true);
  } else {
    return false;
  }
  call.eraseFromParent();
  return true;
}

bool raise_assembly(llvm::CallInst& call) {
  StringRef text = llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->getAsmString();
  std::vector<StringRef> instructions = instructions_of(text);
  if (instructions.size() == 1 && raise_access(call, instructions[0])) return true;
  llvm::IRBuilder<> builder(&call);
  for (StringRef instruction : instructions) {
    if (instruction != "s_barrier" && !does_nothing(instruction)) return false;
  }
  Value* results = nullptr;
  if (!call.getType()->isVoidTy() && !(results = tied_results(builder, call))) return false;
  if (llvm::is_contained(instructions, "s_barrier")) call_barrier(builder);
  if (results) call.replaceAllUsesWith(results);
  fence_compiler(call);
  call.eraseFromParent();
  return true;
}

}  // namespace

void raise_inline_assembly(llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call || !call->isInlineAsm()) continue;
      auto* plain = llvm::dyn_cast<llvm::CallInst>(call);
      if (plain && raise_assembly(*plain)) continue;
      throw Error::of("kernel '{}' uses inline assembly ('{}'), which the host device does not have", kernel.demangled,
                      llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString());
    }
  }
}

}  // namespace mneme::codegen::host
