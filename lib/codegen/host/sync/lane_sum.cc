// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/lane_sum.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr int64_t kSmall = int64_t{1} << 20;    // what is counted as a range, not as "any multiple"
constexpr int64_t kLargest = int64_t{1} << 40;  // of factors and constants; beyond, nothing is claimed

// The dimension of the work-item's id or block's size that a value is.
std::optional<unsigned> query_of(const llvm::SCEV* number, Query query) {
  auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(number);
  return unknown ? queried_dimension(*unknown->getValue(), query) : std::nullopt;
}

int64_t floor_to(int64_t value, uint64_t modulus) {
  auto step = static_cast<int64_t>(modulus);
  int64_t rest = value % step;
  return value - (rest < 0 ? rest + step : rest);
}

}  // namespace

const llvm::SCEV* without_extension(const llvm::SCEV* number) {
  while (llvm::isa<llvm::SCEVSignExtendExpr, llvm::SCEVZeroExtendExpr>(number)) {
    number = llvm::cast<llvm::SCEVCastExpr>(number)->getOperand();
  }
  return number;
}

bool LaneDifference::may_be_in(int64_t from, int64_t to, const LaneStep& step) const {
  int64_t known = constant + linear * step.linear;
  for (unsigned d = 0; d < 3; ++d) known += local[d] * step.local[d];

  auto has_multiple = [](int64_t least, int64_t most, uint64_t of) {
    return of == 0 ? least <= 0 && most >= 0 : floor_to(most, of) >= least;
  };
  return has_multiple(from - known - high, to - known - low, modulus) &&
         has_multiple(from - known, to - known, multiple);
}

void LaneSum::scale(int64_t by) {
  constant *= by;
  for (int64_t& factor : local) factor *= by;
  linear *= by;
  for (auto& term : terms) term.second *= by;
  wraps *= static_cast<uint64_t>(std::abs(by));
}

void LaneSum::add(const LaneSum& other) {
  constant += other.constant;
  for (unsigned d = 0; d < 3; ++d) local[d] += other.local[d];
  linear += other.linear;
  for (auto [term, factor] : other.terms) {
    auto same = llvm::find_if(terms, [term = term](const auto& own) { return own.first == term; });
    same == terms.end() ? terms.emplace_back(term, factor) : * same = {term, same->second + factor};
  }
  wraps = std::gcd(wraps, other.wraps);
  has_lane |= other.has_lane;
}

LaneSum LaneSums::sum_of(const llvm::SCEV* number) {
  LaneSum sum;
  exact_ = true;
  add(sum, number, 1);
  find_linear(sum);
  uint64_t width = evolution_.getTypeSizeInBits(number->getType());
  if (!exact_ && width < 64) sum.wraps = std::gcd(sum.wraps, uint64_t{1} << width);
  return sum;
}

bool LaneSums::cannot_wrap(const llvm::SCEVNAryExpr& number) const {
  if (number.hasNoSignedWrap()) return true;
  if (!llvm::all_of(number.operands(), [&](const llvm::SCEV* part) { return evolution_.isKnownNonNegative(part); })) {
    return false;
  }
  if (number.hasNoUnsignedWrap()) return true;
  // Small numbers, as ids are, and counters of few rounds.
  uint64_t rounds = 1, sum = 0, product = 1;
  if (auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(&number)) {
    rounds = evolution_.getSmallConstantMaxTripCount(recurrence->getLoop());
    if (rounds == 0) return false;
  }
  for (const llvm::SCEV* part : number.operands()) {
    llvm::APInt most = evolution_.getUnsignedRangeMax(part);
    if (most.getActiveBits() > 20 || rounds > kSmall) return false;
    sum += most.getZExtValue() * (part == number.getOperand(0) ? 1 : rounds);
    product *= std::max<uint64_t>(1, most.getZExtValue());
    if (product > uint64_t{1} << 40) product = uint64_t{1} << 40;
  }
  uint64_t most = llvm::isa<llvm::SCEVMulExpr>(number) ? product : sum;
  uint64_t width = evolution_.getTypeSizeInBits(number.getType());
  return width > 40 || most < uint64_t{1} << (width - 1);
}

