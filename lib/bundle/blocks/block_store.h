// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "bundle/blocks/physical_memory.h"
#include "bundle/format.h"

namespace mneme::bundle {

// Memory for blocks, all of kBlockSize bytes, used again when given back: the first touch of memory costs more than
// filling it. Throws Error when more than the limit is asked for: a stranger's bundle must not be able to take a
// machine's memory. Of blocks given back at most `most_idle` bytes are kept, that of others goes back to the system.
// Thread-safe.
class BlockPool {
 public:
  explicit BlockPool(uint64_t limit, uint64_t most_idle = UINT64_MAX)
      : limit_(limit), most_idle_(most_idle / kBlockSize) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::byte* take();
  void give_back(std::byte* block);
  // Gets memory for some blocks more, ahead of take(), which throws the same.
  void prepare();
  uint64_t bytes() const;  // of all blocks that were taken or prepared so far
  void set_limit(uint64_t bytes) { limit_ = bytes; }
  uint64_t idle_bytes() const;  // that wait to be taken

 private:
  std::byte* new_page();  // under the lock
  void populate(std::byte* page, bool huge);

  mutable std::mutex mutex_;
  uint64_t limit_;
  const uint64_t most_idle_;  // blocks
  std::vector<std::byte*> slabs_;
  uint64_t pages_ = 0;             // of the slabs, that were used
  bool huge_ = true;               // those of the last slab are
  std::atomic<int> slow_ = 0;      // huge pages that were, less those that were not
  std::vector<std::byte*> idle_;   // were used, and have memory
  std::vector<std::byte*> fresh_;  // have memory, too
  std::vector<std::byte*> bare_;   // have none yet, or no more
};

// The blocks at hand, by digest. Adding and dropping are for one thread; finding is for any number at once.
class BlockStore {
 public:
  explicit BlockStore(uint64_t limit) : pool_(limit) {}

  BlockPool& pool() { return pool_; }
  // Takes `block` over, which came from the pool; a digest that is there already keeps its first bytes.
  void add(const Digest& digest, std::byte* block);
  // The block's bytes, or nullptr. The zero block is always there.
  const std::byte* find(const Digest& digest) const;
  // Keeps these blocks and drops all others.
  void keep_only(std::span<const Digest> kept);

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
