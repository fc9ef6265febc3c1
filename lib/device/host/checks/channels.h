// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What work-items tell each other by atomic operations and fences: a release is what a work-item had done when it
// passed a fence, a channel the releases that atomic operations have put at an address, in order. A reader there
// knows all releases that were put before, and the knowledge of their makers.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mneme::device::host {

class Channel;
// So many of each channel's releases.
using Knowledge = std::map<const Channel*, size_t>;
using KnowledgePointer = std::shared_ptr<const Knowledge>;  // null: nothing

// Both; one of them itself where it has all.
KnowledgePointer joined(const KnowledgePointer& one, const KnowledgePointer& other);

// An access, as far as its order matters.
struct Moment {
  uint32_t block, epoch, thread, count;
};

// Of a block's accesses: all before its barrier number `epoch`, and those of these threads up to a count of their own.
struct Release {
  uint32_t block = 0, epoch = 0;
  uint32_t all = 0;  // not 0: the count of all threads
  bool for_block = false;
  std::vector<std::pair<uint32_t, uint32_t>> items = {};  // thread and count, by thread
  KnowledgePointer known = nullptr;                       // of those who made it

  bool has(const Moment& moment) const;
  void add(uint32_t thread, uint32_t count);
};
using ReleasePointer = std::shared_ptr<const Release>;

class Channel {
 public:
  void put(const ReleasePointer& release);
  size_t size() const { return releases_.size(); }
  // Whether one of the first so many has it; those for one block only in that. Not what they know from others.
  bool has(size_t count, const Moment& moment, uint32_t reader) const;
  // What they know, by position.
  const std::vector<std::pair<size_t, KnowledgePointer>>& known() const { return known_; }

 private:
  std::vector<ReleasePointer> releases_;
  std::unordered_map<uint32_t, std::vector<size_t>> of_block_;
  std::vector<std::pair<size_t, KnowledgePointer>> known_;
};

// Whether a work-item of the block `reader` that knows this knows that the access came before.
bool has(const Knowledge& knowledge, const Moment& moment, uint32_t reader);

}  // namespace mneme::device::host
