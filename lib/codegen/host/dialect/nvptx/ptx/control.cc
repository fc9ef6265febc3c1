// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's instructions that steer threads: barriers, ends, hints; and its special registers.
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/host/abi.h"
#include "codegen/host/dialect/nvptx/ptx/barriers.h"
#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"
#include "codegen/host/dialect/steps.h"
#include "codegen/host/neutral/memory_spaces.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/neutral/split_barriers.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

// barrier.cluster: of the block, which is a cluster of its own.
PtxResult raise_cluster_barrier(PtxInstruction& instruction) {
  PtxName& name = instruction.name;
  name.take("aligned");
  if (name.take("arrive")) {
    name.take_one_of({"release", "relaxed"});
    call_split_arrive(instruction.builder);
  } else if (name.take("wait")) {
    name.take("acquire");
    call_split_wait(instruction.builder);
  } else {
    return std::nullopt;
  }
  return name.is_used_up() && instruction.operands.empty() ? PtxResult(PtxValues{}) : std::nullopt;
}

// bar and barrier, of the block or of a warp.
PtxResult raise_barrier(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  auto& in = instruction.operands;
  if (name.take("cluster")) return raise_cluster_barrier(instruction);
  name.take("cta");
  name.take("aligned");
  if (name.take("warp")) {
    if (!name.take("sync") || !name.is_used_up()) return std::nullopt;
    call_wave_sync(builder);
    return PtxValues{};
  }
  auto number = [&](Value* operand) { return as_type(builder, operand, builder.getInt32Ty()); };
  StringRef kind = name.take_one_of({"sync", "arrive", "red"});
  if (kind == "red") {
    StringRef operation = name.take_one_of({"popc", "and", "or"});
    bool type = name.take(operation == "popc" ? "u32" : "pred");
    if (operation.empty() || !type || !name.is_used_up() || in.size() != 2 || instruction.results != 1) {
      return std::nullopt;
    }
    return PtxValues{barrier_vote(builder, operation, as_type(builder, in[1], builder.getInt1Ty()))};
  }
  if (kind.empty() || !name.is_used_up() || in.empty() || in.size() > 2) return std::nullopt;
  if (kind == "arrive" && in.size() != 2) return std::nullopt;
  if (in.size() == 1) {
    call_barrier(builder);
  } else if (kind == "sync") {
    meet_at_named_barrier(builder, number(in[0]), number(in[1]));
  } else {
    arrive_at_named_barrier(builder, number(in[0]), number(in[1]));
  }
  return PtxValues{};
}

Value* product(Builder& builder, Query what) {
  Value* result = call_query(builder, what, 0);
  for (unsigned dimension : {1u, 2u}) result = builder.CreateMul(result, call_query(builder, what, dimension));
  return result;
}

// ".x" to ".z" of something asked of the launch; ".w" is always zero.
Value* query_register(Builder& builder, StringRef name) {
  auto [stem, dimension] = name.split('.');
  size_t which = StringRef("xyzw").find(dimension);
  if (dimension.size() != 1 || which == StringRef::npos) return nullptr;
  bool exists = llvm::is_contained(
      {"tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"}, stem);
  if (dimension == "w") return exists ? builder.getInt32(0) : nullptr;
  unsigned index = static_cast<unsigned>(which);
  if (stem == "tid") return call_query(builder, Query::kLocalId, index);
  if (stem == "ntid") return call_query(builder, Query::kLocalSize, index);
  if (stem == "ctaid") return call_query(builder, Query::kGroupId, index);
  if (stem == "nctaid") return call_query(builder, Query::kGroupCount, index);
  // A block is a cluster of its own.
  if (stem == "clusterid") return call_query(builder, Query::kGroupId, index);
  if (stem == "nclusterid") return call_query(builder, Query::kGroupCount, index);
  if (stem == "cluster_ctaid") return builder.getInt32(0);
  return stem == "cluster_nctaid" ? builder.getInt32(1) : nullptr;
}

// The bits of lanes at, below, above one's own.
Value* lane_mask(Builder& builder, StringRef which) {
  Value* lane = lane_index(builder, kWarpSize);
  auto up_from = [&](uint32_t bits) { return builder.CreateShl(builder.getInt32(bits), lane); };
  if (which == "eq") return up_from(1);
  if (which == "ge") return up_from(~0u);
  if (which == "gt") return up_from(~1u);
  if (which == "lt") return builder.CreateNot(up_from(~0u));
  return which == "le" ? builder.CreateNot(up_from(~1u)) : nullptr;
}

Value* warp_count(Builder& builder) {
  Value* threads = builder.CreateAdd(product(builder, Query::kLocalSize), builder.getInt32(kWarpSize - 1));
  return builder.CreateUDiv(threads, builder.getInt32(kWarpSize));
}

// The shared memory that CUDA keeps for itself in front of a kernel's, and by whose offset cooperative groups find
// theirs: here a variable of its size.
Value* reserved_shared(Builder& builder) {
  constexpr char kName[] = "mneme.reserved.shared";
  constexpr uint64_t kSize = 1024;
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::GlobalVariable* variable = module.getNamedGlobal(kName);
  if (!variable) {
    llvm::Type* type = llvm::ArrayType::get(builder.getInt8Ty(), kSize);
    variable =
        new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                                 kName, nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    variable->setAlignment(llvm::Align(16));
    set_memory_class(*variable, MemoryClass::kShared);
  }
  return builder.CreatePtrToInt(variable, builder.getInt32Ty());
}

