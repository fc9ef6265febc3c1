// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/baseline.h"

#include <algorithm>
#include <cstring>

namespace mneme::run {

void Repetitions::begin_execution() {
  executions_++;
  comparison_.emplace(layout_, readings_, scale_of_);
}

void Repetitions::leave_out(uint64_t address) { end_ = std::min(end_, address); }

void Repetitions::take(uint64_t address, const Digest& recorded, Bytes actual, bool differs) {
  if (address >= end_) return;
  if (executions_ == 1) {
    if (!differs) return;
    if (first_.size() == most_blocks_) return leave_out(address);
    first_.emplace(address, First{recorded, std::string(text_of(actual))});
    return;
  }
  auto first = first_.find(address);
  if (first == first_.end() && !differs) return;  // both are as recorded
  Bytes before = first != first_.end() ? bytes_of(first->second.bytes) : recorded_(recorded);
  if (std::memcmp(before.data(), actual.data(), actual.size()) == 0) return;
  if (variation_.at(address).empty() && variation_.blocks().size() == most_blocks_) return leave_out(address);
  variation_.mark(address, before, actual);
  comparison_->add(address, before, actual);
}

void Repetitions::end_execution() {
  verify::widen(spread_, comparison_->differences());
  comparison_.reset();
}

uint64_t Repetitions::count_unlike() const {
  uint64_t count = 0;
  for (const auto& [address, first] : first_) {
    Bytes recorded = recorded_(first.recorded), replayed = bytes_of(first.bytes), varies = variation_.at(address);
    for (const verify::Piece& piece : layout_.pieces(address)) {
      for (uint64_t i = piece.in_block; i < piece.in_block + piece.size; i++) {
        count += recorded[i] != replayed[i] && (varies.empty() || varies[i] == std::byte{0});
      }
    }
  }
  return count;
}

bundle::Baseline Repetitions::result() const {
  bundle::Baseline baseline;
  baseline.executions = executions_;
  baseline.spread = spread_;
  for (const auto& [address, bytes] : variation_.blocks()) baseline.blocks.push_back({address, digest_of(bytes)});
  baseline.blocks_complete = end_ == UINT64_MAX;
  baseline.unlike = count_unlike();
  return baseline;
}

}  // namespace mneme::run
