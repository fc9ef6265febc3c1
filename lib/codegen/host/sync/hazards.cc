// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/hazards.h"

#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>

#include <array>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

bool is_narrow(int64_t number) { return number > -(int64_t{1} << 32) && number < int64_t{1} << 32; }

}  // namespace

Hazards::Hazards(llvm::DominatorTree& dominators, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution,
                 llvm::AAResults& aliases, const Uniformity& uniformity, unsigned dimensions, unsigned wave_size)
    : dominators_(dominators),
      evolution_(evolution),
      aliases_(aliases),
      uniformity_(uniformity),
      loops_(loops),
      dimensions_(dimensions),
      wave_size_(wave_size),
      may_take_rows_(dimensions <= 1 || dominators.getRoot()->getParent()->hasFnAttribute(kOneDimension)),
      sums_(evolution, loops, uniformity, dimensions, wave_size),
      joins_(*dominators.getRoot()->getParent()) {
  most_ids_.fill(kMostThreads - 1);
  for (const Uniformity::DivergentBranch& branch : uniformity.divergent_branches()) {
    for (llvm::BasicBlock* block : branch.sides()) divergent_.insert(block);
  }
}

bool Hazards::is_hazard(const SharedAccess& earlier, const SharedAccess& later, unsigned round) {
  if (!is_hazard_in_any_block(earlier, later, round)) return false;
  if (!may_take_rows_ || !earlier.pointer || !later.pointer) return true;
  auto has_lane = [&](const SharedAccess& access) {
    const Place& place = place_of(access);
    return place.bytes && place.bytes->has_lane;
  };
  sums_.take_rows(takes_rows_ = true);
  bool is_hazard = !has_lane(earlier) || !has_lane(later) || is_hazard_in_any_block(earlier, later, round);
  sums_.take_rows(takes_rows_ = false);
  needs_rows_ |= !is_hazard;
  return is_hazard;
}

bool Hazards::is_hazard_in_any_block(const SharedAccess& earlier, const SharedAccess& later, unsigned round) {
  if (!earlier.writes && !later.writes) return false;
  if (earlier.atomic && later.atomic) return false;
  if (touch_different_objects(earlier, later)) return false;
  if (!earlier.pointer || !later.pointer) return true;
  Moments moments = {earlier.instruction, later.instruction, round};
  const Place &before = place_of(earlier), &after = place_of(later);
  bool is_global = llvm::isa<llvm::Constant>(before.base);
  if (before.base != after.base) return true;
  if (!is_global && !sums_.is_same(evolution_.getSCEV(const_cast<llvm::Value*>(before.base)), moments)) return true;
  if (give_same_value(earlier, later, moments)) return false;
  if (earlier.size == 0 || later.size == 0) return true;

  llvm::SmallVector<Condition, 8> conditions;
  for (const llvm::SCEV* zero : facts_at(*earlier.instruction->getParent()).zeros) {
    if (!llvm::is_contained(facts_at(*later.instruction->getParent()).zeros, zero)) continue;
    LaneSum sum = sums_.sum_of(zero);
    conditions.push_back({sums_.difference(sum, sum, moments), 0, 0});
  }
  if (before.bytes && after.bytes) {
    conditions.push_back({sums_.difference(*before.bytes, *after.bytes, moments), 1 - static_cast<int64_t>(later.size),
                          static_cast<int64_t>(earlier.size) - 1});
  }
  // The same array, index by index: what is less than an element apart is the same element.
  bool alike = before.offset == after.offset && before.indices.size() == after.indices.size() &&
               llvm::all_of_zip(before.indices, after.indices, [&](const Index& a, const Index& b) {
                 return a.stride == b.stride && a.size == b.size;
               });
  if (alike && !before.indices.empty()) {
    for (size_t i = 0; i + 1 < before.indices.size(); ++i) {
      alike &= before.indices[i + 1].size != 0 && before.indices[i].stride > before.indices[i + 1].stride;
    }
    uint64_t least = static_cast<uint64_t>(before.indices.back().stride);
    alike &= earlier.size <= least && later.size <= least;
  }
  if (alike) {
    for (size_t i = 0; i < before.indices.size(); ++i) {
      conditions.push_back({sums_.difference(before.indices[i].sum, after.indices[i].sum, moments), 0, 0});
    }
  }
  bool is_possible = have_solution(conditions);
  if (!is_possible && takes_rows_) return false;
  if (!is_possible && (takes_lanes_to_differ_ || !have_solution_elsewhere(conditions))) return false;
  if (alike && is_bound_between(before, after, moments)) return false;
  takes_lanes_to_differ_ |= !is_possible;
  return is_possible;
}

