// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "verify/compare.h"
#include "verify/layout.h"
#include "verify/variation.h"

namespace mneme::run {

// Finds out how executions of the same code on the same memory differ from each other, by comparing all with the first.
// What was recorded is no execution here: it may have been made elsewhere, or changed since.
class Repetitions {
 public:
  // A block's bytes, by the digest of what was recorded; valid until the next call.
  using Recorded = std::function<Bytes(const Digest&)>;

  // `layout` and `readings` are borrowed. `scale_of`: of what was recorded. Of results that are not as recorded, and of
  // blocks that vary, at most so many bytes are kept, as RunSettings::max_difference has it: what lies behind them is
  // left out.
  Repetitions(const verify::Layout& layout, const verify::Readings& readings, verify::ScaleOf scale_of,
              uint64_t max_difference, Recorded recorded)
      : layout_(layout),
        readings_(readings),
        scale_of_(std::move(scale_of)),
        most_blocks_(max_difference / (2 * bundle::kBlockSize)),
        recorded_(std::move(recorded)) {}

  void begin_execution();
  // A block as an execution left it, by address, each once; those that are as recorded, too.
  void take(uint64_t address, const Digest& recorded, Bytes actual, bool differs);
  void end_execution();

  bundle::Baseline result() const;
  const verify::Variation& variation() const { return variation_; }

 private:
  struct First {
    Digest recorded;
    std::string bytes;
  };

  void leave_out(uint64_t address);
  uint64_t count_unlike() const;

  const verify::Layout& layout_;
  const verify::Readings& readings_;
  verify::ScaleOf scale_of_;
  size_t most_blocks_;
  Recorded recorded_;
  uint64_t end_ = UINT64_MAX;        // blocks from here on are left out
  std::map<uint64_t, First> first_;  // what the first execution left, where it is not as recorded
  uint32_t executions_ = 0;
  std::optional<verify::Comparison> comparison_;  // of the execution in hand with the first
  verify::Variation variation_;
  std::vector<bundle::SegmentDifference> spread_;
};

}  // namespace mneme::run
