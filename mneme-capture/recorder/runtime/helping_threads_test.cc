// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/helping_threads.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <memory>

#include "recorder/runtime/runtime.h"

namespace mneme::record {
namespace {

TEST(HelpingThreads, DoAllOnce) {
  for (uint64_t count : {0, 1, 2, 7, 100, 1001}) {
    for (uint64_t least : {1, 3, 100, 5000}) {
      std::vector<std::atomic<int>> done(count);
      std::atomic<int> small = 0;
      HelpingThreads threads;
      threads.start(count, least, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; ++i) ++done[i];
        if (end - begin < least) ++small;
      });
      threads.join();
      for (auto& times : done) EXPECT_EQ(times, 1);
      EXPECT_LE(small, 1) << "but for the last";
    }
  }
}

TEST(HelpingThreads, LeaveSignalsToTheApplication) {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ASSERT_EQ(::sigismember(&before, SIGUSR1), 0);
  std::atomic<int> open = 0;
  HelpingThreads threads;
  threads.start(8, 1, [&](uint64_t begin, uint64_t end) {
    if (end - begin == 8) return;  // one processor: it is this thread
    sigset_t here;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &here);
    if (::sigismember(&here, SIGUSR1) == 0) ++open;
  });
  threads.join();
  EXPECT_EQ(open, 0);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGUSR1), 0);
}

TEST(WaitWithin, ReturnsWhatTheWaitDoesOrThatItTakesLonger) {
  using std::chrono::milliseconds;
  std::atomic<bool> entered = false;
  auto enter = [&] { entered = true; };
  EXPECT_EQ(wait_within(milliseconds(60'000), enter, [&] { return entered ? 7 : 0; }), 7);
  auto end = std::make_shared<std::promise<void>>();  // the thread outlives the call
  EXPECT_EQ(wait_within(milliseconds(1), [] {}, [end] { return end->get_future().wait(), 7; }), kStillRunning);
  end->set_value();
}

}  // namespace
}  // namespace mneme::record
