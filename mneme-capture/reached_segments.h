// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <vector>

#include "bundle/format.h"
#include "snapshot.h"

namespace mneme::capture {

// Takes the memory of segments as it is before the launch.
using TakeSnapshot = std::function<Snapshot(const std::vector<bundle::Segment>&)>;

// Those of `segments`, in their order, to which a launch's arguments lead: what an aligned word of `arguments` is the
// address of, the kernel's own variables, and textures' memory; with `follows`, also what any aligned word of these
// segments is the address of, and so on. Segments without a gap between them count as one. Throws Error where memory cannot be read.
std::vector<bundle::Segment> reached_segments(const bundle::InstanceInfo& launch, bool follows,
                                              const std::vector<bundle::Segment>& segments, const TakeSnapshot& take);

}  // namespace mneme::capture
