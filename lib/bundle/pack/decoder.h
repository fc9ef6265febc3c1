// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bundle/blocks/block_store.h"
#include "bundle/pack/pack.h"
#include "bundle/workers.h"

namespace mneme::bundle {

// Turns packs into blocks in a store, several at once, while the next ones are being read. Distrusts them.
class PackDecoder {
 public:
  explicit PackDecoder(BlockStore& store);
  ~PackDecoder();

  // An empty buffer to read a pack into; that of an earlier one where there is one.
  std::vector<std::byte> buffer();
  // Takes up a pack member's bytes. Throws Error on a fault of this pack or of one before it.
  void add(std::vector<std::byte> pack, std::string where);
  // Afterwards all blocks are in the store and no thread runs. Throws Error on a fault of any pack.
  void settle();
  void drop();  // instead of settle(): forgets what is not done yet

 private:
  struct Scratch;
  struct Decoded {
    std::string where;
    std::vector<PackEntry> entries;
    std::vector<std::byte*> blocks;  // of the store's pool
  };
  Decoded decode(std::vector<std::byte> pack, Decoded decoded);
  void settle_first();
  std::unique_ptr<Scratch> take_scratch();

  BlockStore& store_;
  std::deque<std::future<Decoded>> pending_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> scratch_;
  std::vector<std::vector<std::byte>> buffers_;
  std::unique_ptr<Workers> workers_;  // dies first: its tasks use the rest
};

}  // namespace mneme::bundle
