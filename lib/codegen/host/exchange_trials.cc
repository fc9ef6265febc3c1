// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/exchange_trials.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "codegen/host/abi.h"
#include "codegen/host/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr unsigned kWavesTried = 2;
constexpr uint8_t kRounds = 8;  // of a loop that both are in, and of one of them
constexpr uint8_t kInnerRounds = 3;
constexpr unsigned kMostTries = 40000;  // for a kernel; then nothing more is found

std::optional<Operation> operation_at(const llvm::User* user) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(user);
  if (!call || !call->getCalledFunction()) return std::nullopt;
  return operation_of(*call->getCalledFunction());
}

bool is_size(const llvm::Value* value) {
  auto* user = llvm::dyn_cast<llvm::User>(value);
  auto operation = user ? operation_at(user) : std::nullopt;
  return operation && operation->kind == OperationKind::kQuery && operation->query == Query::kLocalSize;
}

bool is_product_with_size(const llvm::Value* value) {
  auto* product = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return product && product->getOpcode() == llvm::Instruction::Mul &&
         llvm::any_of(product->operands(), [](const llvm::Use& factor) { return is_size(factor); });
}

// The dimensions that blocks have: those of which more is asked than for the work-item's number in its block.
unsigned dimensions_of(llvm::Function& function) {
  unsigned dimensions = 1;
  for (auto& [call, operation] : operations_in(function)) {
    if (operation.kind != OperationKind::kQuery || operation.query != Query::kLocalId) continue;
    bool numbers = llvm::all_of(call->users(), [](const llvm::User* user) {
      if (is_product_with_size(user)) return true;
      auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(user);
      return sum && sum->getOpcode() == llvm::Instruction::Add &&
             llvm::any_of(sum->operands(), [](const llvm::Use& part) { return is_product_with_size(part); });
    });
    if (!numbers) dimensions = std::max(dimensions, operation.dimension + 1);
  }
  return dimensions;
}

using Shape = std::array<uint32_t, 3>;
std::vector<Shape> shapes(unsigned dimensions) {
  if (dimensions == 1) return {{256, 1, 1}};
  if (dimensions == 2) return {{8, 16, 1}, {16, 16, 1}, {32, 8, 1}};
  return {{4, 4, 8}, {8, 8, 4}, {16, 4, 4}};
}

bool has(uint64_t lanes, unsigned lane) { return lanes >> lane & 1; }

// Lanes whose bytes lie in the variable, and whose indices in the array that they index; how others come to be there is
// not known.
uint64_t lanes_within(const SharedAccess& access, const Moment& moment, LaneValues& values) {
  const LaneNumbers& addresses = values.at(access.pointer, moment);
  uint64_t begin = values.address_of(*access.variable);
  const llvm::DataLayout& layout = access.instruction->getDataLayout();
  uint64_t size = layout.getTypeAllocSize(access.variable->getValueType());
  if (memory_class(*access.variable) == MemoryClass::kSharedDynamic) size = kMaxSharedBytes;
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
    uint64_t offset = addresses.of[lane] - begin;
    if (offset < size && size - offset >= access.size) lanes |= uint64_t{1} << lane;
  }
  auto* address = llvm::dyn_cast<llvm::GEPOperator>(access.pointer);
  for (; address; address = llvm::dyn_cast<llvm::GEPOperator>(address->getPointerOperand())) {
    llvm::Type* type = address->getSourceElementType();
    for (auto index = std::next(address->idx_begin()); index != address->idx_end(); ++index) {
      auto* array = llvm::dyn_cast<llvm::ArrayType>(type);
      type = llvm::GetElementPtrInst::getTypeAtIndex(type, index->get());
      if (!array || llvm::isa<llvm::Constant>(index->get())) continue;
      const LaneNumbers& numbers = values.at(index->get(), moment);
      for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
        if (numbers.of[lane] >= array->getNumElements()) lanes &= ~(uint64_t{1} << lane);
      }
    }
  }
  return lanes;
}

// Whether bytes of one lane's are another's. All are in the same variable.
bool overlap(const LaneNumbers& left, uint64_t left_lanes, uint64_t left_size, const LaneNumbers& right,
             uint64_t right_lanes, uint64_t right_size) {
  std::array<uint32_t, kTriedLanes> others = {};
  unsigned count = 0;
  for (unsigned b = 0; b < kTriedLanes; ++b) {
    if (has(right_lanes, b)) others[count++] = static_cast<uint32_t>(right.of[b]);
  }
  auto range = static_cast<uint32_t>(left_size + right_size - 1), ahead = static_cast<uint32_t>(left_size - 1);
  auto touch = [&](uint32_t a, uint32_t b) { return a - b + ahead < range; };
  for (unsigned a = 0; a < kTriedLanes; ++a) {
    if (!has(left_lanes, a)) continue;
    auto begin = static_cast<uint32_t>(left.of[a]);
    unsigned touched = 0;
    for (unsigned i = 0; i < count; ++i) touched += touch(begin, others[i]);
    bool itself = has(right_lanes, a) && touch(begin, static_cast<uint32_t>(right.of[a]));
    if (touched > itself) return true;
  }
  return false;
}

