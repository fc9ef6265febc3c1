// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/format.h"

#include <gtest/gtest.h>

#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

InstanceInfo instance() {
  InstanceInfo info;
  info.kernel = kOne;
  info.index = 7;
  info.grid = {4294967295, 2, 1};
  info.block = {256, 1, 1};
  info.arguments = std::string("\0\x80\xff", 3);
  info.segments = {{0x400000000100, 1 << 20, SegmentKind::kHeap, "", R"({"dtype":"f32","threshold":1e-3})"},
                   {0x400000200000, 8, SegmentKind::kGlobal, "counter", ""},
                   {0x600000000000, 64, SegmentKind::kHost, "", ""}};
  info.prologue = kTwo;
  info.epilogue = kThree;
  info.id = instance_id(info);
  return info;
}

TEST(Json, InstanceRoundTrip) {
  InstanceInfo back = parse_instance(write(instance()), "an instance");
  EXPECT_EQ(write(back), write(instance()));
  EXPECT_EQ(back.arguments, instance().arguments);
  EXPECT_EQ(back.grid, instance().grid);
  EXPECT_EQ(back.segments[2].kind, SegmentKind::kHost);
  EXPECT_EQ(instance_id(back), back.id) << "however the annotation was spelt";
}

TEST(Json, OnlyIncompleteInstancesSaySo) {
  InstanceInfo info = instance();
  EXPECT_EQ(write(info).find("complete"), std::string::npos);
  info.missing = {"argument 0 points to 0x1000", "a second reason"};
  std::string text = write(info);
  EXPECT_NE(text.find(R"("complete":false,"missing":["argument 0 points to 0x1000","a second reason"])"),
            std::string::npos);
  InstanceInfo back = parse_instance(text, "an instance");
  EXPECT_EQ(back.missing, info.missing);
  EXPECT_EQ(write(back), text);
  EXPECT_EQ(instance_id(back), instance().id) << "it is the same launch";

  // One key without the other is nobody's: an instance must not pass for complete by the loss of one of them.
  auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return fault_of([&] { parse_instance(resealed(other), "an instance"); });
  };
  EXPECT_EQ(changed("\"complete\":false", "\"complete\":false"), "none");
  EXPECT_NE(changed("\"complete\":false,", "").find("missing"), std::string::npos);
  EXPECT_NE(changed("\"complete\":false", "\"complete\":true").find("missing"), std::string::npos);
  EXPECT_NE(changed("\"complete\":false", "\"complete\":0").find("complete"), std::string::npos);
  EXPECT_NE(changed("[\"argument 0 points to 0x1000\",\"a second reason\"]", "[]").find("missing"), std::string::npos);
  EXPECT_NE(changed("[\"argument 0 points to 0x1000\",\"a second reason\"]", "7").find("missing"), std::string::npos);
}

TEST(Json, OnlyBlocksThatGoTogetherSaySo) {
  EXPECT_EQ(write(instance()).find("cooperative"), std::string::npos);
  EXPECT_EQ(write(instance()).find("cluster"), std::string::npos);
  EXPECT_EQ(write(instance()).find("attributes"), std::string::npos);
  EXPECT_EQ(write(instance()).find("stack_bytes"), std::string::npos);
  InstanceInfo info = instance();
  info.cooperative = true;
  info.cluster = {2, 1, 4};
  info.attributes = {"priority -5", "programmatic event"};
  info.stack_bytes = 16384;
  std::string text = write(info);
  EXPECT_NE(
      text.find(
          R"("cooperative":true,"cluster":[2,1,4],"stack_bytes":16384,"attributes":["priority -5","programmatic event"])"),
      std::string::npos);
  InstanceInfo back = parse_instance(text, "an instance");
  EXPECT_TRUE(back.cooperative);
  EXPECT_EQ(back.cluster, info.cluster);
  EXPECT_EQ(back.attributes, info.attributes);
  EXPECT_EQ(back.stack_bytes, 16384u);
  EXPECT_EQ(write(back), text);
}

TEST(Json, TheDynamicHashCoversTheLaunch) {
  auto differs = [](auto change) {
    InstanceInfo info = instance();
    change(info);
    return instance_id(info) != info.id;
  };
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.kernel = kTwo; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.grid.y = 3; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.block.x = 128; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.shared_bytes = 1; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.cooperative = true; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.cluster.z = 2; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.attributes = {"priority 1"}; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.stack_bytes = 16384; })) << "it changes no result";
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.arguments[0] = 1; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.segments[0].annotation = "{}"; }));
  EXPECT_TRUE(differs([](InstanceInfo& info) { info.prologue = kThree; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.index = 8; }));
  EXPECT_FALSE(differs([](InstanceInfo& info) { info.epilogue = kOne; }));
}

}  // namespace
}  // namespace mneme::bundle
