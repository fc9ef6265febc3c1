// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::device::host {
namespace {

using testing::HasSubstr;

TEST(Processor, CodeForALaterOneIsRefused) {
  std::string why = why_not_here("host:x86-64-v4", 3);
  EXPECT_THAT(why, HasSubstr("for processors of the level x86-64-v4"));
  EXPECT_THAT(why, HasSubstr("--target host:x86-64-v3 "));
  EXPECT_NE(why_not_here("host:x86-64-v3", 2), "");
  EXPECT_THAT(why_not_here("host:x86-64-v2", 1), testing::EndsWith("x86-64 only"));
}

TEST(Processor, CodeForAnEarlierOneRuns) {
  for (const char* target : {"host:x86-64-v2", "host:x86-64-v3", "host:x86-64-v4"}) {
    EXPECT_EQ(why_not_here(target, 4), "");
  }
  EXPECT_EQ(why_not_here("host:x86-64-v2", 2), "");
}

TEST(Processor, WhatNamesNoLevelIsLeftToTheDevice) {
  for (const char* target : {"host:x86-64", "host:", "cuda:sm_90", ""}) EXPECT_EQ(why_not_here(target, 1), "");
}

TEST(Processor, ThisOneHasALevel) { EXPECT_GE(processor_level(), 1u); }

}  // namespace
}  // namespace mneme::device::host
