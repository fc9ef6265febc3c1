// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "followed_pointers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "fake_memory.h"

namespace mneme::capture {
namespace {

using bundle::kBlockSize;
using bundle::Pointer;
using bundle::SegmentKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kBase = kFakeBase;
constexpr uint64_t kOwn = 0x7f0000001000, kOwnSize = 0x1000;  // the process's ordinary memory
constexpr uint64_t kPinned = kBase + 3 * kBlockSize;

// Two pieces of device memory, the second a variable, and one of pinned memory; a kernel with a pointer, a structure of
// three words and a number.
class Followed : public ::testing::Test {
 protected:
  Followed() {
    kernel_.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 24, "struct", "%s", {}}, {32, 8, "scalar", "i64", {}}};
    kernel_.argument_bytes = 40;
    launch_.arguments = std::string(40, '\0');
    launch_.ordinary = {{kOwn, kOwnSize}, {kOwn + 0x10000, 0x1000}};
  }

  void put(uint64_t address, uint64_t word) { memory_.put(address, word); }
  void pass(size_t offset, uint64_t word) { std::memcpy(&launch_.arguments[offset], &word, sizeof word); }
  FollowedPointers follow(std::vector<Pointer> pointers) {
    kernel_.pointers = std::move(pointers);
    return follow_pointers(kernel_, launch_, segments_, memory_.take(segments_));
  }
  std::vector<std::string> missing(std::vector<Pointer> pointers) { return follow(std::move(pointers)).missing; }

  const Pointer first_{{{-1, {}, 0, 0, {}}}};
  FakeMemory memory_{4};
  bundle::KernelInfo kernel_;
  record::Prologue launch_;
  std::vector<bundle::Segment> segments_ = {{kBase, 2 * kBlockSize, SegmentKind::kHeap, {}, {}},
                                            {kBase + 2 * kBlockSize, 64, SegmentKind::kGlobal, "table", {}},
                                            {kPinned, 64, SegmentKind::kHost, {}, {}}};
};

TEST_F(Followed, ArgumentsThatLeadOut) {
  EXPECT_THAT(missing({first_}), IsEmpty());
  pass(0, kOwn);
  EXPECT_THAT(missing({}), IsEmpty()) << "the kernel leaves it alone";
  EXPECT_THAT(missing({first_}), ElementsAre(HasSubstr("argument 0 points to 0x7f0000001000")));
  pass(0, kOwn + kOwnSize);
  EXPECT_THAT(missing({first_}), IsEmpty()) << "there is no memory";
  pass(0, kBase + 5);
  EXPECT_THAT(missing({first_}), IsEmpty());
  pass(32, kOwn + 8);
  EXPECT_THAT(missing({{{{-1, {}, 32, 0, {}}}}}), ElementsAre(HasSubstr("argument 2 points to 0x7f0000001008")));
}

TEST_F(Followed, WordsOfStructures) {
  pass(8, kOwn);
  EXPECT_THAT(missing({{{{-1, {}, 16, 0, {}}}}}), IsEmpty());
  EXPECT_THAT(missing({{{{-1, {}, 8, 0, {}}}}}), ElementsAre(HasSubstr("argument 1, a structure, points to")));
  EXPECT_THAT(missing({{{{-1, {}, 24, 16, {}}}}}), SizeIs(1)) << "any other word of it";
  EXPECT_THAT(missing({{{{-1, {}, 24, 24, {}}}}}), IsEmpty()) << "which its neighbours are not";
  pass(32, kOwn);
  EXPECT_THAT(missing({{{{-1, {}, 8, 8, {}}}}}), ElementsAre(HasSubstr("argument 1,"))) << "and no other argument";
}

