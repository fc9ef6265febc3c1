// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/device.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::device {
namespace {

Exit exit_of(const std::string& name) {
  try {
    make_device(name);
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return error.exit();
  }
  return Exit::kSuccess;
}

TEST(MakeDevice, ByName) {
  EXPECT_EQ(make_device("host")->name(), "host");
  EXPECT_EQ(make_device("auto")->name(), "host");
  EXPECT_EQ(make_device("host")->clock(), "steady");
}

TEST(MakeDevice, SaysWhatIsMissing) {
  if (Exit cuda = exit_of("cuda"); cuda != Exit::kSuccess) {  // there is a GPU
    EXPECT_EQ(cuda, Exit::kMissing);
  }
  EXPECT_EQ(exit_of("hip"), Exit::kMissing);
  EXPECT_EQ(exit_of("abacus"), Exit::kBadInput);
}

}  // namespace
}  // namespace mneme::device