void LaneSums::add(LaneSum& sum, const llvm::SCEV* number, int64_t factor) {
  if (std::abs(factor) > kLargest) {
    exact_ = false;
    sum.terms.emplace_back(number, 1);
    return;
  }
  if (auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(number)) {
    const llvm::APInt& value = constant->getAPInt();
    if (value.getSignificantBits() <= 40) {
      sum.constant += factor * value.getSExtValue();
    } else {
      sum.terms.emplace_back(number, factor);
    }
    return;
  }
  if (auto* parts = llvm::dyn_cast<llvm::SCEVAddExpr>(number)) {
    exact_ &= cannot_wrap(*parts);
    for (const llvm::SCEV* part : parts->operands()) add(sum, part, factor);
    return;
  }
  if (auto* product = llvm::dyn_cast<llvm::SCEVMulExpr>(number)) return add_product(sum, *product, factor);
  if (auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(number);
      recurrence && recurrence->isAffine() && !recurrence->getStart()->isZero()) {
    exact_ &= cannot_wrap(*recurrence);
    add(sum, recurrence->getStart(), factor);
    const llvm::SCEV* rest =
        evolution_.getAddRecExpr(evolution_.getZero(number->getType()), recurrence->getStepRecurrence(evolution_),
                                 recurrence->getLoop(), llvm::SCEV::FlagAnyWrap);
    sum.terms.emplace_back(rest, factor);
    return;
  }
  if (auto dimension = query_of(number, Query::kLocalId)) {
    sum.local[*dimension] += factor;
    return;
  }
  // A lane's index in its wave, id & (size - 1), is the id less that of the wave's first lane. What a linear index has
  // besides is a multiple of the wave's size, in rows.
  if (auto* lane = llvm::dyn_cast<llvm::SCEVZeroExtendExpr>(number); lane && takes_rows_) {
    auto* low = llvm::dyn_cast<llvm::SCEVTruncateExpr>(lane->getOperand());
    uint64_t width = low ? evolution_.getTypeSizeInBits(low->getType()) : 64;
    const llvm::SCEV* id = low ? first_id_of(low->getOperand()) : nullptr;
    if (id && width < 32 && uint64_t{1} << width == wave_size_) {
      sum.has_lane = true;
      sum.local[0] += factor;
      sum.terms.emplace_back(evolution_.getUDivExpr(id, evolution_.getConstant(id->getType(), wave_size_)),
                             -factor * wave_size_);
      return;
    }
  }
  // An extension is the number itself, unless that wraps, or is negative and taken for a large one.
  if (llvm::isa<llvm::SCEVSignExtendExpr, llvm::SCEVZeroExtendExpr>(number)) {
    const llvm::SCEV* narrow = llvm::cast<llvm::SCEVCastExpr>(number)->getOperand();
    bool outside = std::exchange(exact_, true);
    add(sum, narrow, factor);
    bool same = exact_ && (llvm::isa<llvm::SCEVSignExtendExpr>(number) || evolution_.isKnownNonNegative(narrow));
    uint64_t width = evolution_.getTypeSizeInBits(narrow->getType());
    if (!same) sum.wraps = std::gcd(sum.wraps, (uint64_t{1} << width) * static_cast<uint64_t>(std::abs(factor)));
    exact_ = outside;
    return;
  }
  auto same = llvm::find_if(sum.terms, [&](const auto& term) { return term.first == number; });
  if (same != sum.terms.end()) {
    same->second += factor;
  } else {
    sum.terms.emplace_back(number, factor);
  }
}

