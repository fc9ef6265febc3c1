// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "bundle/blocks/block_store.h"
#include "bundle/format.h"

namespace mneme::bundle {

// Memory of which only what has been written to takes room: a claimed size costs nothing until the bytes come.
class Mapping {
 public:
  explicit Mapping(uint64_t size);  // throws Error when there is no such range
  Mapping(Mapping&& other) noexcept;
  ~Mapping();

  void append(Bytes bytes);  // as many as fit
  Bytes bytes() const { return {start_, filled_}; }
  uint64_t size() const { return size_; }

 private:
  std::byte* start_ = nullptr;
  uint64_t size_ = 0, filled_ = 0;
};

// The raw members that came since the instance before, by state and file name, and what becomes of them: blocks in a
// store and a state that cites them, as if packs had held them.
class RawMemory {
 public:
  // Throws Error when the state has such a member already.
  Mapping& add(const Digest& state, const std::string& file, uint64_t size);
  bool has(const Digest& state) const { return states_.contains(state); }
  // Throws Error when a segment's member is missing or of another size, or the contents are not those of the state.
  State build(const Digest& state, std::span<const Segment> segments, BlockStore& store);
  void clear() { states_.clear(); }

 private:
  std::unordered_map<Digest, std::map<std::string, Mapping>> states_;
};

}  // namespace mneme::bundle
