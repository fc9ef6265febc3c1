// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <vector>

#include "bundle/blocks/block_store.h"
#include "bundle/format.h"
#include "memory_view.h"

namespace mneme::capture {

// The memory of some segments at one moment: its state, and a copy of every block's contents. Bytes of a block that
// are in no segment count as zeros. Blocks that stay the same from one snapshot to the next are shared.
class Snapshot {
 public:
  // Where the copies lie; they give their memory back to it.
  using Pool = std::shared_ptr<bundle::BlockPool>;

  // Reads, in parallel. `segments` are in order and disjoint. `previous` may be null. Throws Error when a segment lies
  // where there is no memory.
  static Snapshot take(const std::vector<bundle::Segment>& segments, const MemoryView& memory, const Snapshot* previous,
                       const Pool& pool);

  const bundle::State& state() const { return state_; }
  // kBlockSize bytes. Throws Error for a block that the snapshot does not have.
  Bytes block(uint64_t address) const;
  // Of the copies that are not shared with the snapshot before.
  uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  using Block = std::shared_ptr<const std::byte>;  // kBlockSize bytes; null: zeros
  class Taking;

  bundle::State state_;
  std::vector<Block> contents_;  // of each of the state's blocks
  std::vector<char> is_whole_;   // all of it is in segments
  uint64_t copied_bytes_ = 0;
};

}  // namespace mneme::capture