bool same_in(uint64_t lanes, const LaneNumbers& left, const LaneNumbers& right) {
  for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
    if (has(lanes, lane) && left.of[lane] != right.of[lane]) return false;
  }
  return true;
}

}  // namespace

std::vector<SharedAccess> shared_accesses(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::vector<SharedAccess> accesses;
  auto add = [&](llvm::Instruction& instruction, llvm::Value* pointer, uint64_t size, bool reads, bool writes) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    auto* variable = objects.size() == 1 ? llvm::dyn_cast<llvm::GlobalVariable>(objects[0]) : nullptr;
    if (!variable) return;
    MemoryClass memory = memory_class(*variable);
    if (memory != MemoryClass::kShared && memory != MemoryClass::kSharedDynamic) return;
    accesses.push_back({&instruction, pointer, variable, size, reads, writes, instruction.isAtomic()});
  };
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) {
      uint64_t size = layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue();
      bool writes = llvm::isa<llvm::StoreInst>(instruction);
      add(instruction, llvm::getLoadStorePointerOperand(&instruction), size, !writes, writes);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      if (update->getOperation() == llvm::AtomicRMWInst::Xchg) continue;
      add(instruction, update->getPointerOperand(), layout.getTypeStoreSize(update->getType()), true, true);
    } else if (auto* bytes = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      auto* size = llvm::dyn_cast<llvm::ConstantInt>(bytes->getLength());
      if (!size) continue;
      add(instruction, bytes->getRawDest(), size->getZExtValue(), false, true);
      auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(bytes);
      if (copy) add(instruction, copy->getRawSource(), size->getZExtValue(), true, false);
    }
  }
  return accesses;
}

ExchangeTrials::ExchangeTrials(llvm::Function& function, const llvm::DominatorTree& dominators,
                               const llvm::LoopInfo& loops)
    : dominators_(dominators), loops_(loops), left_(kMostTries) {
  for (const Shape& shape : shapes(dimensions_of(function))) {
    for (uint32_t wave = 0; wave < kWavesTried; ++wave) {
      waves_.emplace_back(dominators, loops, TriedWave{shape, wave * kTriedLanes});
    }
  }
}

const llvm::Loop* ExchangeTrials::only_around(const SharedAccess& one, const SharedAccess& other,
                                              unsigned round) const {
  const llvm::Loop* outermost = nullptr;
  for (auto* loop = loops_.getLoopFor(one.instruction->getParent()); loop; loop = loop->getParentLoop()) {
    if (loop->getLoopDepth() > round && (round || !loop->contains(other.instruction))) outermost = loop;
  }
  return outermost;
}

bool ExchangeTrials::goes_into(const llvm::Loop& loop) {
  return llvm::all_of(waves_, [&](LaneValues& wave) { return wave.goes_into(loop); });
}

bool ExchangeTrials::exchange(const SharedAccess& earlier, const SharedAccess& later, const Way& way) {
  const llvm::Loop* round = loops_.getLoopFor(later.instruction->getParent());
  while (round && round->getLoopDepth() != way.round) round = round->getParentLoop();
  bool own = keeps_its_own(earlier, later, round);
  std::vector<Try> moments = tries(earlier, later, way);
  bool several_shapes = waves_.size() > kWavesTried;
  for (LaneValues& wave : waves_) {
    std::set<std::tuple<const LaneNumbers*, const LaneNumbers*, uint64_t, uint64_t>> seen;
    for (const Try& moment : moments) {
      const LaneNumbers& first = wave.at(earlier.pointer, moment.earlier);
      const LaneNumbers& then = wave.at(later.pointer, moment.later);
      uint64_t first_lanes = wave.lanes_in(*earlier.instruction->getParent(), moment.earlier);
      uint64_t then_lanes = wave.lanes_in(*later.instruction->getParent(), moment.later);
      if (!seen.emplace(&first, &then, first_lanes, then_lanes).second) continue;
      if (left_ == 0) return false;
      --left_;
      first_lanes &= lanes_within(earlier, moment.earlier, wave);
      then_lanes &= lanes_within(later, moment.later, wave);
      if (own && same_in(then_lanes, first, then)) continue;
      if (several_shapes) {
        // No block has a shape in which lanes overwrite each other's elements.
        const SharedAccess& store = earlier.writes ? earlier : later;
        const LaneNumbers& to = earlier.writes ? first : then;
        uint64_t lanes = earlier.writes ? first_lanes : then_lanes;
        if (!to.made_up && !to.uniform() && overlap(to, lanes, store.size, to, lanes, store.size)) continue;
      }
      if (overlap(first, first_lanes, earlier.size, then, then_lanes, later.size)) return true;
    }
  }
  return false;
}

