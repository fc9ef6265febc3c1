// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/blocks/physical_memory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace mneme::bundle {
namespace {

class MemoryLimit : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    std::filesystem::path path = folder_.path() + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, text);
  }
  uint64_t limit() const { return memory_limit_of_groups(folder_.path()); }

  TemporaryFolder folder_{"groups"};
};

TEST_F(MemoryLimit, IsTheLeastOfTheGroupsAbove) {
  EXPECT_EQ(limit(), UINT64_MAX);
  write("proc/self/cgroup", "0::/batch/job/step\n");
  EXPECT_EQ(limit(), UINT64_MAX);
  write("sys/fs/cgroup/batch/memory.max", "9000\n");
  write("sys/fs/cgroup/batch/job/memory.max", "5000\n");
  write("sys/fs/cgroup/batch/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/other/memory.max", "1\n");
  EXPECT_EQ(limit(), 5000u);
  write("sys/fs/cgroup/memory.max", "4000\n");
  EXPECT_EQ(limit(), 4000u);
}

TEST_F(MemoryLimit, KnowsTheFirstVersion) {
  write("proc/self/cgroup", "5:cpu,memory:/job\n4:devices:/other\n0::/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "7000\n");
  write("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(limit(), 7000u);
}

TEST_F(MemoryLimit, OfContainersIsAtTheTop) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "4000\n");
  EXPECT_EQ(limit(), 4000u);
}

TEST(PhysicalMemory, IsSome) { EXPECT_GE(physical_memory(), 64u << 20); }

}  // namespace
}  // namespace mneme::bundle
