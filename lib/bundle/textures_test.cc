// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/textures.h"

#include <gtest/gtest.h>

#include <functional>

#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

constexpr uint32_t kFloat = 0x20, kBytes = 0x01, kLayered = 0x01, kCubemap = 0x04;

TextureArray array(uint64_t width, uint64_t height, uint64_t depth, uint32_t flags = 0, uint32_t levels = 0) {
  return {0x400000000000, width, height, depth, kFloat, 1, flags, levels};
}

TEST(Textures, ArraysLieLevelByLevel) {
  EXPECT_EQ(layout_of(array(5, 0, 0)).value().bytes, 20u);
  EXPECT_EQ(layout_of(array(5, 3, 2)).value().bytes, 120u);
  const ArrayLayout levels = layout_of(array(5, 3, 2, 0, 3)).value();
  ASSERT_EQ(levels.levels.size(), 3u);
  EXPECT_EQ(levels.levels[1].offset, 120u);
  EXPECT_EQ(levels.levels[1].row_bytes, 8u);
  EXPECT_EQ(levels.levels[1].rows, 1u);
  EXPECT_EQ(levels.levels[1].slices, 1u);
  EXPECT_EQ(levels.bytes, 120u + 8 + 4);
  // Layers and faces are as many in each level.
  EXPECT_EQ(layout_of(array(4, 4, 6, kCubemap, 2)).value().bytes, 4u * (16 + 4) * 6);
  EXPECT_EQ(layout_of(array(4, 0, 3, kLayered, 2)).value().bytes, 4u * (4 + 2) * 3);
}

TEST(Textures, ArraysThatAreNotRecordedHaveNoLayout) {
  TextureArray known = array(5, 3, 2);
  for (const auto& change : std::initializer_list<std::function<void(TextureArray&)>>{
           [](TextureArray& a) { a.format = 0x91; },                                          // compressed
           [](TextureArray& a) { a.channels = 3; }, [](TextureArray& a) { a.flags = 0x40; },  // sparse
           [](TextureArray& a) { a.width = 0; }, [](TextureArray& a) { a.height = uint64_t{1} << 40; },
           [](TextureArray& a) { a.levels = 1000; },
           [](TextureArray& a) { a.width = a.height = a.depth = 1 << 20, a.levels = 21; }}) {
    TextureArray changed = known;
    change(changed);
    EXPECT_EQ(layout_of(changed).has_value(), false);
  }
}

TEST(Textures, MemoryHasTheSizeOfItsRows) {
  TextureObject object;
  object.source = TextureSource::kPitched;
  object.format = kBytes;
  object.channels = 4;
  object.width = 10;
  object.height = 3;
  object.pitch = 64;
  EXPECT_EQ(bytes_in_memory(object), 2u * 64 + 40);
  object.pitch = 32;
  EXPECT_EQ(bytes_in_memory(object), std::nullopt) << "rows overlap";
  object.source = TextureSource::kLinear;
  EXPECT_EQ(bytes_in_memory(object), 10u);
  object.source = TextureSource::kArray;
  EXPECT_EQ(bytes_in_memory(object), std::nullopt);
}

InstanceInfo instance() {
  InstanceInfo info;
  info.kernel = digest_of("kernel");
  info.arguments.resize(32);
  info.segments = {{0x400000000000, 480, SegmentKind::kHeap, "", ""},
                   {0x400000100000, 120, SegmentKind::kGlobal, "__mneme_array_0", ""},
                   {0x400000200000, 132, SegmentKind::kGlobal, "__mneme_array_1", ""}};
  info.prologue = info.epilogue = digest_of("state");
  info.arrays = {array(5, 3, 2), array(5, 3, 2, 0, 3)};
  info.arrays[0].address = 0x400000100000;
  info.arrays[1].address = 0x400000200000;
  TextureObject surface, levels, linear;
  surface.argument = 0;
  surface.surface = true;
  surface.address = 0x400000100000;
  levels.argument = 8;
  levels.source = TextureSource::kMipmappedArray;
  levels.address = 0x400000200000;
  levels.sampling = {1, 1, 1, 0, 2, 0, 1, 0xbf800000, 0, 0x40000000, 7, 8, 9, 10};
  levels.view = {{22, 5, 3, 2, 0, 2, 0, 0}};
  linear.argument = 24;
  linear.source = TextureSource::kLinear;
  linear.address = 0x400000000000;
  linear.format = kFloat;
  linear.channels = 2;
  linear.width = 480;
  info.textures = {surface, levels, linear};
  info.id = instance_id(info);
  return info;
}

