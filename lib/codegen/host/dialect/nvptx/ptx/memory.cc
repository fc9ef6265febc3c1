// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's loads and stores. What a name says of caches only hints; addresses in shared memory are distances from its
// beginning.
#include "codegen/host/dialect/nvptx/ptx/memory.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/host/neutral/memory_spaces.h"

namespace mneme::codegen::host {
namespace {

using llvm::AtomicOrdering;
using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

// Where data may stay, and what is fetched along: nothing here.
void take_cache_hints(PtxName& name) {
  name.take_one_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  for (StringRef part :
       {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B",
        "L2::128B", "L2::256B", "L2::evict_last", "L2::evict_normal", "L2::evict_first"}) {
    name.take(part);
  }
}

struct Access {
  PtxType type;
  unsigned count = 1;  // elements of a vector
  AtomicOrdering ordering = AtomicOrdering::NotAtomic;
  bool is_volatile = false;
  StringRef space;
};

std::optional<Access> take_access(PtxName& name) {
  Access access;
  access.is_volatile = name.take("volatile") || name.take("mmio");
  name.take("weak");
  bool constant = name.take("nc");
  StringRef order = name.take_one_of({"relaxed", "acquire", "release"});
  access.ordering = order.empty()        ? AtomicOrdering::NotAtomic
                    : order == "relaxed" ? AtomicOrdering::Monotonic
                    : order == "acquire" ? AtomicOrdering::Acquire
                                         : AtomicOrdering::Release;
  if (access.ordering != AtomicOrdering::NotAtomic && take_ptx_scope(name).empty()) return std::nullopt;
  access.space = take_ptx_space(name);
  if (constant && access.space != "global") return std::nullopt;
  take_cache_hints(name);
  access.count = name.take("v2") ? 2 : name.take("v4") ? 4 : 1;
  std::optional<PtxType> type = name.take_type();
  if (!type || type->kind == PtxType::kPredicate || !name.is_used_up()) return std::nullopt;
  access.type = *type;
  return access;
}

// All elements at once: what is aligned to sixteen bytes is read and written as a whole, as on the GPU.
llvm::Type* whole_type(Builder& builder, const Access& access) {
  llvm::Type* element = access.type.of(builder.getContext());
  return access.count == 1 ? element : llvm::FixedVectorType::get(element, access.count);
}

bool is_one_atomic(const Access& access) {
  return access.ordering != AtomicOrdering::NotAtomic && access.count == 1 && access.type.bits <= 64;
}

void fence(Builder& builder, AtomicOrdering ordering) {
  if (llvm::isAcquireOrStronger(ordering) || llvm::isReleaseOrStronger(ordering)) builder.CreateFence(ordering);
}

llvm::Align alignment(const Access& access) { return llvm::Align(access.type.bits / 8 * access.count); }

PtxResult load(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  std::optional<Access> access = take_access(instruction.name);
  if (!access || instruction.operands.size() != 1 || instruction.results != access->count) return std::nullopt;
  Value* address = ptx_address(builder, instruction.operands[0], access->space);
  if (!address) return std::nullopt;
  bool atomic = access->ordering != AtomicOrdering::NotAtomic;
  auto* value = builder.CreateAlignedLoad(whole_type(builder, *access), address, alignment(*access),
                                          access->is_volatile || (atomic && !is_one_atomic(*access)));
  if (is_one_atomic(*access)) {
    value->setAtomic(access->ordering);
  } else if (atomic) {
    fence(builder, access->ordering);
  }
  if (access->count == 1) return PtxValues{value};
  PtxValues elements;
  for (unsigned i = 0; i < access->count; ++i) elements.push_back(builder.CreateExtractElement(value, i));
  return elements;
}

PtxResult store(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  std::optional<Access> access = take_access(instruction.name);
  if (!access || instruction.operands.size() != 1 + access->count || instruction.results != 0) return std::nullopt;
  Value* address = ptx_address(builder, instruction.operands[0], access->space);
  if (!address) return std::nullopt;
  llvm::Type* type = whole_type(builder, *access);
  Value* value = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < access->count; ++i) {
    Value* element = as_type(builder, instruction.operands[1 + i], access->type);
    value = access->count == 1 ? element : builder.CreateInsertElement(value, element, i);
  }
  bool atomic = access->ordering != AtomicOrdering::NotAtomic;
  if (atomic && !is_one_atomic(*access)) fence(builder, access->ordering);
  auto* stored = builder.CreateAlignedStore(value, address, alignment(*access),
                                            access->is_volatile || (atomic && !is_one_atomic(*access)));
  if (is_one_atomic(*access)) stored->setAtomic(access->ordering);
  return PtxValues{};
}

// cvta: between generic addresses and those of a space.
PtxResult convert_address(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  bool to = instruction.name.take("to");
  StringRef space = take_ptx_space(instruction.name);
  bool known = instruction.name.take("u64") && instruction.name.is_used_up() && instruction.operands.size() == 1;
  if (!known || space.empty()) return std::nullopt;
  Value* address = instruction.operands[0];
  if (space != "shared") return PtxValues{address};
  Value* beginning = builder.CreatePtrToInt(shared_beginning(builder), builder.getInt64Ty());
  Value* number = as_type(builder, address, builder.getInt64Ty());
  return PtxValues{to ? builder.CreateSub(number, beginning) : builder.CreateAdd(number, beginning)};
}

PtxResult query_space(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  StringRef space = take_ptx_space(instruction.name);
  if (space.empty() || !instruction.name.is_used_up() || instruction.operands.size() != 1) return std::nullopt;
  return PtxValues{is_in_space(builder, as_type(builder, instruction.operands[0], builder.getPtrTy()), space)};
}

// cp.async.mbarrier.arrive: comes when the thread's copies are there. Without noinc one more is to come because of it.
PtxResult arrive_with_copies(PtxInstruction& instruction) {
  PtxName& name = instruction.name;
  const bool expected = name.take("noinc");
  StringRef space = take_ptx_space(name);
  if (!name.take("arrive") || !name.take("b64") || !name.is_used_up() || instruction.operands.size() != 1) {
    return std::nullopt;
  }
  Value* barrier = ptx_address(instruction.builder, instruction.operands[0], space);
  if (!barrier) return std::nullopt;
  if (expected) arrive_at_mbarrier(instruction.builder, barrier);
  return PtxValues{};
}

// cp.async.bulk between global memory and the shared memory of the only block.
PtxResult copy_in_bulk(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  auto& in = instruction.operands;
  StringRef to = name.take_first(), from = name.take_first();
  const bool into = (to == "shared::cluster" || to == "shared::cta") && from == "global",
             out_of = to == "global" && from == "shared::cta";
  const bool tells = name.take("mbarrier::complete_tx::bytes");
  if (!tells && !name.take("bulk_group")) return std::nullopt;
  const size_t wanted = size_t{3} + (tells ? 1 : 0);
  if ((into ? !tells : !out_of || tells) || !name.is_used_up() || in.size() != wanted) return std::nullopt;
  llvm::Align align(16);
  builder.CreateMemCpy(ptx_address(builder, in[0], into ? "shared" : to), align,
                       ptx_address(builder, in[1], into ? from : "shared"), align,
                       as_type(builder, in[2], builder.getInt64Ty()));
  if (tells) expect_bytes(builder, ptx_address(builder, in[3], "shared"), in[2], true);
  return PtxValues{};
}

// cp.async: done at once, and so never waited for.
PtxResult copy(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  if (!name.take("async")) return std::nullopt;
  if (name.take("mbarrier")) return arrive_with_copies(instruction);
  const bool bulk = name.take("bulk");
  if (name.take("commit_group") || name.take("wait_group") || (!bulk && name.take("wait_all"))) {
    if (bulk) name.take("read");
    return name.is_used_up() ? PtxResult(PtxValues{}) : std::nullopt;
  }
  if (bulk) return copy_in_bulk(instruction);
  bool level = !name.take_one_of({"ca", "cg"}).empty();
  bool spaces = !name.take_one_of({"shared", "shared::cta"}).empty() && name.take("global");
  take_cache_hints(name);
  auto& in = instruction.operands;
  if (!level || !spaces || !name.is_used_up() || in.size() < 3 || in.size() > 4) return std::nullopt;
  auto* size = llvm::dyn_cast<llvm::ConstantInt>(in[2]);
  if (!size) return std::nullopt;
  Value *to = ptx_address(builder, in[0], "shared"), *from = ptx_address(builder, in[1], "global");
  copy_asynchronously(builder, to, from, size->getZExtValue(), in.size() == 4 ? in[3] : nullptr);
  return PtxValues{};
}

// fence, membar: of a block, or of all.
PtxResult raise_fence(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  name.take("mbarrier_init");
  bool proxy = name.take("proxy");
  if (proxy && name.take_one_of({"async", "alias"}).empty()) return std::nullopt;
  if (proxy) take_ptx_space(name);
  name.take_one_of({"sc", "acq_rel", "acquire", "release"});
  StringRef scope = name.take_one_of({"cta", "cluster", "gpu", "sys", "gl"});
  if ((scope.empty() && !proxy) || !name.is_used_up() || !instruction.operands.empty()) return std::nullopt;
  fence_scope(builder, scope == "cta");
  return PtxValues{};
}

// createpolicy: where data is to stay. All policies are one here.
PtxResult create_policy(PtxInstruction& instruction) {
  PtxName& name = instruction.name;
  StringRef kind = name.take_one_of({"fractional", "range", "cvt"});
  take_ptx_space(name);
  for (StringRef part : {"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged", "L2"}) {
    while (name.take(part)) {
    }
  }
  if (kind.empty() || !name.take("b64") || !name.is_used_up() || instruction.results != 1) return std::nullopt;
  return PtxValues{instruction.builder.getInt64(0)};
}

}  // namespace

