// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "recorder/link/protocol.h"
#include "snapshot.h"

namespace mneme::capture {

// Where the pointers lead that a kernel follows: through its arguments, its variables and recorded memory as it is
// before the launch.
struct FollowedPointers {
  // Sentences on the process's ordinary memory, which is not recorded: one for each argument that leads there, and one
  // for each of the launch's ranges of such memory that memory points to.
  std::vector<std::string> missing;
  // An argument leads nowhere by itself, or is a number that leads from one piece of memory into another: what they
  // come to together is not known.
  bool strays = false;
  bool polls = false;  // one leads to host memory on which it depends whether a loop goes on
};

// Looks at a million pointers at most.
FollowedPointers follow_pointers(const bundle::KernelInfo& kernel, const record::Prologue& launch,
                                 const std::vector<bundle::Segment>& segments, const Snapshot& memory);

}  // namespace mneme::capture