TEST_F(Followed, WordsOfMemory) {
  const uint64_t at = kBase + kBlockSize - 4;  // across two blocks
  put(at, kOwn);
  pass(0, at - 16);
  EXPECT_THAT(missing({first_, {{{0, {}, 16, 0, {}}}}}), ElementsAre(HasSubstr("the memory at 0x40000000fffc holds")));
  EXPECT_THAT(missing({first_, {{{0, {}, 8, 0, {}}}}}), IsEmpty());
  EXPECT_THAT(missing({first_, {{{0, {}, 8, 24, {}}}}}), IsEmpty());
  EXPECT_THAT(missing({first_, {{{0, {}, 12, 4, {}}}}}), SizeIs(1));
  EXPECT_THAT(missing({first_, {{{0, {}, 36, 20, {}}}}}), SizeIs(1)) << "behind it and ahead";
  EXPECT_THAT(missing({first_, {{{0, {}, -24, 20, {}}}}}), SizeIs(1));
  pass(0, at + 100);
  EXPECT_THAT(missing({first_, {{{0, {}, -100, 0, {}}}}}), SizeIs(1));
  EXPECT_THAT(missing({first_, {{{0, {}, -100 - int64_t{kBlockSize}, 0, {}}}}}), IsEmpty()) << "ahead of the segment";
}

TEST_F(Followed, ArraysWithinStructures) {
  // Elements of 48 bytes, each with two arrays of two pointers, at 0 and at 24.
  const bundle::PointerPlace first{0, {}, 0, 48, {{8, 2}}}, second{0, {}, 24, 48, {{8, 2}}};
  put(kBase + 10 * 48 + 24 + 8, kOwn);
  pass(0, kBase);
  EXPECT_THAT(missing({first_, {{first}}}), IsEmpty());
  EXPECT_THAT(missing({first_, {{second}}}), SizeIs(1));
  EXPECT_THAT(missing({first_, {{{0, {}, 24, 0, {{48, 11}, {8, 2}}}}}}), SizeIs(1));
  EXPECT_THAT(missing({first_, {{{0, {}, 24, 0, {{48, 10}, {8, 2}}}}}}), IsEmpty()) << "there are not so many";
  EXPECT_THAT(missing({first_, {{{0, {}, 24, 0, {{8, uint64_t{1} << 60}}}}}}), SizeIs(1))
      << "as far as there is memory";
}

TEST_F(Followed, VariablesOfTheDevice) {
  put(kBase + 2 * kBlockSize + 56, kOwn);
  EXPECT_THAT(missing({{{{-1, "table", 56, 0, {}}}}}), SizeIs(1));
  EXPECT_THAT(missing({{{{-1, "table", 0, 8, {}}}}}), SizeIs(1));
  EXPECT_THAT(missing({{{{-1, "other", 0, 8, {}}}}}), IsEmpty());
  EXPECT_THAT(missing({{{{-1, "table", 60, 0, {}}}}}), IsEmpty()) << "the word ends behind it";
  launch_.device = 1;
  EXPECT_THAT(missing({{{{-1, "table", 56, 0, {}}}}}), IsEmpty()) << "another device's";
}

TEST_F(Followed, ListsToTheirEnds) {
  for (uint64_t i = 0; i < 1000; ++i) put(kBase + 16 * i + 8, kBase + 16 * (i + 1));
  pass(0, kBase);
  const std::vector<Pointer> list = {first_, {{{0, {}, 8, 0, {}}, {1, {}, 8, 0, {}}}}};
  EXPECT_THAT(missing(list), IsEmpty());
  put(kBase + 16 * 1000 + 8, kOwn);
  EXPECT_THAT(missing(list), SizeIs(1));
  put(kBase + 16 * 1000 + 8, kBase);
  EXPECT_THAT(missing(list), IsEmpty()) << "one that goes round ends, too";
}

TEST_F(Followed, EachMappingIsNamedOnce) {
  for (uint64_t i = 0; i < 8; ++i) put(kBase + 8 * i, (i < 6 ? kOwn : kOwn + 0x10000) + i);
  pass(0, kBase);
  EXPECT_THAT(missing({first_, {{{0, {}, 0, 8, {}}}}}), SizeIs(2));
}