StringRef take_ptx_space(PtxName& name) {
  // A block is a cluster of its own.
  StringRef space = name.take_one_of({"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param"});
  return space.starts_with("shared") ? "shared" : space;
}

StringRef take_ptx_scope(PtxName& name) { return name.take_one_of({"cta", "cluster", "gpu", "sys"}); }

Value* ptx_address(Builder& builder, Value* operand, StringRef space) {
  if (space == "local" || space == "param") return nullptr;
  if (space != "shared") return as_type(builder, operand, builder.getPtrTy());
  Value* distance = builder.CreateZExt(as_type(builder, operand, builder.getInt32Ty()), builder.getInt64Ty());
  return builder.CreateGEP(builder.getInt8Ty(), shared_beginning(builder), distance);
}

Value* is_in_space(Builder& builder, Value* pointer, StringRef space) {
  if (space == "shared") return is_shared(builder, pointer);
  if (space == "local") return is_private(builder, pointer);
  if (space != "global") return builder.getFalse();  // constants are in global memory
  return builder.CreateNot(builder.CreateOr(is_shared(builder, pointer), is_private(builder, pointer)));
}

void fence_scope(Builder& builder, bool block) {
  llvm::SyncScope::ID scope =
      block ? builder.getContext().getOrInsertSyncScopeID("workgroup") : llvm::SyncScope::System;
  builder.CreateFence(AtomicOrdering::SequentiallyConsistent, scope);
}

