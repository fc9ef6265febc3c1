// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's nvvm intrinsics, one by one: most stand for an instruction of PTX (names.h); here are those that do not,
// or whose operands stand otherwise.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include "base/error.h"
#include "codegen/host/dialect/nvptx/matrices.h"
#include "codegen/host/dialect/nvptx/names.h"
#include "codegen/host/dialect/nvptx/ptx/barriers.h"
#include "codegen/host/dialect/nvptx/ptx/memory.h"
#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"
#include "codegen/host/dialect/nvptx/raise.h"
#include "codegen/host/dialect/nvptx/textures.h"
#include "codegen/host/neutral/memory_spaces.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;
// What takes a call's place; null for a call without a value. Nothing: not one of the group's.
using Raised = std::optional<Value*>;

Value* operand(llvm::CallInst& call, unsigned i) { return call.getArgOperand(i); }

// Two values as a call's structure has them.
Value* pair(Builder& builder, llvm::CallInst& call, std::pair<Value*, Value*> values) {
  auto* type = llvm::cast<llvm::StructType>(call.getType());
  Value* both = llvm::PoisonValue::get(type);
  both = builder.CreateInsertValue(both, as_type(builder, values.first, type->getElementType(0)), 0);
  return builder.CreateInsertValue(both, as_type(builder, values.second, type->getElementType(1)), 1);
}

// What an instruction gives, as a call does.
Value* as_results(Builder& builder, llvm::CallInst& call, const PtxValues& values) {
  auto* all = llvm::dyn_cast<llvm::StructType>(call.getType());
  if (!all) return values.empty() ? nullptr : as_type(builder, values.front(), call.getType());
  Value* result = llvm::PoisonValue::get(all);
  for (unsigned i = 0; i < all->getNumElements(); ++i) {
    result = builder.CreateInsertValue(result, as_type(builder, values[i], all->getElementType(i)), i);
  }
  return result;
}

Raised raise_special_register(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (!name.consume_front("read.ptx.sreg.")) {
    return name == "is_explicit_cluster" ? Raised(builder.getFalse()) : std::nullopt;
  }
  // What PTX writes with a "_" here has a ".".
  std::string written = name.str();
  for (StringRef stem : {"lanemask", "cluster"}) {
    if (name.starts_with((stem + ".").str())) written[stem.size()] = '_';
  }
  Value* value = name.starts_with("pm") ? builder.getInt32(0)  // performance counters that count nothing
                                        : ptx_register(builder, written);
  return value ? Raised(as_type(builder, value, call.getType())) : std::nullopt;
}

// shfl[.sync].idx.i32[p]: the mask comes first, and not last.
Raised raise_shuffle(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (!name.consume_front("shfl.")) return std::nullopt;
  unsigned first = name.consume_front("sync.") ? 1 : 0;
  auto [mode, type] = name.split('.');
  auto kind = llvm::StringSwitch<Shuffle>(mode)
                  .Case("idx", Shuffle::kIndex)
                  .Case("up", Shuffle::kUp)
                  .Case("down", Shuffle::kDown)
                  .Default(Shuffle::kButterfly);
  Value* value = as_type(builder, operand(call, first), builder.getInt32Ty());
  auto moved = shuffle(builder, kind, value, operand(call, first + 1), operand(call, first + 2));
  if (type.ends_with("p")) return pair(builder, call, moved);
  return as_type(builder, moved.first, call.getType());
}

Raised raise_vote(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (!name.consume_front("vote.")) return std::nullopt;
  bool sync = name.consume_back(".sync");
  Value* mask = sync ? operand(call, 0) : builder.getInt32(UINT32_MAX);
  Value* condition = operand(call, sync ? 1 : 0);
  if (name == "ballot") return vote_ballot(builder, mask, condition);
  if (name == "any") return vote_any(builder, mask, condition);
  return name == "all" ? vote_all(builder, mask, condition) : vote_uniform(builder, mask, condition);
}

Raised raise_match(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (name.starts_with("match.any.sync.i")) return match_any(builder, operand(call, 0), operand(call, 1));
  if (!name.starts_with("match.all.sync.i")) return std::nullopt;
  return pair(builder, call, match_all(builder, operand(call, 0), operand(call, 1)));
}

