// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/launch.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::bundle {
namespace {

InstanceInfo instance() {
  InstanceInfo info;
  info.id = digest_of("one");
  info.grid = {10, 3, 1};
  info.block = {256, 2, 1};
  info.shared_bytes = 64;
  return info;
}

std::string fault(const Configuration& configuration) {
  try {
    launch_size(instance(), configuration);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(LaunchSize, IsAsRecordedUnlessTold) {
  LaunchSize size = launch_size(instance(), {});
  EXPECT_EQ(size.grid, instance().grid);
  EXPECT_EQ(size.block, instance().block);
  EXPECT_EQ(size.shared_bytes, 64u);
  EXPECT_FALSE(launches_otherwise(instance(), {}));
}

TEST(LaunchSize, CoversTheRecordedThreads) {
  Configuration configuration;
  configuration.block = {128, 4, 1};
  EXPECT_EQ(launch_size(instance(), configuration).grid, (Dim3{20, 2, 1}));
  configuration.block = {1000, 1, 1};
  EXPECT_EQ(launch_size(instance(), configuration).grid, (Dim3{3, 6, 1})) << "the last block is not full";
  EXPECT_TRUE(launches_otherwise(instance(), configuration));
  configuration.grid = {7, 1, 1};
  EXPECT_EQ(launch_size(instance(), configuration).grid, (Dim3{7, 1, 1}));
  configuration = {};
  configuration.shared_mem = 0;
  EXPECT_EQ(launch_size(instance(), configuration).shared_bytes, 0u);
  EXPECT_TRUE(launches_otherwise(instance(), configuration));
}

TEST(LaunchSize, SaysWhatCannotBe) {
  Configuration configuration;
  configuration.max_threads = 256;
  EXPECT_EQ(fault(configuration),
            "its launch bounds allow 256 threads in a block ('max_threads'), and a block of (256, 2, 1) has 512");
  configuration.block = {64, 4, 1};
  EXPECT_EQ(fault(configuration), "none");
  configuration.instance = digest_of("one");
  EXPECT_EQ(fault(configuration), "none");
  configuration.instance = digest_of("two");
  EXPECT_EQ(fault(configuration), "the code is specialised to the instance " + digest_of("two").hex().substr(0, 12) +
                                      ", and not for " + digest_of("one").hex().substr(0, 12));
}

}  // namespace
}  // namespace mneme::bundle
