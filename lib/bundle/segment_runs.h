// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Applications that allocate very many pieces of memory allocate most of them alike: an instance's json lists such ones
// as one entry, with how many there are and how far apart.
#pragma once
#include <span>

#include "bundle/format.h"
#include "bundle/json/json.h"

namespace mneme::bundle {

inline constexpr uint64_t kMaxSegments = 2 << 20;   // of an instance
inline constexpr uint64_t kMaxEntries = 1'000'000;  // that list them: more would not fit in a json member

// How many of the segments, from the first, one entry lists.
size_t run_length(std::span<const Segment> segments);
// How many entries list them all.
uint64_t count_entries(std::span<const Segment> segments);

// Adds what tells a run's entry from that of its first segment.
void write_repetition(json::Text& out, std::span<const Segment> run);
// Adds the segments to `segments` that an entry stands for, given its first.
void parse_repetition(const json::Object& in, Segment first, std::vector<Segment>& segments);

}  // namespace mneme::bundle
