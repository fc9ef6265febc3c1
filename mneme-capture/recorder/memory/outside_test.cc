// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/outside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "memory/arena.h"
#include "recorder/memory/mapped_memory.h"

namespace mneme::record {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSegment = memory::kDeviceBase + 4096;

class Missing : public ::testing::Test {
 protected:
  std::vector<std::string> of(uint64_t pointer, uint64_t in_structure = 0, uint64_t scalar = 0) {
    bundle::KernelInfo kernel;
    kernel.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 16, "struct", "%struct.S", {}}, {24, 8, "scalar", "i64", {}}};
    uint64_t words[] = {pointer, 0, in_structure, scalar};
    std::string bytes(sizeof words, '\0');
    std::memcpy(bytes.data(), words, sizeof words);
    return missing_of(kernel, bytes, segments_, outside_.list());
  }
  uint64_t own() const { return reinterpret_cast<uint64_t>(this); }

  Outside outside_;
  std::vector<WireSegment> segments_ = {{kSegment, 100, 0, {}, {}}};
};

TEST_F(Missing, WhatIsInSegmentsIsNot) {
  outside_.add(kSegment - 8, 200, "memory around the segment");
  EXPECT_THAT(of(0), IsEmpty());
  EXPECT_THAT(of(kSegment), IsEmpty());
  EXPECT_THAT(of(kSegment + 100), IsEmpty()) << "the end of an array";
  outside_.add(kSegment + 100, 50, "memory behind it");
  EXPECT_THAT(of(kSegment + 100), ElementsAre(HasSubstr("memory behind it")));
  outside_.remove(kSegment + 100);
  EXPECT_THAT(of(kSegment + 101), ElementsAre(HasSubstr("argument 0 points to 0x")));
  EXPECT_THAT(of(kSegment - 4), ElementsAre(HasSubstr("argument 0 points to 0x")));
}

TEST_F(Missing, ManySegmentsAlikeAreEachLookedAt) {
  outside_.add(own() - 640, 1000, "memory around them");
  // Around this object, as it happens: pieces of 8 bytes, 64 apart.
  segments_ = {{own() - 640, 8, 0, {}, {}, 0, 11, 64}};
  EXPECT_THAT(of(own()), IsEmpty()) << "the last of them";
  EXPECT_THAT(of(own() - 64 + 8), IsEmpty()) << "the end of the one before";
  EXPECT_THAT(of(own() + 9), ElementsAre(HasSubstr("argument 0 points to 0x"))) << "behind the last";
  EXPECT_THAT(of(own() - 64 + 9), ElementsAre(HasSubstr("argument 0 points to 0x"))) << "between two";
}

TEST_F(Missing, MemoryThatIsKnownToBeOutsideIsNamedWhereverItIsHeld) {
  outside_.add(0x300000000000, 64, "memory of a test's");
  outside_.add(own(), 8, "memory of another device");
  EXPECT_THAT(of(0x30000000003f), ElementsAre("argument 0 points to 0x30000000003f, memory of a test's"));
  EXPECT_THAT(of(0x300000000040), IsEmpty());
  EXPECT_THAT(of(own(), 0x300000000000),
              ElementsAre(HasSubstr("memory of another device"),
                          "argument 1, a structure, points to 0x300000000000, memory of a test's"));
  EXPECT_THAT(of(0, 0, 0x300000000000), IsEmpty()) << "a number is no pointer";
  outside_.remove_all_in(0x2fffffffffff, 2);
  EXPECT_THAT(of(0x300000000000), IsEmpty());
  outside_.remove(own());
  EXPECT_THAT(outside_.list(), IsEmpty());
}

TEST(MappedMemory, ProposesTheSamePlacesInEveryProcess) {
  MappedMemory first, second;
  for (uint64_t align : {0, 4096, 1 << 30}) {
    std::optional<uint64_t> place = first.propose(4 << 20, align);
    ASSERT_TRUE(place);
    EXPECT_EQ(place, second.propose(4 << 20, align));
    EXPECT_EQ(*place % std::max<uint64_t>(align, 2 << 20), 0u);
    EXPECT_LT(*place, memory::kDeviceBase);
  }
  uint64_t place = *first.propose(4 << 20, 0);
  first.release(place);
  EXPECT_EQ(first.propose(4 << 20, 0), place);
  EXPECT_EQ(first.propose(1, 3), std::nullopt) << "the runtime is to refuse it";
  EXPECT_EQ(first.propose(uint64_t{1} << 60, 0), std::nullopt);
  EXPECT_EQ(first.propose(0, 0), std::nullopt);
}

TEST(MappedMemory, KnowsWhatIsMappedTwice) {
  MappedMemory mapped;
  Fd one = memory_file("one"), other = memory_file("other");
  EXPECT_TRUE(mapped.add(0x1000, one.get()));
  EXPECT_TRUE(mapped.add(0x2000, other.get()));
  EXPECT_FALSE(mapped.add(0x3000, one.get()));
  mapped.remove(0x1000, 0x2000);
  EXPECT_FALSE(mapped.add(0x4000, one.get())) << "that at 0x3000 is left";
  mapped.remove(0, 0x5000);
  EXPECT_TRUE(mapped.add(0x1000, one.get()));
}

}  // namespace
}  // namespace mneme::record
