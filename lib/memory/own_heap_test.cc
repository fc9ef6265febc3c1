// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/own_heap.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "memory/own_region.h"

namespace mneme::memory {
namespace {

bool is_own(const void* address) {
  auto place = reinterpret_cast<uint64_t>(address);
  return place >= kOwnBase && place < kOwnBase + kMostOwnRegions * kOwnRegionSize;
}

struct Block {
  unsigned char* memory;
  size_t size;
  unsigned char filled;
};

// Allocates and releases at random, and looks whether anything is anybody else's too.
void use_heap(unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<Block> blocks;
  auto release = [&](size_t which) {
    Block block = blocks[which];
    if (block.size > 0) {
      ASSERT_EQ(block.memory[0], block.filled);
      ASSERT_EQ(std::memcmp(block.memory, block.memory + 1, block.size - 1), 0);
    }
    release_own(block.memory);
    blocks[which] = blocks.back();
    blocks.pop_back();
  };
  for (int step = 0; step < steps; ++step) {
    if (blocks.size() > 100 || (!blocks.empty() && random() % 3 == 0)) release(random() % blocks.size());
    size_t size = random() % 50 == 0 ? random() % 2000000 : random() % 2000;
    size_t align = size_t{1} << random() % 14;
    auto* memory = static_cast<unsigned char*>(allocate_own(size, align));
    ASSERT_NE(memory, nullptr);
    ASSERT_TRUE(is_own(memory)) << static_cast<void*>(memory);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % align, 0u);
    blocks.push_back({memory, size, static_cast<unsigned char>(random())});
    std::memset(memory, blocks.back().filled, size);
  }
  while (!blocks.empty()) release(0);
}

TEST(OwnHeap, BlocksAreTheirOwners) { use_heap(1, 20000); }

TEST(OwnHeap, ManyThreadsMayUseIt) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([i] { use_heap(i, 5000); });
  for (std::thread& thread : threads) thread.join();
}

TEST(OwnHeap, OtherThreadsMayRelease) {
  void* memory = allocate_own(100, 1);
  std::thread([memory] { release_own(memory); }).join();
  release_own(nullptr);
}

TEST(OwnHeap, WhatThereIsNotIsNotGiven) {
  EXPECT_EQ(allocate_own(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(allocate_own(SIZE_MAX / 4, 1), nullptr);
  EXPECT_EQ(allocate_own(1, size_t{1} << 63), nullptr);
  use_heap(2, 100);
}

// Whatever another thread does with it when the process forks.
TEST(OwnHeap, ChildrenMayUseIt) {
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) {
      release_own(allocate_own(64, 1));
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 50; ++i) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(20);
      for (int step = 0; step < 1000; ++step) release_own(allocate_own(64, 1));
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  over = true;
  busy.join();
}

// A handler that ends the process runs what frees memory, whatever it has interrupted.
TEST(OwnHeap, HandlersOfSignalsMayUseIt) {
  static std::atomic<int> handled = 0;
  auto before = std::signal(SIGALRM, [](int) {
    auto* memory = static_cast<char*>(allocate_own(64, 1));
    std::memset(memory, 1, 64);
    release_own(memory);
    ++handled;
  });
  itimerval often{{0, 50}, {0, 50}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  for (unsigned seed = 0; handled < 2000; ++seed) use_heap(seed, 1000);
  ::setitimer(ITIMER_REAL, &never, nullptr);
  std::signal(SIGALRM, before);
}

}  // namespace
}  // namespace mneme::memory
