// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "snapshot.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <unordered_map>

#include "base/error.h"

namespace mneme::capture {
namespace {

using bundle::kBlockSize;

constexpr std::byte kZeros[kBlockSize]{};
constexpr int kTakers = 14;  // threads that take what was fetched: more have nothing left to gain

// Bytes [begin, end) that belong to segments; no two touch.
struct Extent {
  uint64_t begin, end;
  uint64_t begin_in(uint64_t block) const { return std::max(begin, block); }
  uint64_t end_in(uint64_t block) const { return std::min(end, block + kBlockSize); }
};

std::vector<Extent> extents_of(const std::vector<bundle::Segment>& segments) {
  std::vector<Extent> extents;
  for (const bundle::Segment& segment : segments) {
    if (segment.size == 0) continue;
    uint64_t end = segment.address + segment.size;
    if (!extents.empty() && extents.back().end == segment.address) {
      extents.back().end = end;
    } else {
      extents.push_back({segment.address, end});
    }
  }
  return extents;
}

// One block, and the extents [first, last) that have bytes in it.
struct Place {
  uint64_t address;
  size_t first, last;
};

size_t count_blocks(const std::vector<Extent>& extents) {
  uint64_t count = 0, last = UINT64_MAX;
  for (const Extent& extent : extents) {
    uint64_t first = extent.begin / kBlockSize;
    count -= first == last ? 1 : 0;
    last = (extent.end - 1) / kBlockSize;
    count += last - first + 1;
  }
  return count;
}

std::vector<Place> places_of(const std::vector<Extent>& extents) {
  std::vector<Place> places;
  places.reserve(count_blocks(extents));
  for (size_t i = 0; i < extents.size(); ++i) {
    uint64_t begin = extents[i].begin / kBlockSize * kBlockSize;
    for (uint64_t address = begin; address < extents[i].end; address += kBlockSize) {
      if (!places.empty() && places.back().address == address) {
        places.back().last = i + 1;
      } else {
        places.push_back({address, i, i + 1});
      }
    }
  }
  return places;
}

void copy(const MemoryView& memory, uint64_t address, uint64_t size, std::byte* out) {
  while (size > 0) {
    Bytes piece = memory.at(address, size, out);
    if (piece.empty()) throw Error::of("its memory at {:#x} cannot be read", address);
    if (piece.data() != out) std::memcpy(out, piece.data(), piece.size());
    address += piece.size();
    out += piece.size();
    size -= piece.size();
  }
}

// Past the caches, which hold nothing of `out` and need not: half of what copying costs would be reading it.
void copy_block(const std::byte* from, std::byte* out) {
  using Line = long long __attribute__((vector_size(16)));
  for (size_t at = 0; at < kBlockSize; at += sizeof(Line)) {
    Line line;
    std::memcpy(&line, from + at, sizeof line);
    __builtin_nontemporal_store(line, reinterpret_cast<Line*>(out + at));
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // such stores are not ordered otherwise
}

bool are_zeros(const std::byte* block) { return std::memcmp(block, kZeros, kBlockSize) == 0; }

}  // namespace

// Fills a snapshot block by block.
class Snapshot::Taking {
 public:
  Taking(Snapshot& snapshot, std::vector<Extent> extents, const MemoryView& memory, const Snapshot* previous,
         const Pool& pool)
      : snapshot_(snapshot), extents_(std::move(extents)), memory_(memory), previous_(previous), pool_(pool) {}

  void run() {
    std::vector<Place> places = places_of(extents_);
    snapshot_.state_.blocks.resize(places.size());
    snapshot_.contents_.resize(places.size());
    snapshot_.is_whole_.resize(places.size());
    std::vector<char> distant(places.size(), 0);
    tbb::parallel_for(size_t{0}, places.size(), [&](size_t i) {
      snapshot_.is_whole_[i] = is_whole(places[i]);
      snapshot_.state_.blocks[i] = {places[i].address, bundle::zero_block_digest()};
      distant[i] = !take(places[i], i);
    });
    std::vector<size_t> wanted;
    for (size_t i = 0; i < places.size(); ++i) {
      if (distant[i]) wanted.push_back(i);
    }
    if (!wanted.empty()) fetch(places, wanted);
    snapshot_.copied_bytes_ = copied_ * kBlockSize;
  }

 private:
  // Bytes of distant memory in a load, `at` bytes from its beginning.
  struct Stretch {
    uint64_t address, size, at;
  };
  // A block that is in a load, by the stretches [first, last).
  struct Fetched {
    size_t place, first, last;
  };
  struct Load {
    std::vector<Stretch> stretches;
    std::vector<Fetched> blocks;
    uint64_t size = 0;
    Fetching::Load pieces;
  };

  // Loads, each prepared while the one before it is on its way or is taken: else the device waits for it.
  class Loads {
   public:
    explicit Loads(std::function<Load()> prepare) : prepare_(std::move(prepare)) { begin(); }
    ~Loads() {
      try {
        preparing_.wait();
      } catch (...) {  // of a load that nobody waits for any more
      }
    }
    Loads(const Loads&) = delete;
    Loads& operator=(const Loads&) = delete;

