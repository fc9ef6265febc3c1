// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/meeting_point.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mneme::record {
namespace {

TEST(MeetingPoint, IsWrittenAndRead) {
  MeetingPoint point = MeetingPoint::make(1);
  EXPECT_NE(point.name, MeetingPoint::make(2).name);
  EXPECT_EQ(MeetingPoint::parse(point.text()).name, point.name);
  EXPECT_EQ(MeetingPoint::parse(point.text()).path, "");
  point.path = "/a folder/with:colon";
  EXPECT_EQ(MeetingPoint::parse(point.text()).name, point.name);
  EXPECT_EQ(MeetingPoint::parse(point.text()).path, "/a folder/with:colon");
}

TEST(MeetingPoint, IsDesertedWhenItsProcessHasEnded) {
  EXPECT_FALSE(MeetingPoint::make(1).deserted());
  std::string name = MeetingPoint::make(1).name, own = std::to_string(::getpid());
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  name.replace(name.find(own), own.size(), std::to_string(child));
  EXPECT_TRUE((MeetingPoint{name, {}}).deserted());
  size_t number = name.find('-', name.find(std::to_string(child)));
  name.insert(number + 1, "1");
  EXPECT_FALSE((MeetingPoint{name, {}}).deserted()) << "numbers mean something else in another namespace";
  EXPECT_FALSE((MeetingPoint{"something else", {}}).deserted());
}

TEST(SocketAddress, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(abstract_address(std::string(106, 'x')));
  EXPECT_FALSE(abstract_address(std::string(107, 'x')));
  EXPECT_TRUE(file_address(std::string(107, 'x')));
  EXPECT_FALSE(file_address(std::string(108, 'x')));
}

}  // namespace
}  // namespace mneme::record