bool Hazards::touch_different_objects(const SharedAccess& earlier, const SharedAccess& later) {
  if (earlier.space != Space::kEither && later.space != Space::kEither && earlier.space != later.space) return true;
  if (!earlier.pointer || !later.pointer) return false;
  llvm::SmallVector<const llvm::Value*, 4> first, then;
  llvm::getUnderlyingObjects(earlier.pointer, first, nullptr, 0);
  llvm::getUnderlyingObjects(later.pointer, then, nullptr, 0);
  return llvm::all_of(first, [&](const llvm::Value* a) {
    return llvm::all_of(then, [&](const llvm::Value* b) {
      if (a == b) return false;
      // Dynamic shared memory may have several names.
      auto *one = llvm::dyn_cast<llvm::GlobalVariable>(a), *other = llvm::dyn_cast<llvm::GlobalVariable>(b);
      auto is_dynamic = [](const llvm::GlobalVariable& v) { return memory_class(v) == MemoryClass::kSharedDynamic; };
      if (one && other) return !(is_dynamic(*one) && is_dynamic(*other));
      return aliases_.isNoAlias(llvm::MemoryLocation::getBeforeOrAfter(a), llvm::MemoryLocation::getBeforeOrAfter(b));
    });
  });
}

const Hazards::Place& Hazards::place_of(const SharedAccess& access) {
  auto [found, fresh] = (takes_rows_ ? places_in_rows_ : places_).try_emplace({access.instruction, access.pointer});
  if (fresh) found->second = find_place(access);
  return found->second;
}

Hazards::Place Hazards::find_place(const SharedAccess& access) {
  Place place;
  const llvm::DataLayout& layout = access.instruction->getDataLayout();
  llvm::Value* at = access.pointer;
  while (true) {
    at = at->stripPointerCasts();
    auto* step = llvm::dyn_cast<llvm::GEPOperator>(at);
    if (!step) break;
    std::vector<Index> indices;
    bool known = true;
    for (auto type = llvm::gep_type_begin(step); type != llvm::gep_type_end(step); ++type) {
      llvm::Value* index = type.getOperand();
      if (llvm::StructType* structure = type.getStructTypeOrNull()) {
        auto field = static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(index)->getZExtValue());
        place.offset +=
            static_cast<int64_t>(layout.getStructLayout(structure)->getElementOffset(field).getFixedValue());
        continue;
      }
      int64_t stride = static_cast<int64_t>(type.getSequentialElementStride(layout).getFixedValue());
      if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(index)) {
        known &= is_narrow(number->getSExtValue()) && is_narrow(stride);
        if (known) place.offset += stride * number->getSExtValue();
        continue;
      }
      known &= is_narrow(stride) && evolution_.isSCEVable(index->getType());
      if (!known) break;
      const llvm::SCEV* whole = evolution_.getSCEV(index);
      const llvm::SCEV* number = without_extension(whole);
      int64_t size = 0;
      if (type != llvm::gep_type_begin(step)) {
        auto before = static_cast<size_t>(std::distance(llvm::gep_type_begin(step), type));
        llvm::SmallVector<llvm::Value*, 4> path(llvm::make_range(step->idx_begin(), step->idx_begin() + before));
        auto* array = llvm::dyn_cast_or_null<llvm::ArrayType>(
            llvm::GetElementPtrInst::getIndexedType(step->getSourceElementType(), path));
        if (array) size = static_cast<int64_t>(array->getNumElements());
      }
      indices.push_back({number, whole, stride, size, sums_.sum_of(number)});
    }
    if (!known) {
      place.base = at;
      place.indices.clear();
      return place;
    }
    place.indices.insert(place.indices.begin(), indices.begin(), indices.end());
    at = step->getPointerOperand();
  }
  place.base = at;
  // A pointer that goes through an array: all that is known is its distance from the array.
  if (!llvm::isa<llvm::Constant, llvm::Argument>(at) && evolution_.isSCEVable(at->getType())) {
    const llvm::SCEV* pointer = evolution_.getSCEV(access.pointer);
    auto* base = llvm::dyn_cast<llvm::SCEVUnknown>(evolution_.getPointerBase(pointer));
    if (base && base->getValue() != at) {
      const llvm::SCEV* distance = evolution_.getMinusSCEV(pointer, base);
      if (llvm::isa<llvm::SCEVCouldNotCompute>(distance)) return place;
      Place whole;
      whole.base = base->getValue();
      whole.bytes = sums_.sum_of(distance);
      return whole;
    }
  }
  LaneSum bytes;
  bytes.constant = place.offset;
  for (const Index& index : place.indices) {
    LaneSum part = index.sum;
    part.scale(index.stride);
    bytes.add(part);
  }
  place.bytes = bytes;
  return place;
}