// redux.sync.umin, of a value and a mask.
Raised raise_redux(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (!name.consume_front("redux.sync.")) return std::nullopt;
  bool is_unsigned = name == "umin" || name == "umax";
  if (is_unsigned) name = name.drop_front();
  bool bits = name == "and" || name == "or" || name == "xor";
  std::string instruction = "redux.sync." + name.str() + (bits ? ".b32" : is_unsigned ? ".u32" : ".s32");
  PtxResult result = raise_ptx(builder, instruction, {operand(call, 0), operand(call, 1)});
  return result ? Raised(result->front()) : std::nullopt;
}

Raised raise_barrier(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (name.starts_with("barrier.cluster.")) return raise_ptx(builder, name, {}) ? Raised(nullptr) : std::nullopt;
  if (name == "bar.warp.sync") {
    call_wave_sync(builder);
  } else if (name == "barrier.sync.cnt" || name == "barrier") {
    meet_at_named_barrier(builder, operand(call, 0), operand(call, 1));
  } else if (name == "barrier0" || name == "barrier.n" || name == "barrier.sync" || name == "bar.sync") {
    call_barrier(builder);
  } else if (name.consume_front("barrier0.")) {
    Value* answer = barrier_vote(builder, name, builder.CreateIsNotNull(operand(call, 0)));
    return as_type(builder, answer, call.getType());
  } else {
    return std::nullopt;
  }
  return nullptr;
}

// atomic.add.gen.f.cta, and atomic.load.inc.32.
Raised raise_atomic(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (!name.consume_front("atomic.")) return std::nullopt;
  bool load = name.consume_front("load.");
  StringRef operation = name.split('.').first;
  // Of the least and greatest, which exist for signed numbers only.
  bool is_float = call.getType()->isFloatingPointTy();
  PtxType type{is_float ? PtxType::kFloat
               : load   ? PtxType::kUnsigned
                        : PtxType::kSigned,
               static_cast<unsigned>(call.getType()->getPrimitiveSizeInBits()), 1};
  llvm::SmallVector<Value*, 2> values(llvm::drop_begin(call.args()));
  Value* old = update_memory(builder, operation, operand(call, 0), values, type);
  return old ? Raised(as_type(builder, old, call.getType())) : std::nullopt;
}

Raised raise_memory(Builder& builder, llvm::CallInst& call, StringRef name) {
  if (name.starts_with("ldg.global.") || name.starts_with("ldu.global.")) {
    llvm::MaybeAlign align(llvm::cast<llvm::ConstantInt>(operand(call, 1))->getZExtValue());
    return builder.CreateAlignedLoad(call.getType(), operand(call, 0), align);
  }
  if (name.starts_with("ptr.")) return as_type(builder, operand(call, 0), call.getType());
  if (name.consume_front("isspacep.")) {
    if (name == "shared.cluster") name = "shared";
    return is_in_space(builder, builder.CreateAddrSpaceCast(operand(call, 0), builder.getPtrTy()), name);
  }
  if (name.starts_with("mapa")) return as_type(builder, operand(call, 0), call.getType());  // the only block's own
  if (name.starts_with("getctarank")) return builder.getInt32(0);
  if (name.consume_front("cp.async.ca.shared.global.") || name.consume_front("cp.async.cg.shared.global.")) {
    unsigned size = 0;
    bool partial = name.consume_back(".s");
    if (name.getAsInteger(10, size)) return std::nullopt;
    copy_asynchronously(builder, as_type(builder, operand(call, 0), builder.getPtrTy()),
                        as_type(builder, operand(call, 1), builder.getPtrTy()), size,
                        partial ? operand(call, 2) : nullptr);
    return nullptr;
  }
  return std::nullopt;
}

