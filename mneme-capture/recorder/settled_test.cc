// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/settled.h"

#include <gtest/gtest.h>

#include <array>

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

TEST(Settled, LeavesPackedArgumentsAlone) {
  Settled settled;
  Launch launch;
  launch.request.arguments.list = nullptr;
  settled.remember_alike(launch.request, 0, launch.kernel, false, {10, 11});
  EXPECT_FALSE(settled.find(launch.request, 0));
}

}  // namespace
}  // namespace mneme::record
