// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/policy.h"

#include <gtest/gtest.h>

namespace mneme::record {
namespace {

using Verdict = Policy::Verdict;

Digest key(int number) { return digest_of(std::to_string(number)); }

std::vector<Verdict> verdicts(Policy& policy, std::initializer_list<int> keys) {
  std::vector<Verdict> list;
  for (int k : keys) list.push_back(policy.choose(key(k)).verdict);
  return list;
}

TEST(Policy, RecordsOneOfAKind) {
  Policy policy({4, 1, 0});
  EXPECT_EQ(verdicts(policy, {1, 1, 2, 1, 2}),
            (std::vector{Verdict::kRecord, Verdict::kAlike, Verdict::kRecord, Verdict::kAlike, Verdict::kAlike}));
}

TEST(Policy, StopsAtTheLimitOfAKernel) {
  Policy policy({2, 1, 0});
  EXPECT_EQ(verdicts(policy, {1, 2, 3, 1, 4}),
            (std::vector{Verdict::kRecord, Verdict::kRecord, Verdict::kEnough, Verdict::kAlike, Verdict::kEnough}));
}

TEST(Policy, RecordsSeveralOccurrences) {
  Policy policy({4, 2, 0});
  EXPECT_EQ(verdicts(policy, {1, 1, 1, 2}),
            (std::vector{Verdict::kRecord, Verdict::kRecord, Verdict::kAlike, Verdict::kRecord}));
  Policy short_of({3, 9, 0});
  EXPECT_EQ(verdicts(short_of, {1, 1, 1, 1}),
            (std::vector{Verdict::kRecord, Verdict::kRecord, Verdict::kRecord, Verdict::kAlike}));
}

TEST(Policy, SkipsTheFirstLaunches) {
  Policy policy({4, 1, 2});
  EXPECT_EQ(verdicts(policy, {1, 1, 1, 1, 2}),
            (std::vector{Verdict::kSkipped, Verdict::kSkipped, Verdict::kRecord, Verdict::kAlike, Verdict::kRecord}));
}

TEST(Policy, TakesEachNth) {
  Policy policy({4, 4, 1, 3});
  EXPECT_EQ(verdicts(policy, {1, 1, 1, 1, 2, 1, 1, 1}),
            (std::vector{Verdict::kSkipped, Verdict::kRecord, Verdict::kBetween, Verdict::kBetween, Verdict::kRecord,
                         Verdict::kBetween, Verdict::kBetween, Verdict::kRecord}));
}

TEST(Policy, WithdrawnLaunchesLeaveRoom) {
  Policy policy({1, 1, 0});
  EXPECT_EQ(policy.choose(key(1)).verdict, Verdict::kRecord);
  policy.withdraw(key(1));
  EXPECT_EQ(policy.choose(key(2)).verdict, Verdict::kRecord);
  EXPECT_EQ(policy.choose(key(1)).verdict, Verdict::kEnough);
}

TEST(Policy, RemembersAKeysSlot) {
  Policy policy({4, 1, 0});
  *policy.choose(key(1)).slot = 17;
  EXPECT_EQ(*policy.choose(key(1)).slot, 17u);
  EXPECT_EQ(*policy.choose(key(2)).slot, 0u);
}

TEST(LaunchKey, CoversDimensionsAndValuesButNotPointers) {
  bundle::KernelInfo kernel;
  kernel.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "i32", {}}, {16, 8, "struct", "%s", {}}};
  std::string arguments(24, 'a');
  Limits limits;
  auto changed = [&](size_t at) {
    std::string other = arguments;
    other[at] = 'b';
    return launch_key(limits, kernel, {1, 2, 3}, {4, 5, 6}, 7, other);
  };
  Digest same = launch_key({}, kernel, {1, 2, 3}, {4, 5, 6}, 7, arguments);
  EXPECT_EQ(changed(0), same);
  EXPECT_NE(changed(8), same);
  EXPECT_NE(changed(20), same);
  EXPECT_NE(launch_key({}, kernel, {2, 1, 3}, {4, 5, 6}, 7, arguments), same);
  EXPECT_NE(launch_key({}, kernel, {1, 2, 3}, {4, 6, 5}, 7, arguments), same);
  EXPECT_NE(launch_key({}, kernel, {1, 2, 3}, {4, 5, 6}, 8, arguments), same);
  limits.only_config = true;
  EXPECT_EQ(changed(8), changed(20));
  EXPECT_NE(launch_key(limits, kernel, {1, 2, 3}, {4, 5, 6}, 8, arguments), changed(8));
}

}  // namespace
}  // namespace mneme::record
