// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ties an instance's states to its segments: a state lists exactly the blocks that segments lie in, and bytes of
// those blocks that belong to no segment are zero.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bundle/format.h"

namespace mneme::bundle {

inline uint64_t block_of(uint64_t address) { return address / kBlockSize * kBlockSize; }

// Throws Error naming `where` unless the state lists exactly the segments' blocks. Segments: by address, disjoint.
void check_coverage(const State& state, std::span<const Segment> segments, const std::string& where);

// Calls function(segment, offset in the block, offset in the segment, size) for each part of a segment in the block.
using PartFunction = std::function<void(const Segment& segment, uint64_t block_offset, uint64_t offset, uint64_t size)>;
void for_each_part(uint64_t block, std::span<const Segment> segments, const PartFunction& function);

// Throws Error when a byte of the block that belongs to no segment is not zero.
void check_gaps(uint64_t address, Bytes block, std::span<const Segment> segments);

// The blocks that a run cites.
std::vector<Digest> cited_blocks(const RunInfo& run);
// Those that an instance with these states cites.
std::vector<Digest> cited_blocks(const State& prologue, const State& epilogue);

}  // namespace mneme::bundle
