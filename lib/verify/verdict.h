// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "verify/choice.h"

namespace mneme::verify {

enum class Status {
  kVerified,
  kVaries,       // it differs, as much as the recorded code's result varies by itself (verify/baseline.h)
  kNotVerified,  // it is wrong, or does not prove that it is right
  kFailed        // the run did not come to its end
};

std::string to_string(Status status);  // "verified", "varies", "not verified", "failed"

// How one segment was judged.
struct SegmentVerdict {
  size_t segment = 0;  // index
  Choice choice;
  bool verified = true;
  double error = 0;  // what was held against the policy's threshold
  // As it differs, if it does; with the observation that it was judged by.
  std::optional<bundle::SegmentDifference> difference = {};
  bool varies = false;  // it is not verified, but differs only as much as it varies by itself
};

struct Verdict {
  Status status = Status::kVerified;
  // Why it is not verified: sentences that name segment and offset, the worst first; empty when it is.
  std::vector<std::string> reasons = {};
  // Those that differ, and those that are not judged byte for byte; by address.
  std::vector<SegmentVerdict> segments = {};
};

// "segment 'table' (global) at 0x…" or "segment at 0x… (heap)".
std::string describe(const bundle::Segment& segment);

// The bytes of a block that a run cites; throws Error when it is not there.
using Blocks = std::function<Bytes(const Digest&)>;

struct Strictness {
  bool recheck = false;     // a run that does not come with all of its differing blocks is not believed
  bool equal_nans = false;  // a segment passes that differs in the bits of NaNs only
};

// Judges what a run observed: each segment by its policy, or byte for byte, where any byte that differs from the
// recording is a failure. A run is not believed when it contradicts itself: segments that are not the instance's, too
// few bytes compared, or stored blocks that tell of other differences or errors than it lists. `choices` has one for
// each segment; `stores` are the variant's, by which the run's segments were read. A policy for another type than was
// observed is judged by the stored blocks. A run varies if nothing is wrong with it but that segments differ as much as
// they vary by themselves, in every execution; that is judged by the types observed.
Verdict judge(const bundle::InstanceInfo& instance, const bundle::RunInfo& run,
              const std::vector<bundle::StoreType>& stores, std::vector<Choice> choices, const Blocks& blocks,
              const Strictness& strictness = {});

}  // namespace mneme::verify
