// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Judging a run by its baseline: whether it differs from the recording no more than the recorded code's own executions
// differ from each other.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "bundle/format.h"
#include "verify/layout.h"
#include "verify/policy.h"
#include "verify/variation.h"

namespace mneme::verify {

// A run's errors may be so many times those among the baseline's executions. These are the distances of all others from
// the first, which may lie in the middle of what is possible: two executions at its ends are twice as far apart.
inline constexpr double kSpreadFactor = 2;

// Whether the baseline was made.
inline bool has_baseline(const bundle::RunInfo& run) { return run.baseline && run.baseline->executions > 0; }

// Whether a segment differs as much as it varies by itself: all that differs in it varies, and no norm of its errors,
// absolute or relative, is more than kSpreadFactor times that of the baseline. Where it is not read as elements, no
// more than kSpreadFactor times as many bytes may differ. Errors of a baseline that are infinite (a NaN came and went)
// are no measure.
bool is_as_it_varies(const bundle::SegmentDifference& difference, const bundle::Baseline& baseline);

// The end of a sentence on a segment that differs: how it varies by itself. `policy`: that it was judged by, or null.
std::string variation_clause(const bundle::SegmentDifference& difference, const bundle::Baseline& baseline,
                             const Policy* policy);

// What the baseline has to say on a run that differs; a sentence, if anything.
std::optional<std::string> baseline_remark(const bundle::Baseline& baseline);

// The baseline's blocks, into `variation`; what is impossible in the baseline, if anything.
std::optional<std::string> read_variation(const Layout& layout, const bundle::Baseline& baseline,
                                          const std::function<Bytes(const Digest&)>& blocks, Variation& variation);

// The errors of the policy's kind; null where the observation does not show them, of scaled ones as the policy scales
// them.
const bundle::ErrorNorms* norms_by(const Policy& policy, const bundle::Observation& observation);
// The figure that a policy holds against its threshold, of those.
double error_by(const Policy& policy, const bundle::ErrorNorms& norms);

}  // namespace mneme::verify
