// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/outcomes.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/variation.h"

namespace mneme::run {

void note_differences(bundle::RunInfo& run, std::vector<bundle::SegmentDifference> differences) {
  if (differences.empty() || differences == run.differences) return;
  if (run.differences.empty()) {
    run.differences = std::move(differences);
  } else if (std::ranges::find(run.others, differences) != run.others.end()) {
    return;
  } else if (run.others.size() < bundle::kMaxOutcomes) {
    run.others.push_back(std::move(differences));
  } else {
    verify::widen(run.others.back(), differences);
  }
}

void join(bundle::RunInfo& run, bundle::RunInfo round) {
  const uint32_t rounds = run.rounds + 1;
  if (round.status == "failed") {
    round.reason = fmt::format("in round {}, after {} that did not fail: {}", rounds, run.rounds, round.reason);
    run = std::move(round);
    return;
  }
  run.rounds = rounds;
  // A device may give its clock up. Nobody is to take the times for one clock's.
  if (!run.clock.ends_with(round.clock)) run.clock += ", " + round.clock;
  run.nanoseconds.insert(run.nanoseconds.end(), round.nanoseconds.begin(), round.nanoseconds.end());
  if (run.differences.empty()) {  // the blocks are of the first execution that differs
    run.blocks = std::move(round.blocks);
    run.blocks_complete = round.blocks_complete;
  }
  note_differences(run, std::move(round.differences));
  for (auto& differences : round.others) note_differences(run, std::move(differences));
}

}  // namespace mneme::run
