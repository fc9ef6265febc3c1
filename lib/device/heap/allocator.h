// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// malloc() and free() of device code, in memory that a recorder can see. The vendors' allocators keep their state where
// nothing reaches it, so a recording could not restore it.
//
// For each vendor's GPUs it is compiled without their headers (allocator.cc) and linked into the application's device
// code (mneme-inject/pass/device_heap.h). On the host device it is a service (device/host/heap/gpu_heap.h). Each
// defines DEVICE, u32, u64 and the atomic operations (gpu.h) before it includes this.
//
// The heap is one piece of memory that was zero at first, divided into chunks:
//
//     word of each chunk | bitmap of each chunk | chunk 0 | chunk 1 | …
//
// A chunk is free, has slots of one size class, or is part of a large allocation. Which slot an allocation gets follows
// from the thread and from what the heap held before the kernel, as long as the preferred slots suffice: the thread
// with number t of T tries the slots t, t + T, t + 2 T, … of its class. No two threads try the same slot, so a replay
// allocates at the recorded addresses in whatever order threads run. Large allocations do the same from the heap's end.
#pragma once

struct Heap {
  unsigned char* base;  // null: there is none
  u64 size;
};

struct Thread {
  u64 block, blocks;    // number of its block, of so many
  u64 index, of_block;  // number in the block, of so many
};

namespace {

// ---- sizes: multiples of 16 bytes, four classes for each doubling ----

constexpr u32 kGranule = 16;
constexpr u32 kSmallestChunk = 16;      // log2 of bytes
constexpr u64 kMostChunks = 2048;       // then chunks are larger
constexpr u32 kCount = (1u << 24) - 1;  // of a chunk's word: its slots in use; the class lies above
constexpr u32 kClass = 24;
constexpr u32 kLarge = 254, kTail = 255;  // classes of the first chunk of a large allocation, and of its others

DEVICE u32 class_of(u64 granules) {
  u32 last = static_cast<u32>(granules - 1);
  u32 shift = last < 8 ? 0 : 29 - __builtin_clz(last);
  return 4 * shift + (last >> shift) + 1;
}

DEVICE u64 granules_of(u32 type) {
  u32 shift = type <= 8 ? 0 : (type - 5) / 4;
  return u64{type - 4 * shift} << shift;
}

// ---- the heap's parts ----

struct Chunks {
  u32 shift;  // log2 of a chunk's bytes
  u64 count;
  u32* words;
  u32* bitmaps;
  unsigned char* data;

