// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which processes are recorded, and what there is of those with which something goes wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "session_fixture.h"

namespace mneme::capture {
namespace {

TEST_F(SessionTest, IsFoundWhereOnlyFilesAreShared) {
  by_file_ = true;
  begin();
  ASSERT_NE(core_, nullptr);
  launch(device_ints(10), 10);
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(capture_.processes, 1u);
}

TEST_F(SessionTest, IsOutOfReachWhereNothingIsShared) {
  begin();
  ::setenv(record::kSocketVariable, "nobody:/no/such/file", 1);
  EXPECT_THROW(record::Connection::open(), Error);
  end();
}

TEST_F(SessionTest, LaunchesAfterTheEndOfRecordingAreNamed) {
  begin();
  launch(nullptr, 0);
  runtime_.taken = true;
  EXPECT_EQ(core_->allocate(Space::kDevice, 10), nullptr);
  EXPECT_FALSE(core_->recording());
  launch(nullptr, 0);
  launch(nullptr, 0, 2);
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(capture_.launches, 3u);
  ASSERT_EQ(capture_.unrecordable.size(), 1u);
  EXPECT_EQ(capture_.unrecordable[0].launches, 2u);
  EXPECT_EQ(capture_.unrecordable[0].kernel, "(all kernels)");
  EXPECT_EQ(reason(), "recording had ended: the address range 0x400000000000 is taken");
  EXPECT_EQ(session_->failure(), "");
}

TEST_F(SessionTest, AProcessThatGoesOnAsAnotherProgramIsRecordedStill) {
  begin();
  launch(device_ints(10), 10);
  core_.reset();
  std::unique_ptr<record::Connection> connection = record::Connection::open();
  ASSERT_NE(connection, nullptr);
  EXPECT_EQ(connection->counters().value(record::Counters::kLaunches), 1u) << "numbers of launches go on";
  connection.reset();
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(capture_.launches, 1u);
}

TEST_F(SessionTest, WithoutItsParentTheApplicationGoesOn) {
  begin();
  int* data = device_ints(10);
  session_->abort();
  session_->join();
  EXPECT_EQ(launch(data, 10), 0);
  EXPECT_EQ(data[9], 1);
  EXPECT_FALSE(core_->recording());
  EXPECT_EQ(core_->allocate(Space::kDevice, 10), nullptr) << "the vendor's own allocation serves from now on";
  EXPECT_EQ(core_->release(data), 0) << "but what was given out is taken back";
  core_.reset();
}

TEST_F(SessionTest, AProcessThatLaunchedNothingLeavesItsPlace) {
  settings_.children = false;
  begin();
  core_.reset();
  std::unique_ptr<record::Connection> next;
  for (int i = 0; i < 1000 && !next; ++i) {  // until the session has seen the end of the first
    next = record::Connection::open();
    ::usleep(1000);
  }
  EXPECT_NE(next, nullptr);
  next.reset();
  EXPECT_TRUE(end().empty());
}

TEST_F(SessionTest, OneProcessIsRecordedWhenChildrenAreLeftAlone) {
  settings_.children = false;
  begin();
  EXPECT_EQ(record::Connection::open(), nullptr);
  EXPECT_EQ(launch(device_ints(10), 10), 0);
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(capture_.left_alone, 1u);
}

TEST_F(SessionTest, AllProcessesAreRecordedElse) {
  begin();
  std::unique_ptr<record::Connection> other = record::Connection::open();
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(other->welcome().children);
  other->counters().add(record::Counters::kLaunches);
  other.reset();
  EXPECT_EQ(launch(device_ints(10), 10), 0);
  EXPECT_EQ(end().size(), 1u);
  EXPECT_EQ(capture_.launches, 2u);
}

// The child of a fork: what it launches is recorded as from a process of its own, which has the parent's memory.
TEST_F(SessionTest, AForkedChildIsRecordedFromItsFirstLaunchOn) {
  begin();
  int* data = device_ints(10);
  int* pinned = static_cast<int*>(core_->allocate(Space::kHost, 40));
  std::vector<int> own(1024, 5);
  core_->add_registered(own.data(), 4096);
  data[0] = 1;
  pinned[0] = 2;
  EXPECT_EQ(launch(data, 10), 0);
  core_->before_fork();
  pid_t child = ::fork();
  if (child == 0) {
    // The device's memory is the vendor's business, which the fake one leaves shared.
    core_->after_fork_in_child();
    pinned[0] = 7;
    bool well = launch(pinned, 5) == 0 && core_->recording() && pinned[0] == 8 && data[0] == 2;
    ::_exit(well ? 0 : 1);
  }
  core_->after_fork_in_parent();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pinned[0], 2);
  EXPECT_EQ(launch(data, 9), 0);
  std::vector<bundle::InstanceMember> instances = end();
  ASSERT_EQ(instances.size(), 3u);
  for (const bundle::InstanceMember& instance : instances) EXPECT_EQ(instance.info.segments.size(), 3u);
}

TEST_F(SessionTest, LaunchesOfChildrenThatAreLeftAloneAreCounted) {
  settings_.children = false;
  begin();
  core_->before_fork();
  pid_t child = ::fork();
  if (child == 0) {
    core_->after_fork_in_child();
    launch(nullptr, 0);
    ::_exit(core_->recording() ? 1 : 0);
  }
  core_->after_fork_in_parent();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(end().empty());
  EXPECT_EQ(capture_.launches, 0u);
  ASSERT_EQ(capture_.summary.skipped.size(), 1u);
  EXPECT_EQ(capture_.summary.skipped[0].launches, 1u);
  EXPECT_THAT(reason(), testing::HasSubstr("--children leave"));
}

TEST_F(SessionTest, AnotherRankIsRefused) {
  begin("1");
  EXPECT_EQ(core_, nullptr);
  EXPECT_TRUE(end().empty());
}

TEST_F(SessionTest, TheRankAskedForIsRecorded) {
  settings_.ranks = Ranks::only(1);
  begin("1");
  ASSERT_NE(core_, nullptr);
  launch(device_ints(10), 10);
  EXPECT_EQ(end().size(), 1u);
}

}  // namespace
}  // namespace mneme::capture
