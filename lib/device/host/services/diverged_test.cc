// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/diverged.h"

#include <gtest/gtest.h>

#include <vector>

namespace mneme::device::host {
namespace {

constexpr uint32_t kEnded = codegen::host::kEndedPoint;

TEST(Diverged, NamesThreadsThatEnded) {
  std::vector<uint32_t> points(256, 2);
  std::fill(points.begin() + 240, points.end(), kEnded);
  EXPECT_EQ(describe_diverged({256, 1, 1}, points),
            "thread (240, 0, 0) and 15 others have ended before a barrier that 240 threads wait at");
  EXPECT_EQ(describe_diverged({2, 1, 1}, std::vector<uint32_t>{kEnded, 2}),
            "thread (0, 0, 0) has ended before a barrier that 1 thread waits at");
}

TEST(Diverged, NamesThreadsAtAnotherBarrier) {
  std::vector<uint32_t> points(64, 3);
  points[21] = 2;
  EXPECT_EQ(describe_diverged({4, 4, 4}, points),
            "thread (1, 1, 1) waits at another barrier than thread (0, 0, 0) and 62 others");
  points[22] = 2;
  points[0] = kEnded;
  EXPECT_EQ(describe_diverged({64, 1, 1}, points),
            "thread (21, 0, 0) and 1 other wait at another barrier than thread (1, 0, 0) and 60 others");
}

}  // namespace
}  // namespace mneme::device::host