    Load next() {
      preparing_.wait();
      Load load = std::move(prepared_);
      if (!load.pieces.empty()) begin();
      return load;
    }

   private:
    void begin() {
      preparing_.run([this] { prepared_ = prepare_(); });
    }

    const std::function<Load()> prepare_;
    Load prepared_;
    tbb::task_group preparing_;
  };

  // Threads of the application may write at any time, to host memory at least: a block's digest is that of the bytes
  // that are kept, and bytes are kept after one look at the memory.
  // False: it has to be fetched.
  bool take(const Place& place, size_t number) {
    Digest& digest = snapshot_.state_.blocks[number].digest;
    Block& block = snapshot_.contents_[number];
    const bundle::BlockReference* reference = nullptr;
    Block before = find_before(place.address, number, reference);
    if (reference && memory_.unwritten(place.address) && is_whole(place) && was_whole(reference)) {
      digest = reference->digest;
      block = std::move(before);
      return true;
    }
    if (std::optional<Digest> known = memory_.known(place.address)) {
      if (*known == bundle::zero_block_digest()) return true;
      if (before && *known == reference->digest) {
        digest = *known;
        block = std::move(before);
        return true;
      }
    }
    if (memory_.distant(extents_[place.first].begin_in(place.address), 1)) return false;
    // With contents of its own it was touched; else the question is cheaper than reading.
    if (!before && memory_.untouched(place.address, kBlockSize)) return true;
    std::byte* buffer = own_buffer();
    const std::byte* bytes = in_one_piece(place, buffer);
    if (!bytes) {
      gather(place, buffer,
             [&](uint64_t address, uint64_t size, std::byte* out) { copy(memory_, address, size, out); });
      bytes = buffer;
    }
    keep(bytes, true, before, reference, digest, block);
    return true;
  }

  static std::byte* own_buffer() {
    thread_local std::unique_ptr<std::byte[]> buffer(new std::byte[kBlockSize]);
    return buffer.get();
  }

  // `changes`: the bytes are still those of the application.
  void keep(const std::byte* bytes, bool changes, Block& before, const bundle::BlockReference* reference,
            Digest& digest, Block& block) {
    // Hashing what is new once more, in the cache by then, costs less than reading the copy of what is not.
    if (before && digest_of(Bytes(bytes, kBlockSize)) == reference->digest) {
      digest = reference->digest;
      block = std::move(before);
      return;
    }
    if (are_zeros(bytes)) return;
    std::shared_ptr<std::byte> copied = new_block();
    if (changes) {
      std::memcpy(copied.get(), bytes, kBlockSize);
      bytes = copied.get();
      if (are_zeros(bytes)) return;
    } else {
      copy_block(bytes, copied.get());
    }
    digest = digest_of(Bytes(bytes, kBlockSize));
    block = std::move(copied);
    ++copied_;
  }

  // What the previous snapshot has of the `number`th block; null: nothing, or zeros.
  Block find_before(uint64_t address, size_t number, const bundle::BlockReference*& reference) const {
    if (!previous_) return nullptr;
    const auto& blocks = previous_->state_.blocks;
    auto found = blocks.begin() + static_cast<ptrdiff_t>(number);  // as a rule: it has the same ones
    if (number >= blocks.size() || found->address != address) {
      found = std::ranges::lower_bound(blocks, address, {}, &bundle::BlockReference::address);
    }
    if (found == blocks.end() || found->address != address) return nullptr;
    reference = &*found;
    return previous_->contents_[static_cast<size_t>(found - blocks.begin())];
  }

  bool was_whole(const bundle::BlockReference* reference) const {
    return previous_->is_whole_[static_cast<size_t>(reference - previous_->state_.blocks.data())];
  }

  bool is_whole(const Place& place) const {
    const Extent& only = extents_[place.first];
    return place.last == place.first + 1 && only.begin <= place.address && only.end >= place.address + kBlockSize;
  }

  // A block that is wholly in one piece of memory, where it lies or in the buffer; else nullptr.
  const std::byte* in_one_piece(const Place& place, std::byte* buffer) const {
    if (!is_whole(place)) return nullptr;
    Bytes there = memory_.at(place.address, kBlockSize, buffer);
    return there.size() == kBlockSize ? there.data() : nullptr;
  }

  template <class Get>
  void gather(const Place& place, std::byte* out, const Get& get) const {
    std::memset(out, 0, kBlockSize);
    for (size_t i = place.first; i < place.last; ++i) {
      uint64_t begin = extents_[i].begin_in(place.address), end = extents_[i].end_in(place.address);
      get(begin, end - begin, out + (begin - place.address));
    }
  }

  // ---- what has to be fetched ----

