// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/held_over_forks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace mneme::hostgpu {
namespace {

TEST(HeldOverForks, ChildrenFindThemFreeAndWhatTheyGuardWhole) {
  HeldOverForks<std::mutex> one, other;
  int left = 0, right = 0;  // the same whenever both mutexes are free
  std::atomic<bool> stop{false};
  auto work = [&](auto& first, auto& second) {
    while (!stop) {
      std::lock_guard has_first(first);
      if (!second.try_lock()) continue;
      std::lock_guard has_second(second, std::adopt_lock);
      ++left;
      for (int i = 0; i < 100; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      ++right;
    }
  };
  std::thread threads[] = {std::thread([&] { work(one, other); }), std::thread([&] { work(other, one); })};
  int whole = 0;
  for (int i = 0; i < 100; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      std::lock_guard has_one(one);
      std::lock_guard has_other(other);
      ::_exit(left == right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    whole += status == 0 ? 1 : 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, 100);
}

TEST(HeldOverForks, ThreadsThatWaitForEachOthersAreWaitedFor) {
  HeldOverForks<std::mutex> one, other;
  std::atomic<bool> stop{false};
  // In the one order only, and the process locks in its own.
  std::thread thread([&] {
    while (!stop) {
      std::lock_guard has_other(other);
      std::lock_guard has_one(one);
    }
  });
  for (int i = 0; i < 100; ++i) {
    pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  thread.join();
}

}  // namespace
}  // namespace mneme::hostgpu
