// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace mneme {
namespace {

TEST(Error, CarriesItsSentenceAndExitStatus) {
  Error plain("it broke");
  EXPECT_STREQ(plain.what(), "it broke");
  EXPECT_EQ(plain.exit(), Exit::kBadInput);
  Error formatted = Error::of(Exit::kMissing, "{} of {}", 1, "two");
  EXPECT_STREQ(formatted.what(), "1 of two");
  EXPECT_EQ(formatted.exit(), Exit::kMissing);
}

TEST(Error, OfTheSystemGivesItsReason) {
  errno = ENOENT;
  EXPECT_STREQ(system_error("cannot open 'x'").what(), "cannot open 'x': No such file or directory");
}

TEST(Error, ExitStatusesAreTheContract) {
  EXPECT_EQ(static_cast<int>(Exit::kSuccess), 0);
  EXPECT_EQ(static_cast<int>(Exit::kNotVerified), 1);
  EXPECT_EQ(static_cast<int>(Exit::kBadInput), 2);
  EXPECT_EQ(static_cast<int>(Exit::kMissing), 3);
  EXPECT_EQ(static_cast<int>(Exit::kApplicationFailed), 4);
}

}  // namespace
}  // namespace mneme