  DEVICE explicit Chunks(const Heap& heap) : shift(kSmallestChunk) {
    while (heap.size >> shift > kMostChunks) ++shift;
    u64 tables = sizeof(u32) + (u64{1} << shift) / kGranule / 8;
    count = heap.size / ((u64{1} << shift) + tables);
    // Data begins at a multiple of the granule.
    words = reinterpret_cast<u32*>(heap.base);
    bitmaps = words + (count + 3) / 4 * 4;
    data = reinterpret_cast<unsigned char*>(bitmaps + count * words_of_bitmap());
    if (count > 0 && data + (count << shift) > heap.base + heap.size) --count;
  }
  DEVICE u64 words_of_bitmap() const { return (u64{1} << shift) / kGranule / 32; }
  DEVICE u64 slots(u32 type) const { return ((u64{1} << shift) / kGranule) / granules_of(type); }
  DEVICE u32* bitmap(u64 chunk) const { return bitmaps + chunk * words_of_bitmap(); }
  DEVICE unsigned char* bytes(u64 chunk) const { return data + (chunk << shift); }
};

// ---- small allocations ----

// Gives back the right to a slot. The last gives the chunk back, unless it has become another's since it was looked at.
DEVICE void leave(u32* word) {
  u32 before = add(word, ~0u);
  u32 type = before >> kClass;
  if ((before & kCount) == 1 && type != 0 && type < kLarge) swap(word, type << kClass, 0);
}

// Takes the right to a slot of a chunk, which becomes one of the class if it is free. Another thread may give the chunk
// back meanwhile: then it is free again, and the slot is as good as before.
DEVICE bool enter(u32* word, u32 type, u64 slots) {
  for (;;) {
    const u32 now = load(word), held = now >> kClass;
    if (held != 0 && (held != type || (now & kCount) >= slots)) return false;
    if (now == 0 && swap(word, 0, type << kClass | 1)) return true;
    if (held == 0) continue;  // somebody was faster, or is about to leave
    const u32 before = add(word, 1);
    if (before >> kClass == type && (before & kCount) < slots) return true;
    leave(word);
  }
}

// Whether the class may have slots in a chunk with this word.
DEVICE bool suits(u32 word, u32 type, u64 slots) {
  return word >> kClass == 0 || (word >> kClass == type && (word & kCount) < slots);
}

DEVICE void* take(const Chunks& chunks, u32 type, u64 slots, u64 chunk, u64 slot) {
  u32* bits = chunks.bitmap(chunk) + slot / 32;
  const u32 bit = 1u << slot % 32;
  u32* word = chunks.words + chunk;
  if (load(bits) & bit || !enter(word, type, slots)) return nullptr;
  if (set(bits, bit) & bit) {
    leave(word);
    return nullptr;
  }
  fence();  // what was written by those who had the memory is written before
  return chunks.bytes(chunk) + slot * granules_of(type) * kGranule;
}

// Classes begin in different chunks, far from each other, so that they take neither each other's nor those at the end.
DEVICE u64 first_chunk(const Chunks& chunks, u32 type) {
  constexpr u64 kClasses = 41, kApart = 24;  // of the smallest chunks; neighbours in size lie half the heap apart
  return type * kApart % kClasses * (chunks.count * 7 / 8) / kClasses;
}

// The next number from `at` on that is no less than `next` and equal to `at` modulo `step`.
DEVICE u64 step_to(u64 at, u64 next, u64 step) { return at + (next - at + step - 1) / step * step; }

DEVICE void* allocate_small(const Chunks& chunks, u32 type, Thread thread) {
  const u64 slots = chunks.slots(type), first = first_chunk(chunks, type), all = slots * chunks.count;
  // Neighbours have neighbouring slots, and so have the first threads of all blocks, where only those allocate.
  constexpr u64 kNeighbours = 32;
  const u64 row = thread.index / kNeighbours, rows = (thread.of_block + kNeighbours - 1) / kNeighbours;
  const u64 number = (row * thread.blocks + thread.block) * kNeighbours + thread.index % kNeighbours;
  const u64 step = thread.of_block * thread.blocks == 1 ? 1 : rows * thread.blocks * kNeighbours;
  for (u64 at = number; at < all;) {
    const u64 chunk = (first + at / slots) % chunks.count, slot = at % slots;
    if (!suits(load(chunks.words + chunk), type, slots)) {
      at = step_to(at, at - slot + slots, step);
    } else if (load(chunks.bitmap(chunk) + slot / 32) == ~0u) {
      at = step_to(at, at - slot + (slot / 32 + 1) * 32, step);
    } else if (void* memory = take(chunks, type, slots, chunk, slot)) {
      return memory;
    } else {
      at += step;
    }
  }
  // The preferred slots are taken: any slot that is large enough.
  const u64 start = number / slots;
  for (u64 i = 0; i < chunks.count; ++i) {
    u64 chunk = (first + start + i) % chunks.count;
    const u32 held = load(chunks.words + chunk) >> kClass, here = held == 0 ? type : held;
    if (here < type || here >= kLarge) continue;
    const u64 most = chunks.slots(here);
    for (u64 slot = 0; slot < most && (load(chunks.words + chunk) & kCount) < most;) {
      u32 taken = load(chunks.bitmap(chunk) + slot / 32) >> slot % 32;
      if (taken == ~0u >> slot % 32) {
        slot = (slot / 32 + 1) * 32;
      } else if (taken & 1) {
        ++slot;
      } else if (void* memory = take(chunks, here, most, chunk, slot)) {
        return memory;
      } else {
        ++slot;
      }
    }
  }
  return nullptr;
}

// ---- large allocations: whole chunks ----

// The first bitmap's first word says how many; large allocations need no bitmap.
DEVICE void* take_chunks(const Chunks& chunks, u64 first, u32 count) {
  for (u32 i = 0; i < count; ++i) {
    if (load(chunks.words + first + i) == 0 && swap(chunks.words + first + i, 0, (i == 0 ? kLarge : kTail) << kClass))
      continue;
    while (i-- > 0) add(chunks.words + first + i, 0u - ((i == 0 ? kLarge : kTail) << kClass));
    return nullptr;
  }
  set(chunks.bitmap(first), count);
  fence();
  return chunks.bytes(first);
}

DEVICE void* allocate_large(const Chunks& chunks, u64 size, Thread thread) {
  const u64 count = (size + (u64{1} << chunks.shift) - 1) >> chunks.shift;
  if (count > chunks.count) return nullptr;
  const u32 wanted = static_cast<u32>(count);
  const u64 places = chunks.count / count, number = thread.index * thread.blocks + thread.block;
  for (u64 at = number; at < places; at += thread.of_block * thread.blocks) {
    if (void* memory = take_chunks(chunks, chunks.count - (at + 1) * count, wanted)) return memory;
  }
  // Others may hold a chunk for a moment only.
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    for (u64 last = chunks.count - count + 1; last-- > 0;) {
      if (void* memory = take_chunks(chunks, last, wanted)) return memory;
    }
  }
  return nullptr;
}

// Null: there is no room.
DEVICE void* allocate(const Heap& heap, u64 size, Thread thread) {
  if (size == 0 || size > heap.size) return nullptr;
  const Chunks chunks(heap);
  if (chunks.count == 0) return nullptr;
  if (size > (u64{1} << chunks.shift) / 2) return allocate_large(chunks, size, thread);
  return allocate_small(chunks, class_of((size + kGranule - 1) / kGranule), thread);
}

DEVICE bool holds(const Heap& heap, const unsigned char* memory) {
  return heap.base && memory >= heap.base && memory < heap.base + heap.size;
}

// Of memory that holds(); what is no allocation is left alone.
DEVICE void release(const Heap& heap, unsigned char* memory) {
  const Chunks chunks(heap);
  if (memory < chunks.data) return;
  const u64 chunk = static_cast<u64>(memory - chunks.data) >> chunks.shift;
  if (chunk >= chunks.count) return;
  u32* word = chunks.words + chunk;
  const u32 type = load(word) >> kClass;
  fence();  // what this thread wrote there is written before others have it
  if (type == kLarge) {
    const u32 count = load(chunks.bitmap(chunk));
    keep(chunks.bitmap(chunk), 0);
    for (u32 i = count; i-- > 1;) add(word + i, 0u - (kTail << kClass));
    add(word, 0u - (kLarge << kClass));
    return;
  }
  if (type == 0 || type == kTail) return;  // nothing is allocated there
  const u64 slot = static_cast<u64>(memory - chunks.bytes(chunk)) / (granules_of(type) * kGranule);
  const u32 bit = 1u << slot % 32;
  if (keep(chunks.bitmap(chunk) + slot / 32, ~bit) & bit) leave(word);
}

}  // namespace
