// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reached_segments.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mneme::capture {
namespace {

constexpr uint64_t kPointer = sizeof(uint64_t);

// Segments [first, last) without a gap between them.
struct Group {
  size_t first, last;
  uint64_t begin, end;
  bool reached = false;
};

std::vector<Group> groups_of(const std::vector<bundle::Segment>& segments) {
  std::vector<Group> groups;
  for (size_t i = 0; i < segments.size(); ++i) {
    const uint64_t begin = segments[i].address, end = begin + segments[i].size;
    if (groups.empty() || groups.back().end != begin) groups.push_back({i, i, begin, begin});
    groups.back().last = i + 1;
    groups.back().end = end;
  }
  return groups;
}

class Reach {
 public:
  explicit Reach(const std::vector<bundle::Segment>& segments) : segments_(segments), groups_(groups_of(segments)) {}

  // A pointer behind the last byte is one into the group, too.
  void add(uint64_t address) {
    auto after = std::ranges::upper_bound(groups_, address, {}, &Group::begin);
    if (after == groups_.begin()) return;
    auto group = std::prev(after);
    if (address > group->end || std::exchange(group->reached, true)) return;
    fresh_.push_back(static_cast<size_t>(group - groups_.begin()));
  }

  void add_words(Bytes bytes) {
    for (size_t at = 0; at + kPointer <= bytes.size(); at += kPointer) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, kPointer);
      if (word) add(word);
    }
  }

  // The segments that were reached since the last call.
  std::vector<bundle::Segment> take_fresh() {
    std::ranges::sort(fresh_);
    std::vector<bundle::Segment> fresh;
    for (size_t group : std::exchange(fresh_, {})) append(groups_[group], fresh);
    return fresh;
  }

  std::vector<bundle::Segment> all() const {
    std::vector<bundle::Segment> reached;
    for (const Group& group : groups_) {
      if (group.reached) append(group, reached);
    }
    return reached;
  }

 private:
  void append(const Group& group, std::vector<bundle::Segment>& to) const {
    to.insert(to.end(), segments_.begin() + static_cast<ptrdiff_t>(group.first),
              segments_.begin() + static_cast<ptrdiff_t>(group.last));
  }

  const std::vector<bundle::Segment>& segments_;
  std::vector<Group> groups_;
  std::vector<size_t> fresh_;
};

// A snapshot has zeros between segments.
void add_words(const Snapshot& memory, Reach& reach) {
  for (const bundle::BlockReference& block : memory.state().blocks) {
    if (block.digest != bundle::zero_block_digest()) reach.add_words(memory.block(block.address));
  }
}

}  // namespace

std::vector<bundle::Segment> reached_segments(const bundle::InstanceInfo& launch, bool follows,
                                              const std::vector<bundle::Segment>& segments, const TakeSnapshot& take) {
  Reach reach(segments);
  reach.add_words(bytes_of(launch.arguments));
  for (const bundle::TextureObject& texture : launch.textures) reach.add(texture.address);
  for (const bundle::Segment& segment : segments) {
    if (!segment.symbol.empty()) reach.add(segment.address);
  }
  for (std::vector<bundle::Segment> fresh = reach.take_fresh(); follows && !fresh.empty(); fresh = reach.take_fresh()) {
    add_words(take(fresh), reach);
  }
  return reach.all();
}

}  // namespace mneme::capture
