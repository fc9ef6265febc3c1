// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "bundle/format.h"

namespace mneme::bundle {

// Memory for blocks, all of kBlockSize bytes, used again when given back. Throws Error when more than the limit
// is asked for: a stranger's bundle must not be able to take a machine's memory. Thread-safe.
class BlockPool {
 public:
  explicit BlockPool(uint64_t limit) : limit_(limit) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::byte* take();
  void give_back(std::byte* block);
  void set_limit(uint64_t bytes) { limit_ = bytes; }

 private:
  std::mutex mutex_;
  uint64_t limit_;
  std::vector<std::byte*> slabs_;
  std::vector<std::byte*> free_;
};

// This machine's memory; what a reader holds at most unless told otherwise.
uint64_t physical_memory();

// The blocks at hand, by digest. Adding and dropping are for one thread; finding is for any number at once.
class BlockStore {
 public:
  explicit BlockStore(uint64_t limit) : pool_(limit) {}

  BlockPool& pool() { return pool_; }
  // Takes `block` over, which came from the pool; a digest that is there already keeps its first bytes.
  void add(const Digest& digest, std::byte* block);
  // The block's bytes, or nullptr. The zero block is always there.
  const std::byte* find(const Digest& digest) const;
  // Keeps the blocks that these states cite and drops all others.
  void keep_only(const State& first, const State& second);

 private:
  struct Entry {
    std::byte* bytes = nullptr;
    uint64_t mark = 0;
  };
  BlockPool pool_;
  std::unordered_map<Digest, Entry> blocks_;
  uint64_t mark_ = 0;
};

}  // namespace mneme::bundle