void LaneSums::add_product(LaneSum& sum, const llvm::SCEVMulExpr& product, int64_t factor) {
  auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(product.getOperand(0));
  if (!constant || constant->getAPInt().getSignificantBits() > 32) {
    sum.terms.emplace_back(&product, factor);
    return;
  }
  exact_ &= cannot_wrap(product);
  llvm::SmallVector<const llvm::SCEV*, 4> others(llvm::drop_begin(product.operands()));
  const llvm::SCEV* rest = others.size() == 1 ? others[0] : evolution_.getMulExpr(others);
  add(sum, rest, factor * constant->getAPInt().getSExtValue());
}

// size.d * (id.(d+1) + …), where what follows is of the same kind.
bool LaneSums::is_rest(const llvm::SCEV* number, unsigned dimension) const {
  auto* product = llvm::dyn_cast<llvm::SCEVMulExpr>(without_extension(number));
  if (!product || product->getNumOperands() != 2) return false;
  const llvm::SCEV* parts[] = {without_extension(product->getOperand(0)), without_extension(product->getOperand(1))};
  if (query_of(parts[0], Query::kLocalSize) != dimension) std::swap(parts[0], parts[1]);
  if (query_of(parts[0], Query::kLocalSize) != dimension) return false;
  if (dimension + 2 >= dimensions_) return query_of(parts[1], Query::kLocalId) == dimension + 1;
  auto* inner = llvm::dyn_cast<llvm::SCEVAddExpr>(parts[1]);
  if (!inner || inner->getNumOperands() != 2) return false;
  const llvm::SCEV *id = inner->getOperand(0), *rest = inner->getOperand(1);
  if (query_of(without_extension(id), Query::kLocalId) != dimension + 1) std::swap(id, rest);
  return query_of(without_extension(id), Query::kLocalId) == dimension + 1 && is_rest(rest, dimension + 1);
}

// The id of the first dimension that a linear index is, or which it is made of; null: it is none.
const llvm::SCEV* LaneSums::first_id_of(const llvm::SCEV* index) const {
  if (query_of(index, Query::kLocalId) == 0u) return index;
  auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(index);
  if (!sum || sum->getNumOperands() != 2) return nullptr;
  const llvm::SCEV *id = sum->getOperand(0), *rest = sum->getOperand(1);
  if (query_of(id, Query::kLocalId) != 0u) std::swap(id, rest);
  return query_of(id, Query::kLocalId) == 0u && is_rest(rest, 0) ? id : nullptr;
}

// x + size.x * y, and x + size.x * (y + size.y * z), are the linear index, whatever the block's shape.
void LaneSums::find_linear(LaneSum& sum) {
  int64_t factor = sum.local[0];
  if (factor == 0) return;
  auto rows =
      llvm::find_if(sum.terms, [&](const auto& term) { return term.second == factor && is_rest(term.first, 0); });
  if (rows == sum.terms.end()) return;
  sum.terms.erase(rows);
  sum.local[0] = 0;
  sum.linear += factor;
}

// id / size, and what is less: the same in all lanes of a wave.
bool LaneSums::is_wave_number(const llvm::SCEV* number) {
  auto* quotient = llvm::dyn_cast<llvm::SCEVUDivExpr>(number);
  auto* size = quotient ? llvm::dyn_cast<llvm::SCEVConstant>(quotient->getRHS()) : nullptr;
  if (!takes_rows_ || !size || query_of(without_extension(quotient->getLHS()), Query::kLocalId) != 0u) return false;
  return !size->isZero() && size->getAPInt().urem(wave_size_) == 0;
}

bool LaneSums::is_uniform(const llvm::SCEV* number) {
  struct Search {
    LaneSums& sums;
    bool found = false;
    bool follow(const llvm::SCEV* part) {
      auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(part);
      found |= unknown && !sums.uniformity_.is_uniform(*unknown->getValue());
      return !sums.is_wave_number(part);
    }
    bool isDone() const { return found; }
  };
  Search search{*this};
  llvm::visitAll(number, search);
  return !search.found;
}