// alloca, stacksave, stackrestore.
PtxResult raise_stack(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  auto& in = instruction.operands;
  StringRef operation = instruction.name.operation();
  if (!instruction.name.take("u64") || !instruction.name.is_used_up()) return std::nullopt;
  llvm::Type* number = builder.getInt64Ty();
  if (operation == "stacksave" && in.empty() && instruction.results == 1) {
    return PtxValues{builder.CreatePtrToInt(builder.CreateStackSave(), number)};
  }
  if (operation == "stackrestore" && in.size() == 1 && instruction.results == 0) {
    builder.CreateStackRestore(as_type(builder, in[0], builder.getPtrTy()));
    return PtxValues{};
  }
  auto* align = in.size() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(in[1]) : nullptr;
  if (operation != "alloca" || instruction.results != 1 || in.empty() || in.size() > 2) return std::nullopt;
  if (in.size() == 2 && (!align || !llvm::isPowerOf2_64(align->getZExtValue()))) return std::nullopt;
  auto* made = builder.CreateAlloca(builder.getInt8Ty(), as_type(builder, in[0], number));
  made->setAlignment(llvm::Align(align ? std::min<uint64_t>(align->getZExtValue(), 128) : 8));
  return PtxValues{builder.CreatePtrToInt(made, number)};
}

// mapa, getctarank: a block is a cluster of its own.
PtxResult raise_cluster(PtxInstruction& instruction) {
  auto& in = instruction.operands;
  PtxName& name = instruction.name;
  bool maps = name.operation() == "mapa";
  name.take("shared::cluster");
  if (!name.take_type() || !name.is_used_up() || in.size() != (maps ? 2u : 1u) || instruction.results != 1) {
    return std::nullopt;
  }
  return PtxValues{maps ? in[0] : instruction.builder.getInt32(0)};
}

}  // namespace

Value* barrier_vote(Builder& builder, StringRef operation, Value* condition) {
  if (operation == "popc") return call_barrier_count(builder, condition);
  if (operation == "or") return builder.CreateIsNotNull(call_barrier_count(builder, condition));
  return builder.CreateIsNull(call_barrier_count(builder, builder.CreateNot(condition)));
}

Value* ptx_register(Builder& builder, StringRef name) {
  if (Value* value = query_register(builder, name)) return value;
  if (name.consume_front("lanemask_")) return lane_mask(builder, name);
  // Where the driver keeps a grid's barrier, which cooperative groups wait at.
  if (name == "envreg1" || name == "envreg2") {
    Value* address = builder.CreatePtrToInt(call_implicit(builder), builder.getInt64Ty());
    address = builder.CreateAdd(address, builder.getInt64(kGridWorkspace));
    return builder.CreateTrunc(name == "envreg1" ? builder.CreateLShr(address, 32) : address, builder.getInt32Ty());
  }
  unsigned which = 0;
  if (name.consume_front("envreg")) return !name.getAsInteger(10, which) && which < 32 ? builder.getInt32(0) : nullptr;
  if (name.consume_front("pm")) {  // counters that count nothing
    bool wide = name.consume_back("_64");
    if (name.getAsInteger(10, which) || which > 7) return nullptr;
    return builder.getIntN(wide ? 64 : 32, 0);
  }
  auto of_clock = [&] { return builder.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {}); };
  auto number = llvm::StringSwitch<int>(name)
                    .Cases("gridid", "smid", "cluster_ctarank", "is_explicit_cluster", "reserved_smem_offset_begin", 0)
                    .Cases("nsmid", "cluster_nctarank", 1)
                    .Case("WARP_SZ", kWarpSize)
                    .Case("warpsize", kWarpSize)
                    .Default(-1);
  if (number >= 0) {
    return name == "gridid" ? builder.getInt64(0)
                            : static_cast<Value*>(builder.getInt32(static_cast<uint32_t>(number)));
  }
  if (name == "laneid") return lane_index(builder, kWarpSize);
  if (name == "warpid") return builder.CreateUDiv(thread_index(builder), builder.getInt32(kWarpSize));
  if (name == "nwarpid") return warp_count(builder);
  if (name == "clock64") return of_clock();
  if (name == "clock") return builder.CreateTrunc(of_clock(), builder.getInt32Ty());
  if (name == "clock_hi") return builder.CreateTrunc(builder.CreateLShr(of_clock(), 32), builder.getInt32Ty());
  if (name.starts_with("globaltimer")) {  // in nanoseconds
    constexpr uint64_t kNanosecondsPerTick = 1'000'000 / kWallClockRate;
    Value* ticks = call_service(builder, "wall_clock", builder.getInt64Ty(), {});
    Value* time = builder.CreateMul(ticks, builder.getInt64(kNanosecondsPerTick));
    if (name == "globaltimer") return time;
    return builder.CreateTrunc(name == "globaltimer_hi" ? builder.CreateLShr(time, 32) : time, builder.getInt32Ty());
  }
  if (name == "dynamic_smem_size") return shared_dynamic_size(builder);
  if (name == "total_smem_size") return shared_size(builder);
  if (name == "reserved_smem_offset_1") return reserved_shared(builder);
  return nullptr;
}

PtxResult raise_ptx_control(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  StringRef operation = instruction.name.operation();
  if (operation == "bar" || operation == "barrier") return raise_barrier(instruction);
  if (operation == "trap" || operation == "brkpt") {
    call_stop(builder, kTrapped);
    return PtxValues{};
  }
  if (operation == "exit") {
    call_end(builder);
    return PtxValues{};
  }
  if (operation == "alloca" || operation.starts_with("stack")) return raise_stack(instruction);
  if (operation == "mapa" || operation == "getctarank") return raise_cluster(instruction);
  // Hints, and marks for a profiler.
  if (operation == "nanosleep" || operation == "pmevent" || operation == "griddepcontrol" ||
      operation == "setmaxnreg") {
    return PtxValues{};
  }
  return std::nullopt;
}

}  // namespace mneme::codegen::host
