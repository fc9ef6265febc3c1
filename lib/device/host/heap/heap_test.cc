// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/heap/heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace mneme::device::host {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

struct Heap {
  explicit Heap(size_t size) : lines(size / 64) {}
  std::span<std::byte> memory() { return std::as_writable_bytes(std::span(lines)); }
  void* allocate(uint64_t size) {
    HeapAnswer answer = heap_allocate(memory(), size);
    EXPECT_EQ(answer.trouble, HeapTrouble::kNone);
    return answer.address;
  }
  HeapTrouble release(void* address) { return heap_release(memory(), address); }
  std::vector<Line> lines;
};

TEST(Heap, PiecesAreApartAlignedAndWithin) {
  Heap heap(1 << 20);
  std::map<char*, uint64_t> live;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 50 && random() % 3) {
      uint64_t size = 1 + random() % (random() % 8 ? 200 : 9000);
      auto* p = static_cast<char*>(heap.allocate(size));
      if (!p) continue;
      EXPECT_EQ(reinterpret_cast<uint64_t>(p) % 16, 0u);
      auto after = live.lower_bound(p);
      if (after != live.end()) {
        ASSERT_LE(p + size, after->first);
      }
      if (after != live.begin()) {
        ASSERT_LE(std::prev(after)->first + std::prev(after)->second, p);
      }
      ASSERT_GE(p, reinterpret_cast<char*>(heap.memory().data()));
      ASSERT_LE(p + size, reinterpret_cast<char*>(heap.memory().data() + heap.memory().size()));
      live[p] = size;
      std::memset(p, static_cast<int>(size % 251), size);
    } else if (!live.empty()) {
      auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      for (uint64_t k = 0; k < victim->second; ++k) {
        ASSERT_EQ(static_cast<unsigned char>(victim->first[k]), victim->second % 251);
      }
      ASSERT_EQ(heap.release(victim->first), HeapTrouble::kNone);
      live.erase(victim);
    }
  }
}

TEST(Heap, WhatIsReleasedIsUsedAgain) {
  Heap heap(1 << 16);
  for (int i = 0; i < 10000; ++i) {
    void* p = heap.allocate(1 + static_cast<uint64_t>(i) % 3000);
    ASSERT_NE(p, nullptr) << i;
    ASSERT_EQ(heap.release(p), HeapTrouble::kNone);
  }
}

TEST(Heap, WhatIsReleasedGrowsTogether) {
  for (int order = 0; order < 3; ++order) {
    Heap heap(1 << 16);
    std::vector<void*> pieces;
    while (void* p = heap.allocate(100)) pieces.push_back(p);
    EXPECT_EQ(heap.allocate(60000), nullptr);
    if (order == 1) std::reverse(pieces.begin(), pieces.end());
    if (order == 2) std::shuffle(pieces.begin(), pieces.end(), std::mt19937(2));
    for (void* p : pieces) ASSERT_EQ(heap.release(p), HeapTrouble::kNone);
    EXPECT_NE(heap.allocate(60000), nullptr) << order;
  }
}

TEST(Heap, FullAndEmptyRequests) {
  Heap heap(1 << 14);
  EXPECT_EQ(heap.allocate(0), nullptr);
  EXPECT_EQ(heap.allocate(1 << 14), nullptr);
  EXPECT_EQ(heap.allocate(UINT64_MAX), nullptr);
  EXPECT_NE(heap.allocate(8000), nullptr);
  EXPECT_EQ(heap.allocate(8000), nullptr);
  EXPECT_EQ(heap_allocate({}, 16).address, nullptr);
}

TEST(Heap, WrongReleasesAreTold) {
  Heap heap(1 << 14);
  EXPECT_EQ(heap.release(heap.memory().data() + 4096), HeapTrouble::kNotAllocated);
  auto* p = static_cast<char*>(heap.allocate(100));
  EXPECT_EQ(heap.release(nullptr), HeapTrouble::kNone);
  EXPECT_EQ(heap.release(p + 16), HeapTrouble::kNotAllocated);
  EXPECT_EQ(heap.release(p + 1), HeapTrouble::kNotAllocated);
  EXPECT_EQ(heap.release(&heap), HeapTrouble::kNotAllocated);
  EXPECT_EQ(heap.release(p), HeapTrouble::kNone);
  EXPECT_EQ(heap.release(p), HeapTrouble::kReleased);
}

TEST(Heap, DamageIsTold) {
  Heap heap(1 << 14);
  void* p = heap.allocate(100);
  auto* q = static_cast<std::byte*>(heap.allocate(100));
  ASSERT_EQ(heap.release(p), HeapTrouble::kNone);
  std::memset(p, 0x55, 16);  // used after it was released
  EXPECT_EQ(heap_allocate(heap.memory(), 100).trouble, HeapTrouble::kDamaged);
  std::memset(q - 16, 0x55, 8);  // what is before it was overrun
  EXPECT_NE(heap.release(q), HeapTrouble::kNone);
}

TEST(Heap, LivesInItsMemory) {
  Heap one(1 << 14), two(1 << 14);
  auto offset = [](Heap& heap, void* p) { return static_cast<std::byte*>(p) - heap.memory().data(); };
  void* released = one.allocate(48);
  one.allocate(64);
  one.release(released);
  std::memcpy(two.memory().data(), one.memory().data(), one.memory().size());
  for (uint64_t size : {48, 48, 1000}) {
    EXPECT_EQ(offset(one, one.allocate(size)), offset(two, two.allocate(size)));
  }
}

}  // namespace
}  // namespace mneme::device::host
