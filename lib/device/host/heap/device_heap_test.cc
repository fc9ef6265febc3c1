// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/heap/device_heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace mneme::device::host {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

struct Memory {
  explicit Memory(size_t size) : lines(size / 64) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(lines)); }
  std::vector<Line> lines;
};

uint64_t allocated(DeviceHeap& heap, uint64_t size) { return reinterpret_cast<uint64_t>(heap.allocate(size).address); }
HeapTrouble released(DeviceHeap& heap, uint64_t address) { return heap.release(reinterpret_cast<void*>(address)); }
std::byte* at(uint64_t address) { return reinterpret_cast<std::byte*>(address); }

uint64_t size_at(DeviceHeap& heap, uint64_t address) {
  auto piece = heap.piece_at(address);
  return piece ? piece->size : 0;
}

TEST(DeviceHeap, KnowsPiecesAsTheyWereAskedFor) {
  Memory memory(1 << 16);
  DeviceHeap heap(memory.bytes());
  EXPECT_EQ(heap.piece_at(heap.begin()), std::nullopt);
  EXPECT_EQ(heap.nearest_to(heap.begin()), std::nullopt);
  uint64_t a = allocated(heap, 40), b = allocated(heap, 1);
  EXPECT_EQ(size_at(heap, a), 40u);
  EXPECT_EQ(size_at(heap, a + 39), 40u);
  EXPECT_EQ(size_at(heap, a + 40), 0u);
  EXPECT_EQ(size_at(heap, a - 1), 0u);
  EXPECT_EQ(size_at(heap, b), 1u);
  EXPECT_EQ(size_at(heap, b + 1), 0u);
  EXPECT_EQ(heap.nearest_to(b - 1)->address, b);
  EXPECT_EQ(heap.nearest_to(a + 41)->address, a);
  EXPECT_EQ(heap.nearest_to(heap.end())->address, b);
  EXPECT_EQ(heap.nearest_to(heap.begin())->address, a);
}

// Whether it was there to see it, or found it in the memory.
TEST(DeviceHeap, KnowsWhatIsThere) {
  Memory memory(1 << 20);
  DeviceHeap heap(memory.bytes());
  heap.piece_at(0);
  std::map<uint64_t, uint64_t> live;
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    if (live.size() < 100 && random() % 3) {
      uint64_t size = 1 + random() % (random() % 8 ? 200 : 9000);
      if (uint64_t address = allocated(heap, size)) live[address] = size;
    } else if (!live.empty()) {
      auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      ASSERT_EQ(released(heap, victim->first), HeapTrouble::kNone);
      live.erase(victim);
    }
    if (i % 100) continue;
    std::vector<Line> before = memory.lines;
    DeviceHeap another(memory.bytes());
    for (DeviceHeap* one : {&heap, &another}) {
      for (auto [address, size] : live) {
        ASSERT_EQ(size_at(*one, address), size);
        ASSERT_EQ(size_at(*one, address + size - 1), size);
        ASSERT_EQ(size_at(*one, address + size), 0u);
      }
      for (uint64_t k = 0; k < 500; ++k) {
        uint64_t address = heap.begin() + random() % memory.bytes().size();
        auto after = live.upper_bound(address);
        bool held = after != live.begin() && address - std::prev(after)->first < std::prev(after)->second;
        ASSERT_EQ(one->piece_at(address).has_value(), held);
        if (held) ASSERT_EQ(one->released_at(address), std::nullopt);
      }
    }
    ASSERT_EQ(std::memcmp(before.data(), memory.lines.data(), memory.bytes().size()), 0);
  }
}

TEST(DeviceHeap, IsLeftAsItIsByQuestions) {
  Memory memory(1 << 14);
  DeviceHeap heap(memory.bytes());
  EXPECT_EQ(heap.piece_at(heap.begin()), std::nullopt);
  for (std::byte byte : memory.bytes()) ASSERT_EQ(byte, std::byte{0});
}

