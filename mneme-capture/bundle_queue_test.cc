// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle_queue.h"

#include <gtest/gtest.h>

#include <future>

#include "base/error.h"
#include "base/file.h"

namespace mneme::capture {
namespace {

using namespace std::chrono_literals;

class BundleQueueTest : public ::testing::Test {
 protected:
  // A job that runs until it is let go.
  BundleQueue::Job held() {
    return [done = go_.get_future().share()](bundle::Writer&) { done.wait(); };
  }
  static void nothing(bundle::Writer&) {}

  std::promise<void> go_;
  Fd file_ = memory_file("bundle");
  bundle::Writer writer_{file_.get(), "test"};
  BundleQueue queue_{writer_, 1000};
};

TEST_F(BundleQueueTest, TakesAsManyJobsAsFitIntoTheMemory) {
  queue_.add(held(), 400);
  for (int i = 0; i < 100; ++i) queue_.add(nothing);
  queue_.add(nothing, 500);
  queue_.add(nothing, 100);
  // What would be too much waits for what is there.
  auto beyond = std::async(std::launch::async, [&] { queue_.add(nothing, 1); });
  EXPECT_EQ(beyond.wait_for(50ms), std::future_status::timeout);
  go_.set_value();
  EXPECT_EQ(beyond.wait_for(60s), std::future_status::ready);
  queue_.finish();
}

TEST_F(BundleQueueTest, AJobLargerThanAllIsTakenAlone) {
  queue_.add(held(), 5000);
  auto next = std::async(std::launch::async, [&] { queue_.add(nothing, 5000); });
  EXPECT_EQ(next.wait_for(50ms), std::future_status::timeout);
  go_.set_value();
  EXPECT_EQ(next.wait_for(60s), std::future_status::ready);
  queue_.finish();
}

TEST_F(BundleQueueTest, JobsRestWhileTheyArePaused) {
  auto rested = [&] {
    return std::async(std::launch::async, [&] {
      auto begin = std::chrono::steady_clock::now();
      queue_.rest();
      return std::chrono::steady_clock::now() - begin;
    });
  };
  queue_.pause();
  auto first = rested();
  EXPECT_EQ(first.wait_for(50ms), std::future_status::timeout);
  queue_.resume();
  EXPECT_EQ(first.wait_for(60s), std::future_status::ready);
  queue_.rest();
  // Whoever paused them is gone.
  queue_.pause();
  EXPECT_GE(rested().get(), BundleQueue::kLongestPause - 10ms);
}

TEST_F(BundleQueueTest, JobsRunInOrderUntilOneThrows) {
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) queue_.add([&order, i](bundle::Writer&) { order.push_back(i); }, 900);
  queue_.finish();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  queue_.add([](bundle::Writer&) { throw Error("the disk is full"); }, 900);
  queue_.add([&](bundle::Writer&) { order.clear(); }, 900);  // does not wait for room that never comes
  EXPECT_THROW(queue_.finish(), Error);
  EXPECT_TRUE(queue_.failed());
  EXPECT_EQ(order.size(), 5u);
}

}  // namespace
}  // namespace mneme::capture
