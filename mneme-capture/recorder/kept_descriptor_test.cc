// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/kept_descriptor.h"

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

}  // namespace
}  // namespace mneme::record