// Whether lanes that are not the same fulfil all conditions.
bool Hazards::have_solution(llvm::ArrayRef<Condition> conditions) const {
  auto fulfilled = [&](const LaneStep& step, llvm::function_ref<bool(const LaneDifference&)> depends) {
    return llvm::all_of(conditions, [&](const Condition& condition) {
      return !depends(condition.difference) || condition.difference.may_be_in(condition.from, condition.to, step);
    });
  };
  auto most_apart = [&](unsigned d) { return std::min(wave_size_ - 1, most_ids_[d]); };
  if (dimensions_ <= 1 || takes_rows_) {
    for (int64_t apart = -most_apart(0); apart <= most_apart(0); ++apart) {
      if (apart != 0 && fulfilled({{apart, 0, 0}, apart}, [](const LaneDifference&) { return true; })) return true;
    }
    return false;
  }
  // By linear index alone; then dimension by dimension. Lanes of a wave are less than a wave apart in all but the
  // first, and in the first, too, where they are the same in all others.
  auto only_linear = [](const LaneDifference& difference) { return difference.local == std::array<int64_t, 3>{}; };
  bool linear = false;
  for (int64_t apart = 1 - wave_size_; apart < wave_size_ && !linear; ++apart) {
    linear = apart != 0 && fulfilled({{}, apart}, only_linear);
  }
  if (!linear) return false;
  for (unsigned d = 0; d < dimensions_; ++d) {
    auto only_this = [d](const LaneDifference& difference) {
      std::array<int64_t, 3> rest = difference.local;
      rest[d] = 0;
      return difference.linear == 0 && rest == std::array<int64_t, 3>{};
    };
    for (int64_t apart = -most_apart(d); apart <= most_apart(d); ++apart) {
      LaneStep step;
      step.local[d] = apart;
      if (apart != 0 && fulfilled(step, only_this)) return true;
    }
  }
  return false;
}

// Whether lanes fulfil all conditions that differ in a dimension that the function does not ask for.
bool Hazards::have_solution_elsewhere(llvm::ArrayRef<Condition> conditions) const {
  if (dimensions_ >= kDimensions) return false;
  auto is_fulfilled = [&](const Condition& condition, const LaneStep& step) {
    return condition.difference.may_be_in(condition.from, condition.to, step);
  };
  if (dimensions_ == 1) {
    for (int64_t apart = 1 - kMostThreads; apart < kMostThreads; ++apart) {
      auto fulfilled = [&](const Condition& condition) { return is_fulfilled(condition, {{apart, 0, 0}, apart}); };
      if (llvm::all_of(conditions, fulfilled)) return true;
    }
    return false;
  }
  return llvm::all_of(conditions, [&](const Condition& condition) {
    const LaneDifference& difference = condition.difference;
    bool is_lanes = difference.linear != 0 || difference.local != std::array<int64_t, 3>{};
    return is_lanes || is_fulfilled(condition, {});
  });
}

