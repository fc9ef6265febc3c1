// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/parted.h"

#include <gtest/gtest.h>

#include <vector>

namespace mneme::device::host {
namespace {

constexpr uint32_t kEnded = codegen::host::kEndedPlace;

TEST(Parted, NamesThreadsThatEnded) {
  std::vector<uint32_t> places(256, 2);
  std::fill(places.begin() + 240, places.end(), kEnded);
  EXPECT_EQ(describe_parted({256, 1, 1}, places),
            "thread (240, 0, 0) and 15 others have ended before a barrier that 240 threads wait at");
  EXPECT_EQ(describe_parted({2, 1, 1}, std::vector<uint32_t>{kEnded, 2}),
            "thread (0, 0, 0) has ended before a barrier that 1 thread waits at");
}

TEST(Parted, NamesThreadsAtAnotherBarrier) {
  std::vector<uint32_t> places(64, 3);
  places[21] = 2;
  EXPECT_EQ(describe_parted({4, 4, 4}, places),
            "thread (1, 1, 1) waits at another barrier than thread (0, 0, 0) and 62 others");
  places[22] = 2;
  places[0] = kEnded;
  EXPECT_EQ(describe_parted({64, 1, 1}, places),
            "thread (21, 0, 0) and 1 other wait at another barrier than thread (1, 0, 0) and 60 others");
}

}  // namespace
}  // namespace mneme::device::host
