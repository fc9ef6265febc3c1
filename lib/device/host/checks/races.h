// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check "races": two accesses to the same bytes, one of them a write, of two work-items with nothing that orders
// them.
//
// An access happens before another by the kernel's own synchronisation only, never because it ran first here:
//
//   - in one work-item, by program order;
//   - in a block, by a barrier between; in a grid, by a barrier of the grid;
//   - in a wave, by a collective of the wave that both came to; on AMD's GPUs, whose lanes run in step, by a fence;
//   - by a fence before an atomic operation or a volatile store of the one, and an atomic operation or a volatile load
//     of the other at the same address (channels.h); a fence behind that is not asked for, as CUDA's own examples do
//     without;
//   - and by what follows from these. A fence takes along what the block did before its last barrier, and a barrier the
//     fences of all.
//
// For each word, shadow memory has the last write and the accesses since then. An access is held against those. A race
// that is found may be without harm, but it is one under each order of blocks and waves in which both accesses are
// made: whether two accesses are ordered depends on the synchronisation that they come to, and that is the same here as
// in each order of those. So a race in the launch is found though the CPU runs blocks and waves one after another.
// That ends where
//
//   - what a kernel does depends on the order (the winner of an atomic operation): found is what was done here;
//   - an order comes from atomic operations whose results are ignored: it is the one in which they ran;
//   - a word has had another race before: that one is reported, and hides others of the same word until the next write;
//   - several work-items of a block read a word between two barriers: two of them are remembered;
//   - more than kMostReaders blocks read a word: as many are remembered.
#pragma once
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "codegen/host/abi.h"
#include "device/host/checks/channels.h"
#include "device/host/checks/shadow.h"
#include "device/host/launch.h"

namespace mneme::device::host {

class Races {
 public:
  static constexpr uint32_t kMostReaders = 256;

  Races(const RunOptions& options, const codegen::host::CodeObject& code);

  void access(const codegen::host::BlockContext& context, uint32_t thread, uint64_t address, uint64_t size,
              uint64_t value, const codegen::host::Site& site);
  void synchronise(const codegen::host::BlockContext& context, uint32_t thread, codegen::host::TrackedSync kind);
  void forget(uint64_t address, uint64_t size);

 private:
  using BlockContext = codegen::host::BlockContext;
  using Site = codegen::host::Site;
  static constexpr uint32_t kMostLanes = 64;

  // What a lane knows of the others of its wave: their `count`s, up to which their accesses came before.
  using View = std::array<uint32_t, kMostLanes>;

  struct Item {
    uint32_t epoch = 0, grid_epoch = 0;
    uint32_t count = 1;
    uint32_t view = 0;  // in Block::views; 0: it knows nothing
  };
  struct Told {  // by an item, or to it, with fences and atomic operations
    KnowledgePointer known = nullptr;
    ReleasePointer fence = nullptr, block_fence = nullptr;  // what it may release since it last left a barrier
  };
  struct Made {  // a record, as it was made last
    const Site* site = nullptr;
    uint32_t block = 0, epoch = 0, grid_epoch = 0, count = 0;
    Tag tag = Tag::kNone;
    // Of words that were read at this place: who wrote them, before any of the block's work-items, and the readers, of
    // whom the block is one that none of them adds to.
    Tag writer = Tag::kNone, readers = Tag::kNone;
  };
  struct Block {
    uint32_t number = ~0u;
    uint32_t group[3] = {~0u, ~0u, ~0u};
    std::vector<Item> items;
    std::vector<Told> told;          // by item; empty: nobody has told anything
    std::vector<uint64_t> arriving;  // of each wave: the lanes that have come to a collective, and not left it
    std::vector<View> views;
    std::vector<uint32_t> uses, free_views;
    uint32_t epoch = 0;      // the latest of an item's
    bool has_news = false;   // an item knows of others, or has passed a fence, since then
    KnowledgePointer known;  // at the last barrier
    ReleasePointer fence;    // that all have passed together, before it
    std::vector<Word> shared;
    std::array<Made, 64> made;
  };
  // The access in hand.
  struct Now {
    const BlockContext& context;
    Block& block;
    const Item& item;
    uint32_t thread;
    const Site& site;
    uint64_t address, size, value;
    bool is_shared;
    Made& made;
    Tag tag;
  };

  Block& block_of(const BlockContext& context);
  static void begin(Block& block, const BlockContext& context);
  void leave_collective(Block& block, uint32_t thread);
  void release_view(Block& block, Item& item);
  static void pass_barrier(Block& block);
  void pass_fence(Block& block, uint32_t thread, bool for_block);
  void acquire(Block& block, uint32_t thread, uint64_t channel);
  void release(Block& block, uint32_t thread, uint64_t channel);
  bool is_before_here(const Now& now, Tag tag) const;
  Made& made_at(Block& block, const Item& item, const Site& site);
  static Told& told(Block& block, uint32_t thread);
  static KnowledgePointer known(const Block& block, uint32_t thread);

  void access_slot(const Now& now, Slot& slot);
  void access_word(const Now& now, Word& word, uint32_t first, uint32_t last);
  bool knows(const Now& now, uint32_t thread, uint32_t count) const;
  bool is_before(const Now& now, Tag tag) const;
  // One access of those that the tag stands for which is not before; `counts`: of which that holds.
  struct Other {
    uint32_t block, thread;
    const Site* site;
  };
  Other unordered(const Now& now, Tag tag) const;
  Tag add(const Now& now, Tag readers);
  Tag merged(const Now& now, Tag head);
  void report(const Now& now, Tag tag, bool are_equal);
  bool conflict(const Now& now, const Record& other) const;
  bool is_of_wave(const Now& now, Tag tag) const;
  void compare(const Now& now, Slot& slot);
  void remember(const Now& now, const Slot& slot) const;
  bool writes_the_same(const Now& now) const;
  bool is_known(uint64_t address);
  void start_anew();

  const RunOptions& options_;
  uint32_t wave_size_;
  bool in_step_;  // a fence orders what the lanes of a wave do
  History history_;
  Shadow shadow_;
  std::unordered_map<const BlockContext*, std::unique_ptr<Block>> blocks_;
  const BlockContext* last_context_ = nullptr;
  Block* last_block_ = nullptr;
  std::unordered_map<uint64_t, std::unique_ptr<Channel>> channels_;  // by address, those with releases
  uint64_t known_begin_ = 0, known_end_ = 0;                         // memory that was looked up last
};

}  // namespace mneme::device::host