std::vector<ExchangeTrials::Try> ExchangeTrials::tries(const SharedAccess& earlier, const SharedAccess& later,
                                                       const Way& way) {
  const llvm::Loop* first = loops_.getLoopFor(earlier.instruction->getParent());
  const llvm::Loop* then = loops_.getLoopFor(later.instruction->getParent());
  const llvm::Loop* common = first;
  while (common && !common->contains(later.instruction)) common = common->getParentLoop();
  unsigned first_depth = first ? first->getLoopDepth() : 0, then_depth = then ? then->getLoopDepth() : 0;
  unsigned same = way.round ? way.round - 1 : common ? common->getLoopDepth() : 0;
  unsigned fixed = way.round ? way.round : same;
  auto up_to = [](bool any, uint8_t most) { return any ? most : uint8_t{1}; };
  auto at = [&](const llvm::Loop* loop, unsigned depth, uint8_t outer, uint8_t round, uint8_t inner) {
    Moment moment;
    moment.loop = loop;
    for (unsigned i = 0; i < std::min(depth, Moment::kMostLoops); ++i) {
      moment.iteration[i] = i < same ? outer : i < fixed ? round : inner;
    }
    return moment;
  };
  const llvm::Loop* left = way.from_last ? only_around(earlier, later, way.round) : nullptr;
  std::vector<Try> found;
  for (uint8_t outer = 0; outer < up_to(same > 0, way.round ? kInnerRounds : kRounds); ++outer) {
    for (uint8_t round = 0; round < up_to(way.round > 0, kRounds); ++round) {
      std::optional<uint8_t> last =
          left ? waves_.front().iterations_of(*left, at(first, first_depth, outer, round, 0)) : std::nullopt;
      for (uint8_t a = 0; a < up_to(first_depth > fixed, kInnerRounds); ++a) {
        Moment before = at(first, first_depth, outer, round, a);
        if (last == 0) break;
        if (last && fixed < Moment::kMostLoops) before.iteration[fixed] = *last - 1;
        for (uint8_t b = 0; b < up_to(then_depth > fixed, kInnerRounds); ++b) {
          Moment after = at(then, then_depth, outer, round + 1, b);
          if (way.to_first && fixed < Moment::kMostLoops) after.iteration[fixed] = 0;
          found.push_back({before, after});
        }
      }
    }
  }
  return found;
}

// Whether a lane that touches the same address both times has nothing of others' there, as far as compilers care: it
// reads what it has just written, or writes where it has just read, whenever it reads.
bool ExchangeTrials::keeps_its_own(const SharedAccess& earlier, const SharedAccess& later,
                                   const llvm::Loop* round) const {
  if (earlier.atomic || later.atomic) return false;
  const llvm::BasicBlock *first = earlier.instruction->getParent(), *then = later.instruction->getParent();
  if (!earlier.writes) return first == then || guards_of(*first) == guards_of(*then);
  if (!round) return dominators_.dominates(earlier.instruction, later.instruction);
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  round->getLoopLatches(latches);
  return llvm::all_of(latches, [&](llvm::BasicBlock* latch) { return dominators_.dominates(first, latch); });
}

std::vector<ExchangeTrials::Guard> ExchangeTrials::guards_of(const llvm::BasicBlock& block) const {
  std::vector<Guard> guards;
  for (auto* node = dominators_.getNode(&block); node && node->getIDom(); node = node->getIDom()) {
    const llvm::BasicBlock* fork = node->getIDom()->getBlock();
    const llvm::Instruction* branch = fork->getTerminator();
    for (unsigned side = 0; branch->getNumSuccessors() > 1 && side < branch->getNumSuccessors(); ++side) {
      llvm::BasicBlockEdge edge(fork, branch->getSuccessor(side));
      if (dominators_.dominates(edge, &block)) guards.emplace_back(fork, side);
    }
  }
  return guards;
}

bool ExchangeTrials::parts_at(const llvm::BasicBlock& fork, bool also_memory) {
  const llvm::Instruction* end = fork.getTerminator();
  if (!llvm::isa<llvm::BranchInst, llvm::SwitchInst>(end)) return true;
  Moment moment;
  moment.loop = loops_.getLoopFor(&fork);
  for (uint8_t iteration : {0, 1, 2, 3}) {
    moment.iteration.fill(iteration);
    const LaneNumbers& asked = waves_.front().at(end->getOperand(0), moment);
    if (asked.by_lane || (also_memory && asked.of_memory)) return true;
  }
  return false;
}

}  // namespace mneme::codegen::host
