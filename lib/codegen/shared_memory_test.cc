// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/shared_memory.h"

#include <gtest/gtest.h>

namespace mneme::codegen {
namespace {

TEST(SharedMemory, IsTheTargets) {
  EXPECT_EQ(shared_memory_of("cuda:sm_90").most, 232448u);
  EXPECT_EQ(shared_memory_of("cuda:sm_90a").most, 232448u);
  EXPECT_EQ(shared_memory_of("cuda:sm_80").most, 166912u);
  EXPECT_EQ(shared_memory_of("cuda:sm_75").most, 65536u);
  EXPECT_EQ(shared_memory_of("cuda:sm_60").most, 49152u);
  EXPECT_EQ(shared_memory_of("host:x86-64-v3").most, 262144u);
  EXPECT_EQ(shared_memory_of("hip:gfx90a").most, 65536u);
}

TEST(SharedMemory, NvidiasIsMoreForWhoAsks) {
  EXPECT_EQ(shared_memory_of("cuda:sm_90").usual, 49152u);
  EXPECT_EQ(shared_memory_of("cuda:sm_90").multiprocessor, 233472u);
  EXPECT_EQ(shared_memory_of("cuda:sm_86").multiprocessor, 102400u);
  EXPECT_EQ(shared_memory_of("cuda:sm_75").multiprocessor, 65536u);
  EXPECT_EQ(shared_memory_of("hip:gfx90a").usual, 65536u);
}

}  // namespace
}  // namespace mneme::codegen