// Whether every work-item executes the block. Each loop around it has to run it in every iteration, and at least once.
bool Hazards::is_made_by_all(const llvm::BasicBlock& block) {
  const llvm::BasicBlock* at = &block;
  for (llvm::Loop* loop = loops_.getLoopFor(at); loop; loop = loop->getParentLoop()) {
    auto* rounds = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getBackedgeTakenCount(loop));
    if (!rounds || rounds->isZero() || !loop->getLoopLatch() || !loop->getExitingBlock()) return false;
    if (!dominators_.dominates(at, loop->getLoopLatch())) return false;
    at = loop->getHeader();
  }
  return joins_.dominates(at, dominators_.getRoot());
}

void Hazards::learn_limits(const SharedAccess& access) {
  if (!access.pointer || !is_made_by_all(*access.instruction->getParent())) return;
  for (const Index& index : place_of(access).indices) {
    if (index.size == 0 || index.sum.wraps != 0 || index.sum.linear != 0) continue;
    // id + a constant + counters of loops that all go round; these reach their largest values together.
    int64_t most = index.sum.constant;
    bool known = true;
    for (auto [term, factor] : index.sum.terms) {
      auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(term);
      auto* step = counter ? llvm::dyn_cast<llvm::SCEVConstant>(counter->getStepRecurrence(evolution_)) : nullptr;
      auto* rounds =
          counter ? llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getBackedgeTakenCount(counter->getLoop())) : nullptr;
      known &= step && rounds && counter->isAffine() && factor > 0 && step->getAPInt().isNonNegative() &&
               rounds->getAPInt().ult(kMostThreads) && step->getAPInt().ult(kMostThreads);
      if (!known) break;
      most += factor * step->getAPInt().getSExtValue() * (rounds->getAPInt().getSExtValue() - 1);
    }
    for (unsigned d = 0; known && d < 3; ++d) {
      std::array<int64_t, 3> only = {};
      only[d] = 1;
      if (index.sum.local != only) continue;
      most_ids_[d] = std::max<int64_t>(0, std::min(most_ids_[d], index.size - 1 - most));
    }
  }
}

const Hazards::Facts& Hazards::facts_at(const llvm::BasicBlock& block) {
  auto [found, fresh] = facts_.try_emplace(&block);
  if (!fresh) return found->second;
  Facts facts;
  for (auto* node = dominators_.getNode(&block); node && node->getIDom(); node = node->getIDom()) {
    const llvm::BasicBlock* fork = node->getIDom()->getBlock();
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(fork->getTerminator());
    if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) continue;
    for (unsigned side : {0u, 1u}) {
      if (dominators_.dominates(llvm::BasicBlockEdge(fork, branch->getSuccessor(side)), &block)) {
        take_fact(facts, *branch->getCondition(), side == 0);
      }
    }
  }
  return facts_[&block] = std::move(facts);
}

void Hazards::take_fact(Facts& facts, llvm::Value& condition, bool holds) {
  using namespace llvm::PatternMatch;
  llvm::Value *left, *right;
  if (match(&condition, m_Not(m_Value(left)))) return take_fact(facts, *left, !holds);
  if (holds ? match(&condition, m_LogicalAnd(m_Value(left), m_Value(right)))
            : match(&condition, m_LogicalOr(m_Value(left), m_Value(right)))) {
    take_fact(facts, *left, holds);
    take_fact(facts, *right, holds);
    return;
  }
  auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&condition);
  if (!comparison || !comparison->getOperand(0)->getType()->isIntegerTy()) return;
  const llvm::SCEV* sides[] = {evolution_.getSCEV(comparison->getOperand(0)),
                               evolution_.getSCEV(comparison->getOperand(1))};
  if (comparison->getPredicate() == (holds ? llvm::ICmpInst::ICMP_EQ : llvm::ICmpInst::ICMP_NE)) {
    facts.zeros.push_back(evolution_.getMinusSCEV(sides[0], sides[1]));
  } else if (!comparison->isEquality()) {
    facts.bounds.append({sides[0], sides[1]});
  }
}

