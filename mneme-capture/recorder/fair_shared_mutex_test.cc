// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/fair_shared_mutex.h"

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
