// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/fair_shared_mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace mneme::record {
namespace {

TEST(FairSharedMutex, IsHadAloneThoughItIsAlwaysShared) {
  constexpr long kEnough = 20000;  // of times that it is shared, after which nobody would wonder
  FairSharedMutex mutex;
  std::atomic<long> shared{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> sharers;
  for (int i = 0; i < 16; ++i) {
    sharers.emplace_back([&] {
      while (!done && shared < kEnough) {
        std::shared_lock lock(mutex);
        ++shared;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  while (shared < 16) std::this_thread::yield();
  mutex.lock();
  EXPECT_LT(shared, kEnough);
  mutex.unlock();
  done = true;
  for (std::thread& sharer : sharers) sharer.join();
}

TEST(FairSharedMutex, WhoHasItAloneHasItAlone) {
  FairSharedMutex mutex;
  long number = 0;  // no atomic: what the mutex is for
  std::atomic<int> sharing{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20000; ++round) {
        if ((round + i) % 16 == 0) {
          std::lock_guard lock(mutex);
          if (sharing != 0) ++wrong;
          ++number;
        } else {
          std::shared_lock lock(mutex);
          ++sharing;
          long before = number;
          if (round % 64 == 0) std::this_thread::yield();
          if (number != before) ++wrong;
          --sharing;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(number, 4 * 20000 / 16);
}

TEST(FairSharedMutex, OneWhoSharesItMayWaitForAnother) {
  FairSharedMutex mutex;
  mutex.lock_shared();
  std::atomic<bool> had{false};
  std::thread alone([&] {
    mutex.lock();
    had = true;
    mutex.unlock();
  });
  std::thread([&] {
    // However it goes, this ends: with the other thread waiting already, after a while.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::shared_lock lock(mutex);
    EXPECT_FALSE(had);
  }).join();
  mutex.unlock_shared();
  alone.join();
  EXPECT_TRUE(had);
}

}  // namespace
}  // namespace mneme::record