TEST(DeviceHeap, KnowsWhatWasReleased) {
  Memory memory(1 << 14);
  DeviceHeap heap(memory.bytes());
  uint64_t a = allocated(heap, 40), b = allocated(heap, 72), c = allocated(heap, 24);
  ASSERT_EQ(released(heap, a), HeapTrouble::kNone);
  uint64_t turn = heap.turn();
  EXPECT_EQ(heap.released_at(a + 39)->size, 40u);  // found in the memory
  EXPECT_EQ(heap.released_at(a + 40), std::nullopt);
  ASSERT_EQ(released(heap, b), HeapTrouble::kNone);
  EXPECT_NE(heap.turn(), turn);
  EXPECT_EQ(size_at(heap, b), 0u);
  EXPECT_EQ(heap.released_at(a)->size, 40u);  // seen, though they have grown together
  EXPECT_EQ(heap.released_at(b + 71)->size, 72u);
  EXPECT_EQ(heap.released_at(c), std::nullopt);
  EXPECT_EQ(allocated(heap, 100), a);  // over both
  EXPECT_EQ(heap.released_at(a), std::nullopt);
  EXPECT_EQ(heap.released_at(b), std::nullopt);
  EXPECT_EQ(size_at(heap, b), 100u);
}

TEST(DeviceHeap, SaysNothingOfWhatLiesBehindDamage) {
  Memory memory(1 << 14);
  DeviceHeap heap(memory.bytes());
  uint64_t a = allocated(heap, 40), b = allocated(heap, 40), c = allocated(heap, 40);
  std::memset(at(b - 16), 0x55, 16);
  DeviceHeap damaged(memory.bytes());
  EXPECT_EQ(size_at(damaged, a), 40u);
  EXPECT_FALSE(damaged.is_unknown_at(a + 40));
  EXPECT_EQ(size_at(damaged, b), 0u);
  EXPECT_TRUE(damaged.is_unknown_at(b));
  EXPECT_TRUE(damaged.is_unknown_at(c + 40));
}

// Whatever it reads, it reads no further than the heap, and comes to an end.
TEST(DeviceHeap, TrustsNothing) {
  Memory good(1 << 14);
  DeviceHeap heap(good.bytes());
  std::vector<uint64_t> pieces;
  for (uint64_t i = 0; i < 40; ++i) pieces.push_back(allocated(heap, 1 + i * 7));
  for (size_t i = 0; i < pieces.size(); i += 3) released(heap, pieces[i]);
  std::mt19937 random(2);
  for (int turn = 0; turn < 3000; ++turn) {
    auto bad = std::make_unique<Line[]>(good.lines.size());  // nothing of ours behind it
    std::copy(good.lines.begin(), good.lines.end(), bad.get());
    std::span<std::byte> bytes(bad[0].bytes, good.bytes().size());
    for (int i = 0; i < 3; ++i) {
      uint64_t header = random() % 4 ? pieces[random() % pieces.size()] - 16 - heap.begin() : random() % 16;
      bytes[header + random() % 16] = std::byte(random() % 2 ? random() : 0xff);
    }
    DeviceHeap stranger(bytes);
    for (uint64_t address = stranger.begin(); address < stranger.end(); address += 16) {
      auto piece = stranger.piece_at(address);
      if (!piece) continue;
      ASSERT_GE(piece->address, stranger.begin());
      ASSERT_LE(piece->address + piece->size, stranger.end());
      ASSERT_GT(piece->size, 0u);
    }
  }
  for (size_t size : {0, 16, 64, 1024}) {
    std::vector<Line> small(size / 64 + 1, Line{{std::byte{1}}});
    DeviceHeap stranger(std::as_writable_bytes(std::span(small)).first(size));
    EXPECT_EQ(stranger.piece_at(stranger.begin()), std::nullopt);
  }
}

TEST(DeviceHeap, IsSharedByThreads) {
  Memory memory(1 << 22);
  DeviceHeap heap(memory.bytes());
  std::atomic<int> wrong = 0;
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<uint64_t, uint64_t>> mine;
    for (int i = 0; i < 5000; ++i) {
      uint64_t size = 1 + random() % 300;
      mine.emplace_back(allocated(heap, size), size);
      auto [address, its] = mine[random() % mine.size()];
      wrong += size_at(heap, address + its - 1) != its || size_at(heap, address + its) != 0;
      if (mine.size() < 50) continue;
      wrong += released(heap, mine.front().first) != HeapTrouble::kNone;
      mine.erase(mine.begin());
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace mneme::device::host