TEST_F(Followed, WhatIsKnownToBeOutsideIsNamedElsewhere) {
  launch_.outside = {{kOwn, 64, "memory of another device"}};
  pass(0, kOwn);
  EXPECT_THAT(missing({first_}), IsEmpty());
}

TEST_F(Followed, WhatLeadsNowhereByItself) {
  pass(0, kBase);
  EXPECT_FALSE(follow({first_}).strays);
  pass(0, 0);
  EXPECT_FALSE(follow({first_}).strays);
  pass(0, kOwn);
  EXPECT_FALSE(follow({first_}).strays) << "it is named";
  pass(0, kOwn - (uint64_t{1} << 40));
  EXPECT_TRUE(follow({first_}).strays);
  EXPECT_THAT(missing({first_}), IsEmpty());
}

TEST_F(Followed, NumbersThatLeadFromOneMemoryToAnother) {
  pass(0, kBase);
  auto strays = [&](uint64_t number, const char* type = "i64") {
    pass(32, number);
    kernel_.arguments[2].type = type;
    return follow({first_}).strays;
  };
  EXPECT_TRUE(strays(kOwn - kBase));
  EXPECT_TRUE(strays(kBase - kOwn));
  EXPECT_TRUE(strays((kOwn - kBase) / 16)) << "elements";
  EXPECT_FALSE(strays(kBase + 8)) << "an address of recorded memory";
  EXPECT_FALSE(strays(1000));
  EXPECT_FALSE(strays(uint64_t{0} - 1000));
  EXPECT_FALSE(strays(kOwn - kBase, "double"));
  constexpr uint64_t kSeed = 0x9e3779b97f4a7c15;
  EXPECT_FALSE(strays(kSeed)) << "further than any address is from another";
  kernel_.arguments[1] = {8, 8, "scalar", "i64", {}};
  auto both = [&](uint64_t one, uint64_t other) {
    pass(8, one);
    return strays(other);
  };
  EXPECT_TRUE(both(kSeed + (kOwn - kBase), uint64_t{0} - kSeed));
  EXPECT_TRUE(both(kSeed, kSeed + (kOwn - kBase)));
  EXPECT_FALSE(both(kSeed, 2 * kSeed));
}

TEST_F(Followed, NumbersInStructuresAndInMemory) {
  auto number = [](const bundle::PointerPlace& place) { return Pointer{{place}, false, true}; };
  const Pointer of_structure = number({-1, {}, 16, 0, {}}), of_memory = number({0, {}, 8, 0, {}});
  pass(0, kBase);
  EXPECT_FALSE(follow({first_, of_structure, of_memory}).strays);
  pass(16, (kOwn - kBase) / 4);
  EXPECT_TRUE(follow({first_, of_structure}).strays);
  EXPECT_FALSE(follow({first_, of_memory}).strays);
  pass(16, kOwn);
  EXPECT_THAT(missing({first_, of_structure}), IsEmpty()) << "it is no pointer";
  put(kBase + 8, kBase - kOwn);
  EXPECT_TRUE(follow({first_, of_memory}).strays);
  put(kBase + 8, 0x9e3779b97f4a7c15);
  EXPECT_FALSE(follow({first_, of_memory}).strays) << "a seed";
  put(kBase + 8, 1000);
  EXPECT_FALSE(follow({first_, of_memory}).strays);
}

TEST_F(Followed, PollingHostMemory) {
  pass(0, kPinned);
  EXPECT_FALSE(follow({first_}).polls);
  EXPECT_TRUE(follow({{first_.at, true}}).polls);
  pass(0, kBase);
  EXPECT_FALSE(follow({{first_.at, true}}).polls) << "only kernels write there";
  put(kBase + 8, kPinned);
  EXPECT_TRUE(follow({first_, {{{0, {}, 8, 0, {}}}, true}}).polls);
}

}  // namespace
}  // namespace mneme::capture