Raised raise_bits(Builder& builder, llvm::CallInst& call, StringRef name) {
  llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty();
  auto rotate = [&](llvm::Intrinsic::ID side) {
    Value* amount = builder.CreateZExtOrTrunc(operand(call, 1), call.getType());
    return builder.CreateIntrinsic(side, {call.getType()}, {operand(call, 0), operand(call, 0), amount});
  };
  if (name.starts_with("bitcast.")) return as_type(builder, operand(call, 0), call.getType());
  if (name.starts_with("move.")) return operand(call, 0);
  if (name == "lohi.i2d") {
    Value* high = builder.CreateShl(builder.CreateZExt(operand(call, 1), wide), 32);
    Value* both = builder.CreateOr(high, builder.CreateZExt(operand(call, 0), wide));
    return builder.CreateBitCast(both, builder.getDoubleTy());
  }
  if (name == "d2i.lo" || name == "d2i.hi") {
    Value* bits = as_type(builder, operand(call, 0), wide);
    return builder.CreateTrunc(name == "d2i.hi" ? builder.CreateLShr(bits, 32) : bits, word);
  }
  if (name == "rotate.b32" || name == "rotate.b64") return rotate(llvm::Intrinsic::fshl);
  if (name == "rotate.right.b64") return rotate(llvm::Intrinsic::fshr);
  if (name == "swap.lo.hi.b64") {
    Value* half = builder.getInt64(32);
    return builder.CreateIntrinsic(llvm::Intrinsic::fshl, {wide}, {operand(call, 0), operand(call, 0), half});
  }
  return std::nullopt;
}

Raised raise_texture(Builder& builder, llvm::CallInst& call, StringRef name) {
  std::optional<TextureInstruction> instruction = texture_instruction_of(name);
  if (!instruction) return std::nullopt;
  llvm::SmallVector<Value*, 12> operands;
  for (unsigned i : instruction->operands) operands.push_back(operand(call, i));
  PtxResult result = raise_ptx(builder, instruction->name, operands, instruction->results);
  if (!result) return std::nullopt;
  return as_results(builder, call, *result);
}

Raised raise_matrix(Builder& builder, llvm::CallInst& call, StringRef name) {
  std::string instruction = matrix_instruction_of(name);
  if (instruction.empty()) return std::nullopt;
  llvm::SmallVector<Value*, 32> operands(call.args());
  auto* all = llvm::dyn_cast<llvm::StructType>(call.getType());
  unsigned results = all ? all->getNumElements() : call.getType()->isVoidTy() ? 0 : 1;
  PtxResult result = raise_ptx(builder, instruction, operands, results);
  return result ? as_results(builder, call, *result) : Raised();
}

Raised raise_instruction(Builder& builder, llvm::CallInst& call, StringRef name) {
  std::string instruction = ptx_name_of(name);
  if (instruction.empty()) return std::nullopt;
  llvm::SmallVector<Value*, 4> operands(call.args());
  bool gives = !call.getType()->isVoidTy();
  PtxResult result = raise_ptx(builder, instruction, operands, gives ? 1 : 0);
  if (!result || result->size() != (gives ? 1u : 0u)) return std::nullopt;
  return gives ? as_type(builder, result->front(), call.getType()) : nullptr;
}

bool raise_intrinsic(llvm::CallInst& call, StringRef name) {
  llvm::IRBuilder<> builder(&call);
  for (auto* raise : {raise_special_register, raise_shuffle, raise_vote, raise_match, raise_redux, raise_barrier,
                      raise_atomic, raise_memory, raise_bits, raise_texture, raise_matrix, raise_instruction}) {
    Raised value = raise(builder, call, name);
    if (!value) continue;
    if (*value) call.replaceAllUsesWith(*value);
    call.eraseFromParent();
    return true;
  }
  return false;
}

}  // namespace

void raise_nvvm_intrinsics(llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    StringRef name = function.getName();
    bool registers = function.getIntrinsicID() == llvm::Intrinsic::read_register;
    if (!name.starts_with("llvm.nvvm.") && !registers) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call || registers || !raise_intrinsic(*call, name.drop_front(sizeof "llvm.nvvm." - 1))) {
        throw Error::of("kernel '{}' uses {}, which the host device does not have", kernel.demangled, name.str());
      }
    }
    function.eraseFromParent();
  }
}

}  // namespace mneme::codegen::host
