// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "least_target.h"

#include <gtest/gtest.h>

#include <vector>

namespace mneme::restore {
namespace {

TEST(LeastTarget, LesserProcessorsComeFirst) {
  const std::vector<std::vector<std::string>> kOrders = {
      {"host:x86-64", "host:x86-64-v2", "host:x86-64-v3", "host:x86-64-v4"},
      {"cuda:sm_75", "cuda:sm_90", "cuda:sm_90a", "cuda:sm_100", "cuda:sm_100a", "cuda:sm_120"},
      {"hip:gfx9-generic", "hip:gfx900", "hip:gfx906", "hip:gfx908", "hip:gfx90a", "hip:gfx90a:xnack+",
       "hip:gfx90a:sramecc+:xnack-", "hip:gfx90c", "hip:gfx940", "hip:gfx942", "hip:gfx10-1-generic", "hip:gfx1010",
       "hip:gfx10-3-generic", "hip:gfx1030", "hip:gfx11-generic", "hip:gfx1100"},
  };
  for (const auto& order : kOrders) {
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_FALSE(is_lesser_target(order[i], order[i]));
      for (size_t j = i + 1; j < order.size(); ++j) {
        EXPECT_TRUE(is_lesser_target(order[i], order[j])) << order[i] << ' ' << order[j];
        EXPECT_FALSE(is_lesser_target(order[j], order[i])) << order[i] << ' ' << order[j];
        const std::string device = order[0].substr(0, order[0].find(':'));
        EXPECT_EQ(least_targets({order[j], order[i]}).at(device), order[i]);
      }
    }
  }
}

TEST(LeastTarget, OneForEachDevice) {
  const std::map<std::string, std::string> least = {
      {"cuda", "cuda:sm_90a"}, {"hip", "hip:gfx906"}, {"host", "host:x86-64-v2"}};
  EXPECT_EQ(
      least_targets({"hip:gfx1030", "cuda:sm_100", "host:x86-64-v3", "hip:gfx906", "cuda:sm_90a", "host:x86-64-v2"}),
      least);
  EXPECT_TRUE(least_targets({}).empty());
  EXPECT_EQ(least_targets({"hip:gfx", "hip:gfx9", "hip:"}).size(), 1u) << "whatever a bundle says";
}

}  // namespace
}  // namespace mneme::restore
