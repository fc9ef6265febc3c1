// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <string>

#include "bundle/format.h"

namespace mneme::verify {

enum class Status {
  kVerified,
  kFailed,      // the run did not come to its end
  kNotVerified  // it did, and is wrong, or does not prove that it is right
};

std::string to_string(Status status);  // "verified", "failed", "not verified"

struct Verdict {
  Status status = Status::kVerified;
  // Why it is not verified: sentences that name segment and offset; empty when it is.
  std::vector<std::string> reasons;
};

// "segment 'table' (global) at 0x…" or "segment at 0x… (heap)".
std::string describe(const bundle::Segment& segment);

// The bytes of a block that a run cites; throws Error when it is not there.
using Blocks = std::function<Bytes(const Digest&)>;

// Judges what a run observed, byte for byte: any byte of a segment that differs from the recording is a failure.
// A run is not believed when it contradicts itself: segments that are not the instance's, too few bytes compared, or
// stored blocks that tell of other differences than it lists.
Verdict judge(const bundle::InstanceInfo& instance, const bundle::RunInfo& run, const Blocks& blocks);

}  // namespace mneme::verify