bool LaneSums::is_same(const llvm::SCEV* number, const Moments& moments) {
  if (!is_uniform(number)) return false;
  auto varies_unknown = [&](const llvm::Instruction& at, const llvm::Instruction& other) {
    for (llvm::Loop* loop = loops_.getLoopFor(at.getParent()); loop; loop = loop->getParentLoop()) {
      bool same = loop->contains(&other) && (moments.round == 0 || loop->getLoopDepth() < moments.round);
      if (!same && !evolution_.isLoopInvariant(number, loop)) return true;
    }
    return false;
  };
  return !varies_unknown(*moments.earlier, *moments.later) && !varies_unknown(*moments.later, *moments.earlier);
}

void LaneSums::add_unknown(LaneDifference& difference, const llvm::SCEV* term, int64_t factor) {
  if (factor == 0) return;
  // Of a counter with a constant step, multiples of that step.
  int64_t least = factor;
  if (auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(term); recurrence && recurrence->isAffine()) {
    auto* step = llvm::dyn_cast<llvm::SCEVConstant>(recurrence->getStepRecurrence(evolution_));
    if (recurrence->getStart()->isZero() && step && step->getAPInt().getSignificantBits() <= 20) {
      least *= step->getAPInt().getSExtValue();
    }
  }
  difference.multiple = std::gcd(difference.multiple, static_cast<uint64_t>(std::abs(least)));
  llvm::ConstantRange range = evolution_.getSignedRange(term);
  if (!range.isFullSet() && range.getSignedMin().getSignificantBits() <= 32 &&
      range.getSignedMax().getSignificantBits() <= 32) {
    int64_t low = range.getSignedMin().getSExtValue(), high = range.getSignedMax().getSExtValue();
    if (high - low <= kSmall / std::max<int64_t>(1, std::abs(factor))) {
      difference.low += std::min(factor * low, factor * high);
      difference.high += std::max(factor * low, factor * high);
      return;
    }
  }
  difference.modulus = std::gcd(difference.modulus, static_cast<uint64_t>(std::abs(least)));
}

LaneDifference LaneSums::difference(const LaneSum& earlier, const LaneSum& later, const Moments& moments) {
  LaneDifference difference;
  difference.constant = later.constant - earlier.constant;
  auto own = [&](int64_t before, int64_t after, int64_t most) {
    if (before == after) return after;
    for (int64_t factor : {-before, after}) {
      difference.multiple = std::gcd(difference.multiple, static_cast<uint64_t>(std::abs(factor)));
      difference.low += std::min<int64_t>(0, factor * most);
      difference.high += std::max<int64_t>(0, factor * most);
    }
    return int64_t{0};
  };
  for (unsigned d = 0; d < 3; ++d) {
    difference.local[d] = own(earlier.local[d], later.local[d], kMostThreads - 1);
  }
  difference.linear = own(earlier.linear, later.linear, kMostThreads - 1);

  for (auto [term, factor] : earlier.terms) {
    auto again = llvm::find_if(later.terms, [term = term](const auto& other) { return other.first == term; });
    int64_t after = again == later.terms.end() ? 0 : again->second;
    if (is_same(term, moments)) {
      add_unknown(difference, term, after - factor);
    } else {
      add_unknown(difference, term, -factor);
      add_unknown(difference, term, after);
    }
  }
  for (auto [term, factor] : later.terms) {
    bool known = llvm::any_of(earlier.terms, [term = term](const auto& other) { return other.first == term; });
    if (!known) add_unknown(difference, term, factor);
  }
  uint64_t wraps = std::gcd(earlier.wraps, later.wraps);
  difference.modulus = std::gcd(difference.modulus, wraps);
  difference.multiple = std::gcd(difference.multiple, wraps);
  return difference;
}

}  // namespace mneme::codegen::host
