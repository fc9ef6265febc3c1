// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/heap/heap.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mneme::device::host {
namespace {

constexpr uint64_t kAlign = 16;
constexpr uint64_t kSmall = 1024;  // up to here, a class for each multiple of kAlign; then four for each power of two
constexpr uint64_t kSmallClasses = kSmall / kAlign;
constexpr uint64_t kClasses = kSmallClasses + 4 * 26;
constexpr uint64_t kLargest = uint64_t{1} << 35;  // bytes of heap that are used
constexpr int kTries = 32;                        // chunks of the right class that are looked at

// At the start of the heap. Offsets count from there; zero is none.
struct State {
  uint64_t used;  // bytes, from the start; zero: never used. Behind are no chunks
  uint64_t last;  // the chunk before `used`, in kAligns
  uint64_t released[kClasses];
};

// Before each piece of memory. Chunks follow each other without gaps, no two that are free beside each other.
struct Chunk {
  uint32_t size;    // of what is behind this, in kAligns
  uint32_t before;  // the same of the chunk before; zero: there is none
  uint64_t mark;    // kInUse or kFree, mixed with its offset and, from kNoteShift on, with a note
};
constexpr uint64_t kInUse = 0x6d6e656d65757365;
constexpr uint64_t kFree = 0x6d6e656d65667265;
static_assert(sizeof(Chunk) == kAlign);
// In use: how many of the chunk's bytes nobody asked for. Free: one more than that while it is as it was given out,
// else zero.
constexpr int kNoteShift = 56;
// In a free chunk, in the list of its class.
struct Links {
  uint64_t next, previous;
};
static_assert(sizeof(Links) <= kAlign);
constexpr uint64_t kFirst = (sizeof(State) + kAlign - 1) / kAlign * kAlign;

// The class whose chunks have at least `size` bytes, and less than the next one's.
uint64_t class_of(uint64_t size) {
  if (size <= kSmall) return size / kAlign - 1;
  auto power = static_cast<uint64_t>(std::bit_width(size)) - 1;  // at least 10
  return kSmallClasses + 4 * (power - 10) + ((size >> (power - 2)) & 3);
}

struct Damaged {};

// Throws Damaged when it meets what it cannot have written.
class Heap {
 public:
  explicit Heap(std::span<std::byte> memory) : memory_(memory.first(std::min(memory.size(), kLargest))) {
    if (state().used == 0) state().used = kFirst;
    if (state().used < kFirst || state().used > memory_.size() || state().used % kAlign) throw Damaged();
  }

  void* allocate(uint64_t asked) {
    uint64_t size = (asked + kAlign - 1) / kAlign * kAlign;
    uint64_t which = class_of(size);
    for (uint64_t i = which; i < kClasses; ++i) {
      if (uint64_t found = find(i, size)) {
        take_out(found);
        split(found, size);
        return give(found, asked);
      }
    }
    if (memory_.size() - state().used < size + sizeof(Chunk)) return nullptr;
    uint64_t offset = state().used;
    state().used += size + sizeof(Chunk);
    chunk(offset).before = static_cast<uint32_t>(state().last);
    set_size(offset, size);
    return give(offset, asked);
  }

  HeapTrouble release(uint64_t offset) {
    if (is_chunk(offset, kFree)) return HeapTrouble::kReleased;
    if (!is_chunk(offset, kInUse)) return HeapTrouble::kNotAllocated;
    uint64_t size = size_of(offset), note = note_of(offset) + 1;
    if (uint64_t next = offset + sizeof(Chunk) + size; next < state().used && is_chunk(next, kFree)) {
      take_out(next);
      size += sizeof(Chunk) + size_of(next);
      note = 0;
    }
    if (uint64_t before = before_of(offset); before && is_chunk(before, kFree)) {
      take_out(before);
      size += sizeof(Chunk) + size_of(before);
      mark(offset, kFree, 0);
      offset = before;
      note = 0;
    }
    mark(offset, kFree, note);
    set_size(offset, size);
    put_in(offset);
    return HeapTrouble::kNone;
  }

  // The offset of what is no chunk but should be one.
  std::optional<uint64_t> walk(const auto& take) {
    for (uint64_t offset = kFirst; offset < state().used; offset += sizeof(Chunk) + size_of(offset)) {
      bool in_use = is_chunk(offset, kInUse);
      if (!in_use && !is_chunk(offset, kFree)) return offset;
      uint64_t note = note_of(offset);
      if (!in_use && note-- == 0) continue;
      if (note >= size_of(offset)) return offset;
      take(HeapPiece{reinterpret_cast<uint64_t>(&chunk(offset) + 1), size_of(offset) - note}, in_use);
    }
    return std::nullopt;
  }

 private:
  State& state() { return *reinterpret_cast<State*>(memory_.data()); }
  Chunk& chunk(uint64_t offset) { return *reinterpret_cast<Chunk*>(memory_.data() + offset); }
  Links& links(uint64_t offset) { return *reinterpret_cast<Links*>(memory_.data() + offset + sizeof(Chunk)); }
  uint64_t size_of(uint64_t offset) { return chunk(offset).size * kAlign; }

