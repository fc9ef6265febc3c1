// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/settled.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace mneme::record {
namespace {

// A launch of a kernel of a pointer and two values.
struct Launch {
  int function = 0;
  uint64_t pointer = 1;
  uint32_t first = 2;
  std::array<uint32_t, 2> second = {3, 4};
  std::array<void*, 3> list = {&pointer, &first, &second};
  LaunchRequest request{&function, {5, 1, 1}, {6, 1, 1}, 7, {list.data(), {}}, nullptr};
  bundle::KernelInfo kernel;

  Launch() {
    kernel.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "i32", {}}, {16, 8, "struct", "%s", {}}};
  }
};

TEST(Settled, KnowsLaunchesLikeTheOneRemembered) {
  Settled settled;
  Launch launch;
  EXPECT_FALSE(settled.find(launch.request, 0));
  settled.remember_alike(launch.request, 0, launch.kernel, false, {10, 11});
  const Settled::Slots* slots = settled.find(launch.request, 0);
  ASSERT_TRUE(slots);
  EXPECT_EQ(slots->launches, 10u);
  EXPECT_EQ(slots->reason, 11u);
  ++launch.pointer;
  EXPECT_TRUE(settled.find(launch.request, 0)) << "pointers do not tell launches apart";
  settled.forget();
  EXPECT_FALSE(settled.find(launch.request, 0));
}

TEST(Settled, LooksAtAllThatTellsLaunchesApart) {
  Settled settled;
  Launch launch;
  settled.remember_alike(launch.request, 0, launch.kernel, false, {10, 11});
  auto changed = [&](auto&& change) {
    LaunchRequest other = launch.request;
    change(other);
    return !settled.find(other, 0);
  };
  EXPECT_FALSE(changed([](LaunchRequest&) {}));
  EXPECT_TRUE(changed([](LaunchRequest& other) { other.grid.y = 2; }));
  EXPECT_TRUE(changed([](LaunchRequest& other) { other.cluster.x = 2; }));
  EXPECT_TRUE(changed([](LaunchRequest& other) { other.block.z = 2; }));
  EXPECT_TRUE(changed([](LaunchRequest& other) { other.shared_bytes = 8; }));
  EXPECT_TRUE(changed([](LaunchRequest& other) { other.function = &other; }));
  EXPECT_TRUE(changed([](LaunchRequest& other) { other.arguments.list = nullptr; }));
  EXPECT_FALSE(settled.find(launch.request, 1)) << "another device";
  launch.second[1] = 5;
  EXPECT_FALSE(settled.find(launch.request, 0));
  launch.second[1] = 4;
  launch.list[1] = nullptr;
  EXPECT_FALSE(settled.find(launch.request, 0)) << "an argument that is not there";
}

TEST(Settled, RemembersTheLastLaunchOfAFunction) {
  Settled settled;
  Launch launch;
  settled.remember_alike(launch.request, 0, launch.kernel, false, {10, 11});
  launch.first = 9;
  settled.remember_alike(launch.request, 0, launch.kernel, false, {10, 12});
  EXPECT_EQ(settled.find(launch.request, 0)->reason, 12u);
  launch.first = 2;
  EXPECT_FALSE(settled.find(launch.request, 0));
}

TEST(Settled, TellsAllOthersFromThoseThatWereRecorded) {
  Settled settled;
  Launch launch;
  auto recorded = settled_launch(launch.request, 0, launch.kernel, false, {10, 11});
  settled.remember_all(launch.request.function, 0, {10, 12}, {recorded});
  EXPECT_EQ(settled.find(launch.request, 0)->reason, 11u);
  EXPECT_FALSE(settled.find(launch.request, 1)) << "another device";
  LaunchRequest larger = launch.request;
  ++larger.grid.x;
  EXPECT_EQ(settled.find(larger, 0)->reason, 12u);
}

