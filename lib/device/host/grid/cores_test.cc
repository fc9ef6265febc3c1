// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of either kind of cores.
#include "device/host/grid/cores.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace mneme::device::host {
namespace {

const std::atomic<bool> kGoOn = false;

TEST(Cores, EachNumberIsHandledOnce) {
  for (uint64_t count : {1, 2, 7, 1000, 100000}) {
    std::vector<std::atomic<int>> handled(count);
    for (uint64_t most : {uint64_t{1}, uint64_t{2}, core_count(), uint64_t{1000}}) {
      share_out(0, count, most, kGoOn, [&](uint64_t from, uint64_t to) {
        ASSERT_LT(from, to);
        for (uint64_t i = from; i < to; i++) handled[i]++;
      });
    }
    for (uint64_t i = 0; i < count; i++) ASSERT_EQ(handled[i], 4) << i << " of " << count;
  }
}

TEST(Cores, WhatComesBeforeIsNotHandled) {
  std::atomic<uint64_t> sum = 0;
  share_out(10, 13, core_count(), kGoOn, [&](uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) sum += i;
  });
  EXPECT_EQ(sum, 10u + 11 + 12);
}

TEST(Cores, ManyAfterEachOther) {
  std::atomic<uint64_t> handled = 0;
  for (int i = 0; i < 20000; i++) {
    share_out(0, 8, core_count(), kGoOn, [&](uint64_t from, uint64_t to) { handled += to - from; });
    ASSERT_EQ(handled, 8u * (static_cast<uint64_t>(i) + 1)) << "all are done when it returns";
  }
}

TEST(Cores, NoMoreThreadsThanAllowed) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  share_out(0, 1000, 1, kGoOn, [&](uint64_t, uint64_t) {
    std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
}

TEST(Cores, AllAreUsed) {
  if (core_count() < 2) GTEST_SKIP() << "there is one core";
  // The first to come waits for a second.
  std::atomic<int> there = 0;
  share_out(0, 1000, core_count(), kGoOn, [&](uint64_t, uint64_t) {
    ++there;
    while (there < 2) std::this_thread::yield();
  });
  EXPECT_GE(there, 2);
}

// As kernels of two streams, of which one waits for the other.
TEST(Cores, OneJobMayWaitForAnother) {
  std::atomic<bool> first_runs = false, second_done = false;
  std::thread first([&] {
    share_out(0, 1000, core_count(), kGoOn, [&](uint64_t, uint64_t) {
      first_runs = true;
      while (!second_done) std::this_thread::yield();
    });
  });
  while (!first_runs) std::this_thread::yield();
  std::atomic<uint64_t> handled = 0;
  share_out(0, 1000, core_count(), kGoOn, [&](uint64_t from, uint64_t to) { handled += to - from; });
  EXPECT_EQ(handled, 1000u);
  second_done = true;
  first.join();
}

TEST(Cores, TheChildOfAForkHasSomeToo) {
  std::atomic<uint64_t> handled = 0;
  auto count = [&](uint64_t from, uint64_t to) { handled += to - from; };
  share_out(0, 1000, core_count(), kGoOn, count);
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);  // should it wait for threads that are not there
    for (int i = 0; i < 100; i++) share_out(0, 1000, core_count(), kGoOn, count);
    ::_exit(handled == 101000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Cores, WhatIsStoppedBeginsNoMore) {
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> handled = 0;
  share_out(0, 1 << 20, 1, stop, [&](uint64_t from, uint64_t to) {
    handled += to - from;
    stop = true;
  });
  EXPECT_LT(handled, uint64_t{1} << 20);
}

TEST(Cores, WhatIsThrownArrives) {
  for (int i = 0; i < 100; i++) {
    EXPECT_THROW(share_out(0, 1000, core_count(), kGoOn, [](uint64_t, uint64_t) { throw std::runtime_error("no"); }),
                 std::runtime_error);
  }
  std::atomic<uint64_t> handled = 0;
  share_out(0, 1000, core_count(), kGoOn, [&](uint64_t from, uint64_t to) { handled += to - from; });
  EXPECT_EQ(handled, 1000u) << "what comes after is not affected";
}

}  // namespace
}  // namespace mneme::device::host