TEST(Textures, InstancesGoThereAndBack) {
  const InstanceInfo info = instance(), back = parse_instance(write(info), "an instance");
  EXPECT_EQ(write(back), write(info));
  EXPECT_EQ(back.arrays, info.arrays);
  EXPECT_EQ(back.textures, info.textures);
  EXPECT_EQ(instance_id(back), info.id);
  InstanceInfo alone;
  alone.arguments = info.arguments;
  alone.segments = info.segments;
  read_textures(write_textures(info), "a text", alone);
  EXPECT_EQ(alone.textures, info.textures);
  InstanceInfo without = info;
  without.arrays.clear();
  without.textures.clear();
  EXPECT_EQ(write(without).find("textures"), std::string::npos);
  EXPECT_NE(instance_id(without), info.id);
}

TEST(Textures, TheDynamicHashCoversHowTheyAreSampled) {
  InstanceInfo other = instance();
  other.textures[1].sampling[3] = 1;
  EXPECT_NE(instance_id(other), instance().id);
}

TEST(Textures, InstancesAreChecked) {
  auto fault = [](const std::function<void(InstanceInfo&)>& change) {
    InstanceInfo info = instance();
    change(info);
    return fault_of([&] { parse_instance(write(info), "it"); });
  };
  EXPECT_EQ(fault([](InstanceInfo&) {}), "none");
  EXPECT_EQ(fault([](InstanceInfo& i) { i.arrays[0].width = 6; }),
            "it: 'arrays[0].address' is of no segment that has the array's size");
  EXPECT_EQ(fault([](InstanceInfo& i) { i.arrays[0].format = 77; }),
            "it: 'arrays[0].format' describes an array that no GPU has");
  EXPECT_EQ(fault([](InstanceInfo& i) { std::swap(i.arrays[0], i.arrays[1]); }),
            "it: 'arrays[1].address' is not behind that of the array ahead of it");
  EXPECT_EQ(fault([](InstanceInfo& i) { i.textures[0].address = 0x400000000000; }),
            "it: 'textures[0].address' is of no array");
  EXPECT_EQ(fault([](InstanceInfo& i) { i.textures[0].address = 0x400000200000; }),
            "it: 'textures[0].of' is not what the array is");
  EXPECT_EQ(fault([](InstanceInfo& i) { i.textures[1].argument = 4; }),
            "it: 'textures[1].argument' lies in or before the handle ahead of it");
  EXPECT_NE(fault([](InstanceInfo& i) { i.textures[2].argument = 25; }).find("more than 24"), std::string::npos);
  EXPECT_EQ(fault([](InstanceInfo& i) { i.textures[2].channels = 9; }),
            "it: 'textures[2].width' describes a texture that no GPU has");
  EXPECT_EQ(fault([](InstanceInfo& i) { i.textures[2].width = UINT64_MAX; }),
            "it: 'textures[2].width' goes beyond the last address");
}

TEST(Textures, KernelsSayWhereHandlesLie) {
  KernelInfo kernel;
  kernel.id = digest_of("kernel");
  kernel.argument_bytes = 24;
  EXPECT_EQ(write(kernel).find("handles"), std::string::npos);
  kernel.handles = {{-1, false}, {8, true}, {16, false}};
  EXPECT_EQ(parse_kernel(write(kernel), "it").handles, kernel.handles);
  kernel.handles = {{17, false}};
  EXPECT_NE(fault_of([&] { parse_kernel(write(kernel), "it"); }).find("more than 16"), std::string::npos);
}

}  // namespace
}  // namespace mneme::bundle