void copy_asynchronously(Builder& builder, Value* to, Value* from, uint64_t size, Value* given) {
  llvm::Align align(size);
  llvm::Type* type = builder.getIntNTy(static_cast<unsigned>(size * 8));
  if (!given) {
    builder.CreateAlignedStore(builder.CreateAlignedLoad(type, from, align), to, align);
    return;
  }
  // The rest is filled with zeros.
  Value* bytes = as_type(builder, given, builder.getInt64Ty());
  builder.CreateMemSet(to, builder.getInt8(0), size, align);
  builder.CreateMemCpy(to, align, from, llvm::Align(1), bytes);
}

PtxResult raise_ptx_memory(PtxInstruction& instruction) {
  StringRef operation = instruction.name.operation();
  if (operation == "ld" || operation == "ldu") return load(instruction);
  if (operation == "st") return store(instruction);
  if (operation == "atom" || operation == "red") return raise_ptx_atomic(instruction);
  if (operation == "mbarrier") return raise_ptx_mbarrier(instruction);
  if (operation == "createpolicy") return create_policy(instruction);
  if (operation == "cvta") return convert_address(instruction);
  if (operation == "isspacep") return query_space(instruction);
  if (operation == "cp") return copy(instruction);
  if (operation == "fence" || operation == "membar") return raise_fence(instruction);
  if (operation == "prefetch" || operation == "prefetchu" || operation == "discard" || operation == "applypriority") {
    return PtxValues{};
  }
  return std::nullopt;
}

}  // namespace mneme::codegen::host
