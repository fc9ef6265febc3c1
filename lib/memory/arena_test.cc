// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/arena.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace mneme::memory {
namespace {

constexpr uint64_t kBase = 0x10000;

TEST(Arena, GivesAddressesFromTheBaseUpwards) {
  Arena arena(kBase, 1 << 20);
  EXPECT_EQ(arena.high_water(), kBase);
  EXPECT_EQ(arena.allocate(100), kBase);
  EXPECT_EQ(arena.allocate(257), kBase + 256);
  EXPECT_EQ(arena.allocate(1), kBase + 768);
  EXPECT_EQ(arena.high_water(), kBase + 769);
}

TEST(Arena, TakesTheFirstHoleThatFits) {
  Arena arena(kBase, 1 << 20);
  uint64_t a = *arena.allocate(512), b = *arena.allocate(1024), c = *arena.allocate(256);
  arena.allocate(256);
  EXPECT_TRUE(arena.release(a));
  EXPECT_TRUE(arena.release(c));
  EXPECT_EQ(arena.allocate(1024), kBase + 512 + 1024 + 256 + 256) << "no hole is large enough";
  EXPECT_EQ(arena.allocate(256), a);
  EXPECT_EQ(arena.allocate(256), a + 256);
  EXPECT_EQ(arena.allocate(256), c);
  EXPECT_TRUE(arena.find(b));
}

TEST(Arena, CoalescesOnBothSides) {
  Arena arena(kBase, 4096);
  uint64_t a = *arena.allocate(1024), b = *arena.allocate(1024), c = *arena.allocate(2048);
  EXPECT_FALSE(arena.allocate(1));
  arena.release(a);
  arena.release(c);
  EXPECT_FALSE(arena.allocate(4096));
  arena.release(b);
  EXPECT_EQ(arena.allocate(4096), kBase);
}

TEST(Arena, Aligns) {
  Arena arena(kBase, 1 << 20);
  arena.allocate(1);
  uint64_t aligned = *arena.allocate(10, 65536);
  EXPECT_EQ(aligned, kBase + 65536);
  EXPECT_EQ(arena.allocate(10), kBase + 256) << "the gap stays usable";
  EXPECT_EQ(*arena.allocate(10, 1) % 256, 0u) << "never less than the vendor's alignment";
}

TEST(Arena, FindsInsideOnly) {
  Arena arena(kBase, 1 << 20);
  uint64_t a = *arena.allocate(100);
  EXPECT_FALSE(arena.find(a - 1));
  EXPECT_EQ(arena.find(a)->size, 100u);
  EXPECT_EQ(arena.find(a + 99)->address, a);
  EXPECT_FALSE(arena.find(a + 100));
}

TEST(Arena, RefusesWhatCannotBe) {
  Arena arena(kBase, 4096);
  EXPECT_FALSE(arena.allocate(4097));
  EXPECT_FALSE(arena.allocate(UINT64_MAX));
  EXPECT_FALSE(arena.allocate(1, uint64_t{1} << 63));
  EXPECT_FALSE(arena.release(kBase));
  uint64_t a = *arena.allocate(0);
  EXPECT_EQ(arena.find(a)->size, 1u);
  EXPECT_FALSE(arena.release(a + 1));
  EXPECT_TRUE(arena.release(a));
  EXPECT_FALSE(arena.release(a));
}

TEST(Arena, IsDeterministicAndNeverOverlaps) {
  Arena one(kBase, 1 << 24), two(kBase, 1 << 24);
  std::mt19937 random(7);
  std::vector<uint64_t> live;
  for (int step = 0; step < 5000; ++step) {
    if (!live.empty() && random() % 2) {
      size_t victim = random() % live.size();
      EXPECT_TRUE(one.release(live[victim]));
      EXPECT_TRUE(two.release(live[victim]));
      live[victim] = live.back();
      live.pop_back();
      continue;
    }
    uint64_t size = random() % 20000 + 1, align = uint64_t{1} << (random() % 14);
    auto address = one.allocate(size, align);
    ASSERT_EQ(address, two.allocate(size, align));
    if (!address) continue;
    EXPECT_EQ(*address % align, 0u);
    live.push_back(*address);
  }
  uint64_t end = 0;
  for (auto [address, size] : one.allocations()) {
    EXPECT_GE(address, end);
    end = address + size;
  }
  for (uint64_t address : live) one.release(address);
  EXPECT_EQ(one.allocate(1 << 24), kBase) << "everything came back as one piece";
}

TEST(Arena, SumsUpWhatIsAllocated) {
  Arena arena(kDeviceBase, 1 << 20);
  uint64_t first = *arena.allocate(100);
  arena.allocate(1000, 4096);
  EXPECT_EQ(arena.live_bytes(), 1100u);
  arena.release(first);
  arena.release(first);
  EXPECT_EQ(arena.live_bytes(), 1000u);
}

}  // namespace
}  // namespace mneme::memory
