// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "snapshot.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.h"

namespace mneme::capture {
namespace {

using bundle::kBlockSize;

constexpr std::byte kZeros[kBlockSize]{};

// Bytes [begin, end) that belong to segments; no two touch.
struct Extent {
  uint64_t begin, end;
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

std::vector<Place> places_of(const std::vector<Extent>& extents) {
  std::vector<Place> places;
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
    tbb::parallel_for(size_t{0}, places.size(), [&](size_t i) {
      snapshot_.state_.blocks[i] = {places[i].address, bundle::zero_block_digest()};
      take(places[i], snapshot_.state_.blocks[i].digest, snapshot_.contents_[i]);
    });
    snapshot_.copied_bytes_ = copied_ * kBlockSize;
  }

 private:
  // Threads of the application may write at any time, to host memory at least: a block's digest is that of the bytes
  // that are kept, and bytes are kept after one look at the memory.
  void take(const Place& place, Digest& digest, Block& block) {
    const bundle::BlockReference* reference = nullptr;
    Block before = find_before(place.address, reference);
    if (std::optional<Digest> known = memory_.known(place.address)) {
      if (*known == bundle::zero_block_digest()) return;
      if (before && *known == reference->digest) {
        digest = *known;
        block = std::move(before);
        return;
      }
    }
    // With contents of its own it was touched; else the question is cheaper than reading.
    if (!before && memory_.untouched(place.address, kBlockSize)) return;
    thread_local std::unique_ptr<std::byte[]> buffer(new std::byte[kBlockSize]);
    const std::byte* bytes = in_one_piece(place, buffer.get());
    if (!bytes) {
      gather(place, buffer.get());
      bytes = buffer.get();
    }
    // Hashing what is new once more, in the cache by then, costs less than reading the copy of what is not.
    if (before && digest_of(Bytes(bytes, kBlockSize)) == reference->digest) {
      digest = reference->digest;
      block = std::move(before);
      return;
    }
    if (are_zeros(bytes)) return;
    Block copied = copy_of(bytes);
    if (are_zeros(copied.get())) return;
    digest = digest_of(Bytes(copied.get(), kBlockSize));
    block = std::move(copied);
    ++copied_;
  }

  // What the previous snapshot has; null: nothing, or zeros.
  Block find_before(uint64_t address, const bundle::BlockReference*& reference) const {
    if (!previous_) return nullptr;
    const auto& blocks = previous_->state_.blocks;
    auto found = std::ranges::lower_bound(blocks, address, {}, &bundle::BlockReference::address);
    if (found == blocks.end() || found->address != address) return nullptr;
    reference = &*found;
    return previous_->contents_[static_cast<size_t>(found - blocks.begin())];
  }

  // A block that is wholly in one piece of memory, where it lies or in the buffer; else nullptr.
  const std::byte* in_one_piece(const Place& place, std::byte* buffer) const {
    const Extent& only = extents_[place.first];
    if (place.last != place.first + 1 || only.begin > place.address || only.end < place.address + kBlockSize) {
      return nullptr;
    }
    Bytes there = memory_.at(place.address, kBlockSize, buffer);
    return there.size() == kBlockSize ? there.data() : nullptr;
  }

  void gather(const Place& place, std::byte* out) const {
    std::memset(out, 0, kBlockSize);
    for (size_t i = place.first; i < place.last; ++i) {
      uint64_t begin = std::max(extents_[i].begin, place.address);
      uint64_t end = std::min(extents_[i].end, place.address + kBlockSize);
      copy(memory_, begin, end - begin, out + (begin - place.address));
    }
  }

  Block copy_of(const std::byte* bytes) const {
    std::byte* memory = pool_->take();
    std::memcpy(memory, bytes, kBlockSize);
    return {memory, [pool = pool_](const std::byte* done) { pool->give_back(const_cast<std::byte*>(done)); }};
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
