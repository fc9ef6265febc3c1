// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "snapshot.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace mneme::capture {
namespace {

using bundle::kBlockSize;

constexpr Snapshot::Contents kZeros{};

// One block, and the segments [first, last) that have bytes in it.
struct Place {
  uint64_t address;
  size_t first, last;
};

std::vector<Place> places_of(const std::vector<bundle::Segment>& segments) {
  std::vector<Place> places;
  for (size_t i = 0; i < segments.size(); ++i) {
    const bundle::Segment& segment = segments[i];
    if (segment.size == 0) continue;
    uint64_t begin = segment.address / kBlockSize * kBlockSize;
    uint64_t end = segment.address + segment.size;
    for (uint64_t address = begin; address < end; address += kBlockSize) {
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
    Bytes piece = memory.at(address, size);
    if (piece.empty()) throw Error::of("its memory at {:#x} cannot be read", address);
    std::memcpy(out, piece.data(), piece.size());
    address += piece.size();
    out += piece.size();
    size -= piece.size();
  }
}

// Reads one block into `buffer` unless its bytes can be had where they lie.
Bytes read(const Place& place, const std::vector<bundle::Segment>& segments, const MemoryView& memory,
           Snapshot::Contents& buffer) {
  const bundle::Segment& only = segments[place.first];
  bool whole = place.last == place.first + 1 && only.address <= place.address &&
               only.address + only.size >= place.address + kBlockSize;
  if (memory.untouched(place.address, kBlockSize)) return kZeros;
  if (whole) {
    Bytes there = memory.at(place.address, kBlockSize);
    if (there.size() == kBlockSize) return there;
  }
  buffer = kZeros;
  for (size_t i = place.first; i < place.last; ++i) {
    uint64_t begin = std::max(segments[i].address, place.address);
    uint64_t end = std::min(segments[i].address + segments[i].size, place.address + kBlockSize);
    if (begin < end) copy(memory, begin, end - begin, buffer.data() + (begin - place.address));
  }
  return buffer;
}

}  // namespace

Snapshot Snapshot::take(const std::vector<bundle::Segment>& segments, const MemoryView& memory,
                        const Snapshot* previous) {
  std::vector<Place> places = places_of(segments);
  Snapshot snapshot;
  snapshot.state_.blocks.resize(places.size());
  snapshot.contents_.resize(places.size());
  tbb::parallel_for(size_t{0}, places.size(), [&](size_t i) {
    thread_local Contents buffer;
    bundle::BlockReference& reference = snapshot.state_.blocks[i];
    reference.address = places[i].address;
    Bytes bytes = read(places[i], segments, memory, buffer);
    reference.digest = bytes.data() == kZeros.data() ? bundle::zero_block_digest() : digest_of(bytes);
    if (reference.digest == bundle::zero_block_digest()) return;
    if (previous) {
      const auto& before = previous->state_.blocks;
      auto same = std::ranges::lower_bound(before, reference.address, {}, &bundle::BlockReference::address);
      if (same != before.end() && same->address == reference.address && same->digest == reference.digest) {
        snapshot.contents_[i] = previous->contents_[static_cast<size_t>(same - before.begin())];
        return;
      }
    }
    auto contents = std::make_shared_for_overwrite<Contents>();
    std::memcpy(contents->data(), bytes.data(), kBlockSize);
    // Threads of the application may write to host memory at any time: what counts is what was copied.
    reference.digest = digest_of(*contents);
    if (reference.digest != bundle::zero_block_digest()) snapshot.contents_[i] = std::move(contents);
  });
  return snapshot;
}

Bytes Snapshot::block(uint64_t address) const {
  auto found = std::ranges::lower_bound(state_.blocks, address, {}, &bundle::BlockReference::address);
  if (found == state_.blocks.end() || found->address != address) {
    throw Error::of("a snapshot has no block at {:#x}", address);
  }
  const Block& block = contents_[static_cast<size_t>(found - state_.blocks.begin())];
  return block ? Bytes(*block) : Bytes(kZeros);
}

}  // namespace mneme::capture