  uint64_t note_of(uint64_t offset) { return (chunk(offset).mark ^ kInUse) >> kNoteShift; }
  void mark(uint64_t offset, uint64_t kind, uint64_t note) { chunk(offset).mark = kind ^ offset ^ note << kNoteShift; }

  bool is_chunk(uint64_t offset, uint64_t kind) {
    if (offset < kFirst || offset % kAlign || offset >= state().used) return false;
    const Chunk& here = chunk(offset);
    uint64_t only_note = here.mark ^ kind ^ offset;
    return only_note >> kNoteShift << kNoteShift == only_note && here.size &&
           size_of(offset) <= state().used - offset - sizeof(Chunk);
  }

  uint64_t before_of(uint64_t offset) {
    uint64_t size = chunk(offset).before * kAlign + sizeof(Chunk);
    if (!chunk(offset).before) return 0;
    if (size > offset - kFirst) throw Damaged();
    return offset - size;
  }

  // And tells the chunk behind.
  void set_size(uint64_t offset, uint64_t size) {
    chunk(offset).size = static_cast<uint32_t>(size / kAlign);
    uint64_t next = offset + sizeof(Chunk) + size;
    if (next < state().used) {
      chunk(next).before = chunk(offset).size;
    } else {
      state().last = chunk(offset).size;
    }
  }

  void put_in(uint64_t offset) {
    uint64_t& list = state().released[class_of(size_of(offset))];
    if (list && !is_chunk(list, kFree)) throw Damaged();
    links(offset) = {list, 0};
    if (list) links(list).previous = offset;
    list = offset;
  }

  void take_out(uint64_t offset) {
    auto [next, previous] = links(offset);
    uint64_t& list = state().released[class_of(size_of(offset))];
    bool sound = (!next || is_chunk(next, kFree)) && (previous ? is_chunk(previous, kFree) : list == offset);
    if (!sound) throw Damaged();
    if (next) links(next).previous = previous;
    (previous ? links(previous).next : list) = next;
  }

  // A free chunk of this class that is large enough, or zero.
  uint64_t find(uint64_t which, uint64_t size) {
    uint64_t offset = state().released[which];
    for (int tries = 0; offset && tries < kTries; ++tries) {
      if (!is_chunk(offset, kFree)) throw Damaged();
      if (size_of(offset) >= size) return offset;
      offset = links(offset).next;
    }
    return 0;
  }

  // Leaves `size` bytes of a chunk that is in no list, and frees the rest of it.
  void split(uint64_t offset, uint64_t size) {
    uint64_t rest = size_of(offset) - size;
    if (rest < sizeof(Chunk) + kAlign) return;
    uint64_t second = offset + sizeof(Chunk) + size;
    chunk(second).before = static_cast<uint32_t>(size / kAlign);
    mark(second, kFree, 0);
    set_size(second, rest - sizeof(Chunk));
    chunk(offset).size = static_cast<uint32_t>(size / kAlign);
    put_in(second);
  }

  void* give(uint64_t offset, uint64_t asked) {
    mark(offset, kInUse, size_of(offset) - asked);
    return &chunk(offset) + 1;
  }

  std::span<std::byte> memory_;
};

}  // namespace

HeapAnswer heap_allocate(std::span<std::byte> memory, uint64_t size) try {
  if (memory.size() < kFirst || size == 0 || size > std::min(memory.size(), kLargest)) {
    return {nullptr, HeapTrouble::kNone};
  }
  return {Heap(memory).allocate(size), HeapTrouble::kNone};
} catch (const Damaged&) {
  return {nullptr, HeapTrouble::kDamaged};
}

HeapTrouble heap_release(std::span<std::byte> memory, void* address) try {
  if (!address) return HeapTrouble::kNone;
  auto at = reinterpret_cast<uint64_t>(address), start = reinterpret_cast<uint64_t>(memory.data());
  if (memory.size() < kFirst || at < start + kFirst + sizeof(Chunk) || at >= start + memory.size()) {
    return HeapTrouble::kNotAllocated;
  }
  return Heap(memory).release(at - start - sizeof(Chunk));
} catch (const Damaged&) {
  return HeapTrouble::kDamaged;
}

std::optional<uint64_t> heap_walk(std::span<std::byte> memory,
                                  const std::function<void(const HeapPiece&, bool in_use)>& take) {
  State state;
  if (memory.size() < kFirst) return std::nullopt;
  std::memcpy(&state, memory.data(), sizeof state);
  if (state.used == 0) return std::nullopt;
  auto start = reinterpret_cast<uint64_t>(memory.data());
  try {
    auto damaged = Heap(memory).walk(take);
    return damaged ? std::optional(start + *damaged) : std::nullopt;
  } catch (const Damaged&) {
    return start;
  }
}

}  // namespace mneme::device::host