bool Hazards::is_below(const llvm::SCEV* number, const llvm::SCEV* bound, const llvm::Instruction& at, bool is_signed) {
  return evolution_.isKnownPredicateAt(is_signed ? llvm::ICmpInst::ICMP_SLT : llvm::ICmpInst::ICMP_ULT, number, bound,
                                       &at);
}

bool Hazards::is_not_below(const llvm::SCEV* number, const llvm::SCEV* bound, const llvm::Instruction& at,
                           bool is_signed) {
  if (evolution_.isKnownPredicateAt(is_signed ? llvm::ICmpInst::ICMP_SGE : llvm::ICmpInst::ICMP_UGE, number, bound,
                                    &at)) {
    return true;
  }
  // bound + something that is not negative, and that does not wrap.
  const llvm::SCEV* more = evolution_.getMinusSCEV(number, bound);
  if (!evolution_.isKnownNonNegative(more)) return false;
  auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(number);
  if (sum && (is_signed ? sum->hasNoSignedWrap() : sum->hasNoUnsignedWrap())) return true;
  bool wraps;
  if (is_signed) {
    (void)evolution_.getSignedRangeMax(more).sadd_ov(evolution_.getSignedRangeMax(bound), wraps);
  } else {
    (void)evolution_.getUnsignedRangeMax(more).uadd_ov(evolution_.getUnsignedRangeMax(bound), wraps);
  }
  return !wraps;
}

bool Hazards::is_bound_between(const Place& earlier, const Place& later, const Moments& moments) {
  llvm::SmallSetVector<const llvm::SCEV*, 8> bounds;
  for (const llvm::Instruction* at : {moments.earlier, moments.later}) {
    for (const llvm::SCEV* bound : facts_at(*at->getParent()).bounds) bounds.insert(bound);
  }
  for (const llvm::SCEV* bound : bounds) {
    if (!sums_.is_same(bound, moments)) continue;
    for (size_t i = 0; i < earlier.indices.size(); ++i) {
      const llvm::SCEV *before = earlier.indices[i].number, *after = later.indices[i].number;
      for (bool is_signed : {false, true}) {
        const llvm::SCEV* limit = bound;
        // Compared as they are, or all as wide as the address.
        if (before->getType() != bound->getType() || after->getType() != bound->getType()) {
          before = earlier.indices[i].whole, after = later.indices[i].whole;
          llvm::Type* type = before->getType();
          if (after->getType() != type || !bound->getType()->isIntegerTy()) break;
          if (evolution_.getTypeSizeInBits(bound->getType()) > evolution_.getTypeSizeInBits(type)) break;
          limit = is_signed ? evolution_.getNoopOrSignExtend(bound, type) : evolution_.getNoopOrZeroExtend(bound, type);
        }
        if (is_below(before, limit, *moments.earlier, is_signed) &&
            is_not_below(after, limit, *moments.later, is_signed)) {
          return true;
        }
        if (is_below(after, limit, *moments.later, is_signed) &&
            is_not_below(before, limit, *moments.earlier, is_signed)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool Hazards::give_same_value(const SharedAccess& earlier, const SharedAccess& later, const Moments& moments) {
  auto* store = llvm::dyn_cast<llvm::StoreInst>(earlier.instruction);
  if (!store || divergent_.contains(store->getParent()) || !uniformity_.is_uniform(*store->getValueOperand())) {
    return false;
  }
  if (!uniformity_.is_uniform(*store->getPointerOperand()) || earlier.size != later.size) return false;
  if (!evolution_.isSCEVable(earlier.pointer->getType())) return false;
  const llvm::SCEV* place = evolution_.getSCEV(earlier.pointer);
  if (place != evolution_.getSCEV(later.pointer) || !sums_.is_same(place, moments)) return false;
  if (!later.writes) return true;
  auto* again = llvm::dyn_cast<llvm::StoreInst>(later.instruction);
  return again && !divergent_.contains(again->getParent()) && uniformity_.is_uniform(*again->getValueOperand());
}

}  // namespace mneme::codegen::host