  // What two blocks have alike, by their digests, is fetched once.
  void fetch(const std::vector<Place>& places, const std::vector<size_t>& wanted) {
    std::unordered_map<Digest, size_t> known_ones(wanted.size());
    std::vector<std::pair<size_t, size_t>> alike;
    auto place = wanted.begin();
    Loads prepared([&] {
      Load load;
      for (; place != wanted.end() && load.size + kBlockSize <= Fetching::kRoom; ++place) {
        if (std::optional<Digest> known = memory_.known(places[*place].address); known && is_whole(places[*place])) {
          auto [first, fresh] = known_ones.try_emplace(*known, *place);
          if (!fresh) {
            alike.emplace_back(*place, first->second);
            continue;
          }
        }
        add(places, *place, load);
      }
      load.pieces = pieces_of(load);
      return load;
    });
    std::deque<Load> loads;  // those asked for
    auto next = [&] { return loads.emplace_back(prepared.next()).pieces; };
    tbb::task_arena threads(std::min(kTakers, tbb::this_task_arena::max_concurrency()));
    memory_.fetch(next, [&](const std::byte* bytes) {
      const Load& load = loads.front();
      threads.execute([&] {
        tbb::parallel_for(size_t{0}, load.blocks.size(), [&](size_t b) { take(places, load, load.blocks[b], bytes); });
      });
      loads.pop_front();
    });
    for (auto [i, like] : alike) {
      snapshot_.state_.blocks[i].digest = snapshot_.state_.blocks[like].digest;
      snapshot_.contents_[i] = snapshot_.contents_[like];
    }
  }

  void add(const std::vector<Place>& places, size_t number, Load& load) {
    const Place& place = places[number];
    const uint64_t end = extents_[place.last - 1].end_in(place.address);
    Fetched block{number, load.stretches.size(), 0};
    uint64_t at = place.address;
    for (size_t i = place.first; i < place.last; ++i) {
      at = std::max(at, extents_[i].begin_in(place.address));
      // What lies between near ones goes with them.
      while (at < extents_[i].end_in(place.address)) {
        std::optional<record::Piece> piece = memory_.distant(at, end - at);
        if (!piece) throw Error::of("its memory at {:#x} cannot be read", at);
        load.stretches.push_back({at, piece->size, load.size});
        load.size += piece->size;
        at += piece->size;
      }
    }
    block.last = load.stretches.size();
    load.blocks.push_back(block);
  }

  // Neighbours are one piece, but not what happens to lie beside each other: a call may copy from one variable only.
  Fetching::Load pieces_of(const Load& load) const {
    Fetching::Load pieces;
    for (const Stretch& stretch : load.stretches) {
      record::Piece piece = *memory_.distant(stretch.address, stretch.size);
      if (!pieces.empty() && pieces.back().address + pieces.back().size == piece.address) {
        record::Piece both = *memory_.distant(pieces.back().address, pieces.back().size + piece.size);
        if (both.size > pieces.back().size) {
          pieces.back() = both;
          continue;
        }
      }
      pieces.push_back(piece);
    }
    return pieces;
  }

  void take(const std::vector<Place>& places, const Load& load, const Fetched& fetched, const std::byte* bytes) {
    const Place& place = places[fetched.place];
    if (fetched.last == fetched.first + 1 && is_whole(place)) {
      bytes += load.stretches[fetched.first].at;
    } else {
      std::byte* buffer = own_buffer();
      gather(place, buffer, [&](uint64_t address, uint64_t size, std::byte* out) {
        for (size_t i = fetched.first; i < fetched.last; ++i) {
          const Stretch& stretch = load.stretches[i];
          uint64_t begin = std::max(address, stretch.address);
          uint64_t end = std::min(address + size, stretch.address + stretch.size);
          if (begin < end)
            std::memcpy(out + (begin - address), bytes + stretch.at + (begin - stretch.address), end - begin);
        }
      });
      bytes = buffer;
    }
    // A digest that was known is another than the one before.
    const bundle::BlockReference* reference = nullptr;
    bool is_new = is_whole(place) && memory_.known(place.address);
    Block before = is_new ? nullptr : find_before(place.address, fetched.place, reference);
    keep(bytes, false, before, reference, snapshot_.state_.blocks[fetched.place].digest,
         snapshot_.contents_[fetched.place]);
  }

  std::shared_ptr<std::byte> new_block() const {
    return {pool_->take(), [pool = pool_](std::byte* done) { pool->give_back(done); }};
  }

  Snapshot& snapshot_;
  const std::vector<Extent> extents_;
  const MemoryView& memory_;
  const Snapshot* previous_;
  const Pool& pool_;
  std::atomic<uint64_t> copied_ = 0;
};

Snapshot Snapshot::take(const std::vector<bundle::Segment>& segments, const MemoryView& memory,
                        const Snapshot* previous, const Pool& pool) {
  Snapshot snapshot;
  Taking(snapshot, extents_of(segments), memory, previous, pool).run();
  return snapshot;
}

Bytes Snapshot::block(uint64_t address) const {
  auto found = std::ranges::lower_bound(state_.blocks, address, {}, &bundle::BlockReference::address);
  if (found == state_.blocks.end() || found->address != address) {
    throw Error::of("a snapshot has no block at {:#x}", address);
  }
  const Block& block = contents_[static_cast<size_t>(found - state_.blocks.begin())];
  return {block ? block.get() : kZeros, kBlockSize};
}

}  // namespace mneme::capture
