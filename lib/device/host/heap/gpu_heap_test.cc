// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/heap/gpu_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace mneme::device::host {
namespace {

class GpuHeapTest : public ::testing::Test {
 protected:
  explicit GpuHeapTest(uint64_t size = 16 << 20) : memory_(size / 16) {}

  objects::HeapVariable heap() const { return {reinterpret_cast<uint64_t>(memory_.data()), memory_.size() * 16}; }
  std::byte* allocate(uint64_t size, uint64_t thread = 0, uint64_t threads = 1) {
    return static_cast<std::byte*>(gpu_heap_allocate(heap(), size, {0, 1, thread, threads}));
  }
  void release(void* memory) { gpu_heap_release(heap(), memory); }
  uint64_t offset(const void* memory) const { return reinterpret_cast<uint64_t>(memory) - heap().base; }
  bool is_zero() const {
    return std::ranges::all_of(memory_, [](const Line& line) { return line.first == 0 && line.second == 0; });
  }

  struct alignas(16) Line {
    uint64_t first = 0, second = 0;
  };
  std::vector<Line> memory_;
};

TEST_F(GpuHeapTest, GivesDisjointAlignedMemoryOfAllSizes) {
  std::map<uint64_t, uint64_t> pieces;  // offset → size
  for (uint64_t size = 1; size < 200'000; size += 1 + size / 3) {
    for (int i = 0; i < 3; ++i) {
      std::byte* memory = allocate(size);
      ASSERT_TRUE(memory) << size;
      EXPECT_EQ(offset(memory) % 16, 0U);
      EXPECT_TRUE(gpu_heap_holds(heap(), memory));
      EXPECT_TRUE(gpu_heap_holds(heap(), memory + size - 1));
      EXPECT_TRUE(pieces.emplace(offset(memory), size).second);
    }
  }
  uint64_t end = 0;
  for (auto [at, size] : pieces) {
    EXPECT_GE(at, end);
    end = at + size;
  }
  EXPECT_LE(end, heap().size);
}

TEST_F(GpuHeapTest, GivesNothingForNoBytesAndForMoreThanThereIs) {
  EXPECT_EQ(allocate(0), nullptr);
  EXPECT_EQ(allocate(heap().size), nullptr);
  EXPECT_EQ(allocate(~uint64_t{0}), nullptr);
  EXPECT_EQ(gpu_heap_allocate({heap().base, 100}, 16, {}), nullptr);
  EXPECT_FALSE(gpu_heap_holds({}, memory_.data()));
  EXPECT_TRUE(is_zero());
}

TEST_F(GpuHeapTest, IsZeroAgainWhenAllIsReleased) {
  std::vector<void*> pieces;
  for (uint64_t i = 0; i < 5000; ++i) pieces.push_back(allocate(1 + i * 37 % 2000, i % 64, 64));
  for (uint64_t size : {70'000, 300'000, 65'537, 40'000}) pieces.push_back(allocate(size));
  EXPECT_TRUE(std::ranges::all_of(pieces, [](void* piece) { return piece != nullptr; }));
  EXPECT_FALSE(is_zero());
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937(1));
  for (void* piece : pieces) release(piece);
  EXPECT_TRUE(is_zero());
}

TEST_F(GpuHeapTest, IsUsedUpAndServesAgain) {
  for (uint64_t size : {100, 1000, 20'000, 100'000}) {
    std::vector<void*> pieces;
    while (void* piece = allocate(size)) pieces.push_back(piece);
    EXPECT_GT(pieces.size() * size, heap().size / 2) << size;
    EXPECT_EQ(allocate(size, 5, 1000), nullptr);
    release(pieces[pieces.size() / 2]);
    EXPECT_EQ(allocate(size, 7, 1000), pieces[pieces.size() / 2]);
    EXPECT_EQ(allocate(size), nullptr);
    for (void* piece : pieces) release(piece);
    EXPECT_TRUE(is_zero());
  }
}

// Small pieces are taken from larger slots where no chunk is free.
TEST_F(GpuHeapTest, TakesALargerSlotForLack) {
  std::vector<void*> pieces;
  while (void* piece = allocate(1000)) pieces.push_back(piece);
  release(pieces[3]);
  EXPECT_EQ(allocate(16), pieces[3]);
}

