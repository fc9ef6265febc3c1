// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "recorder/link/protocol.h"
#include "snapshot.h"

namespace mneme::capture {

// Sentences, one for each piece of memory outside of the recording (by address, disjoint) whose address some recorded
// memory holds.
std::vector<std::string> references_to(const std::vector<record::OutsideMemory>& outside,
                                       const std::vector<bundle::Segment>& segments, const Snapshot& memory);

}  // namespace mneme::capture