TEST(Settled, TellsRecordedOnesByMoreThanTheirLastValue) {
  Settled settled;
  Launch launch;
  std::vector<std::shared_ptr<const SettledLaunch>> recorded;
  for (uint32_t last : {4, 5, 6}) {
    launch.second[1] = last;
    recorded.push_back(settled_launch(launch.request, 0, launch.kernel, false, {10, 20 + last}));
  }
  settled.remember_all(launch.request.function, 0, {10, 12}, recorded);
  auto reason = [&] { return settled.find(launch.request, 0)->reason; };
  for (uint32_t last : {4, 5, 6}) {
    launch.second[1] = last;
    EXPECT_EQ(reason(), 20 + last);
  }
  launch.second[1] = 7;
  EXPECT_EQ(reason(), 12u);
  launch.second[1] = 5;
  ++launch.first;
  EXPECT_EQ(reason(), 12u) << "the last value is one's, the first nobody's";
}

TEST(Settled, MayLeaveArgumentsOut) {
  Settled settled;
  Launch launch;
  settled.remember_alike(launch.request, 0, launch.kernel, true, {10, 11});
  ++launch.first;
  EXPECT_TRUE(settled.find(launch.request, 0));
  launch.request.grid.x = 1;
  EXPECT_FALSE(settled.find(launch.request, 0));
  settled.remember_all(launch.request.function, 0, {10, 12});
  launch.request.grid.x = 2;
  EXPECT_EQ(settled.find(launch.request, 0)->reason, 12u);
}

TEST(Settled, KnowsManyFunctions) {
  Settled settled;
  std::vector<uint64_t> code(5000);
  Launch launch;
  for (uint32_t i = 0; i < code.size(); ++i) settled.remember_all(&code[i], 0, {i, 0});
  int known = 0;
  for (uint32_t i = 0; i < code.size(); ++i) {
    launch.request.function = &code[i];
    const Settled::Slots* slots = settled.find(launch.request, 0);
    if (!slots) continue;
    EXPECT_EQ(slots->launches, i);
    ++known;
  }
  EXPECT_GT(known, 500) << "what there is no place for is looked into, again and again";
  settled.forget();
  launch.request.function = &code[known];
  EXPECT_FALSE(settled.find(launch.request, 0));
}

TEST(Settled, ComesToRememberAFunctionWhoseLaunchesChangedForLong) {
  Settled settled;
  Launch launch;
  auto look_into = [&] {
    if (settled.find(launch.request, 0)) return false;
    settled.remember_alike(launch.request, 0, launch.kernel, false, {10, 11});
    return true;
  };
  for (; launch.first < 1000; ++launch.first) look_into();
  int times = 0;
  while (look_into()) ++times;
  EXPECT_LT(times, 1000);
}

TEST(Settled, FindsWhileItRemembers) {
  Settled settled;
  std::array<Launch, 3> launches;
  std::atomic<bool> end = false;
  std::vector<std::thread> finders;
  for (Launch& launch : launches) {
    finders.emplace_back([&] {
      while (!end) {
        const Settled::Slots* slots = settled.find(launch.request, 0);
        if (slots) EXPECT_EQ(slots->launches, slots->reason);
      }
    });
  }
  for (uint32_t i = 0; i < 3000; ++i) {
    const Launch& launch = launches[i % 3];
    if (i % 100 == 0) settled.forget();
    settled.remember_alike(launch.request, 0, launch.kernel, i % 2, {i, i});
  }
  end = true;
  for (std::thread& finder : finders) finder.join();
  EXPECT_FALSE(settled.find(launches[0].request, 1));
}

TEST(Settled, LeavesPackedArgumentsAlone) {
  Settled settled;
  Launch launch;
  launch.request.arguments.list = nullptr;
  settled.remember_alike(launch.request, 0, launch.kernel, false, {10, 11});
  EXPECT_FALSE(settled.find(launch.request, 0));
}

}  // namespace
}  // namespace mneme::record