TEST_F(GpuHeapTest, LeavesAloneWhatIsNoAllocation) {
  void* piece = allocate(100);
  void* large = allocate(100'000);
  std::vector<Line> before = memory_;
  release(memory_.data());                                         // a table
  release(static_cast<std::byte*>(piece) + 112);                   // the slot behind
  release(static_cast<std::byte*>(large) + 65'536);                // a later chunk of a large one
  release(reinterpret_cast<std::byte*>(heap().base) + 8'000'000);  // a free chunk
  EXPECT_EQ(std::memcmp(before.data(), memory_.data(), heap().size), 0);
  release(piece);
  release(large);
  release(piece);  // again
  EXPECT_TRUE(is_zero());
}

// What each thread does: allocates, releases a part, allocates again.
void work(const objects::HeapVariable& heap, uint64_t thread, uint64_t threads, std::vector<uint64_t>& got) {
  std::vector<void*> mine;
  for (uint64_t i = 0; i < 6; ++i) {
    uint64_t size = i == 5 && thread % 100 == 0 ? 70'000 : 8 + (thread * 7 + i * 13) % 90;
    mine.push_back(gpu_heap_allocate(heap, size, {thread / 100, threads / 100, thread % 100, 100}));
    if (i % 3 == 2) {
      gpu_heap_release(heap, mine[i - 1]);
      mine[i - 1] = nullptr;
    }
  }
  for (void* piece : mine) got.push_back(piece ? reinterpret_cast<uint64_t>(piece) - heap.base : 0);
}

// In whatever order threads run, each gets the same, and the heap is the same in the end.
TEST_F(GpuHeapTest, AllocatesAlikeInAnyOrder) {
  constexpr uint64_t kThreads = 2000;
  auto run = [&](int order) {
    std::fill(memory_.begin(), memory_.end(), Line());
    std::vector<std::vector<uint64_t>> got(kThreads);
    if (order < 2) {
      for (uint64_t i = 0; i < kThreads; ++i) {
        uint64_t thread = order == 0 ? i : kThreads - 1 - i;
        work(heap(), thread, kThreads, got[thread]);
      }
    } else {
      std::vector<std::thread> threads;
      for (uint64_t first = 0; first < 4; ++first) {
        threads.emplace_back([&, first] {
          for (uint64_t thread = first; thread < kThreads; thread += 4) work(heap(), thread, kThreads, got[thread]);
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    return std::pair(got, memory_);
  };
  auto [expected, before] = run(0);
  for (const auto& pieces : expected) EXPECT_EQ(std::ranges::count(pieces, 0U), 2);  // that were released
  for (int order = 1; order < 6; ++order) {
    auto [got, after] = run(order);
    EXPECT_TRUE(got == expected) << order;
    EXPECT_EQ(std::memcmp(before.data(), after.data(), before.size() * sizeof(Line)), 0) << order;
  }
}

// Whoever has memory is alone in it.
TEST_F(GpuHeapTest, ServesThreadsAtOnce) {
  constexpr uint64_t kThreads = 4, kTurns = 20'000;
  std::vector<std::thread> threads;
  std::atomic<uint64_t> failed{0};
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<std::pair<unsigned char*, uint64_t>> mine;
      auto drop = [&] {
        auto [piece, size] = mine.back();
        for (uint64_t i = 0; i < size; i += 16) failed += piece[i] != thread + 1;
        release(piece);
        mine.pop_back();
      };
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        uint64_t size = 1 + random() % (turn % 100 == 0 ? 200'000 : 500);
        // As one of few threads: their preferred slots are soon taken.
        if (auto* piece = reinterpret_cast<unsigned char*>(allocate(size, thread % 2, 2))) {
          std::memset(piece, static_cast<int>(thread + 1), size);
          mine.emplace_back(piece, size);
        }
        while (mine.size() > random() % 30) drop();
      }
      while (!mine.empty()) drop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0U);
  // Chunks and slots are all free again: what is left is what was written to pieces.
  uint64_t count = 0;
  while (allocate(60'000)) ++count;
  EXPECT_GT(count, 200U);
}

}  // namespace
}  // namespace mneme::device::host
