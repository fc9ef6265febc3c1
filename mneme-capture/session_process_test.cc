// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which processes are recorded, and what there is of those with which something goes wrong.
#include <gtest/gtest.h>

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
  EXPECT_EQ(core_->release(data, Core::Wait::kWholeDevice), 0) << "but what was given out is taken back";
  core_.reset();
}

TEST_F(SessionTest, AProcessThatLaunchedNothingLeavesItsPlace) {
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

TEST_F(SessionTest, OneProcessIsRecorded) {
  begin();
  EXPECT_EQ(record::Connection::open(), nullptr);
  EXPECT_EQ(launch(device_ints(10), 10), 0);
  EXPECT_EQ(end().size(), 1u);
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
