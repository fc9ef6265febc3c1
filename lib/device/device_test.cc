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
  for (const char* gpu : {"cuda", "hip"}) {
    Exit exit = exit_of(gpu);
    if (exit != Exit::kSuccess) EXPECT_EQ(exit, Exit::kMissing) << gpu;  // else there is one
  }
  EXPECT_EQ(exit_of("abacus"), Exit::kBadInput);
}

}  // namespace
}  // namespace mneme::device
