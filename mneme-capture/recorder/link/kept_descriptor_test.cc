// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/kept_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace mneme::record {
namespace {

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(KeptDescriptor, IsClosedAtTheEnd) {
  int number = -1;
  {
    KeptDescriptor first(memory_file("x"));
    number = first.get();
    KeptDescriptor second(std::move(first));
    EXPECT_EQ(second.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(KeptDescriptor, IsGoneWhenTheApplicationClosedIt) {
  KeptDescriptor kept(memory_file("x"));
  ::close(kept.get());
  EXPECT_EQ(kept.get(), -1);
}

TEST(KeptDescriptor, LeavesAloneWhatIsTheApplicationsNow) {
  int number = -1;
  {
    KeptDescriptor kept(memory_file("x"));
    number = kept.get();
    Fd other = memory_file("y");
    ASSERT_EQ(::dup2(other.get(), number), number);
    EXPECT_EQ(kept.get(), -1);
  }
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(KeptDescriptor, IsKnownToWhoClosesAll) {
  int number = -1;
  {
    KeptDescriptor kept(memory_file("x"));
    number = kept.get();
    EXPECT_TRUE(kept::is(number));
    EXPECT_FALSE(kept::is(number - 1));
    EXPECT_FALSE(kept::is(-1));
    EXPECT_EQ(kept::next_from(3), number);
    EXPECT_EQ(kept::next_from(static_cast<unsigned>(number) + 1), -1);
    EXPECT_EQ(kept::next_from(~0u), -1);
  }
  EXPECT_FALSE(kept::is(number));
}

TEST(KeptDescriptor, MakesRoom) {
  KeptDescriptor kept(memory_file("x"));
  int number = kept.get();
  ASSERT_TRUE(kept::move_away(number));
  Fd other = memory_file("y");
  ASSERT_EQ(::dup2(other.get(), number), number);
  EXPECT_NE(kept.get(), number);
  EXPECT_TRUE(kept::is(kept.get()));
  EXPECT_FALSE(kept::is(number));
  ::close(number);
}

}  // namespace
}  // namespace mneme::record
