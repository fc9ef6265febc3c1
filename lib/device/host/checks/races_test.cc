// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/races.h"

#include <gmock/gmock.h>

#include <cstring>

#include "bundle/checks.h"
#include "device/host/checks/findings.h"
#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

using codegen::host::kReads;
using codegen::host::kTrackedAtomic;
using codegen::host::kTrackedBlock;
using codegen::host::kTrackedRelease;
using codegen::host::kTrackedValue;
using codegen::host::kTrackedVolatile;
using codegen::host::kUpdates;
using codegen::host::kWrites;
using codegen::host::Site;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kThreads = 128, kWave = 32;
constexpr Site kRead{"a.hip:1", kReads}, kWrite{"a.hip:2", kWrites},
    kUpdate{"a.hip:3", uint32_t{kUpdates} | kTrackedAtomic};
constexpr Site kValue{"a.hip:4", uint32_t{kWrites} | kTrackedValue};
constexpr Site kWatch{"a.hip:5", uint32_t{kReads} | kTrackedVolatile},
    kSignal{"a.hip:6", uint32_t{kWrites} | kTrackedVolatile};
constexpr Site kBlockUpdate{"a.hip:7", uint32_t{kUpdates} | kTrackedAtomic | kTrackedBlock};
constexpr Site kReleases{"a.hip:8", uint32_t{kWrites} | kTrackedAtomic | kTrackedRelease};
constexpr Site kAcquires{"a.hip:9", uint32_t{kReads} | kTrackedAtomic};

// A launch of four blocks with a piece of device memory and shared memory, as a kernel's code would tell of it.
class RacesTest : public testing::Test {
 protected:
  RacesTest() { begin(); }

  void begin(uint32_t checks = codegen::host::kCheckRaces) {
    code_.checks = checks;
    code_.wave_size = kWave;
    known_ = {{reinterpret_cast<uint64_t>(memory_.data()), sizeof memory_, "an allocation"}};
    options_.memory = known_;
    options_.findings = &findings_;
    const uint32_t shared = sizeof shared_;
    std::memcpy(dispatch_ + 28, &shared, sizeof shared);
    for (uint32_t i = 0; i < 4; ++i) {
      codegen::host::BlockContext& block = blocks_[i];
      block = {};
      block.dispatch = dispatch_;
      block.shared = shared_.data();
      block.group[0] = i;
      std::ranges::copy(std::array{kThreads, 1u, 1u}, block.block);
      std::ranges::copy(std::array{4u, 1u, 1u}, block.grid);
      block.launch = &state_;
    }
    races_.emplace(options_, code_);
  }

  void access(uint32_t block, uint32_t thread, const Site& site, const void* at, uint64_t size = 4,
              uint64_t value = 0) {
    races_->access(blocks_[block], thread, reinterpret_cast<uint64_t>(at), size, value, site);
  }
  void fence(uint32_t block, uint32_t thread, bool of_block = false) {
    races_->synchronise(blocks_[block], thread,
                        of_block ? codegen::host::kTrackedBlockFence : codegen::host::kTrackedFence);
  }
  void barrier(uint32_t block, codegen::host::TrackedSync kind = codegen::host::kTrackedBarrier) {
    for (uint32_t i = 0; i < kThreads; ++i) races_->synchronise(blocks_[block], i, kind);
  }
  void converge(uint32_t block, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last; ++i) races_->synchronise(blocks_[block], i, codegen::host::kTrackedWave);
  }
  // Those there are, and none from now on.
  std::vector<std::string> kinds() {
    std::vector<std::string> kinds;
    for (const bundle::Finding& finding : findings_.list()) kinds.push_back(finding.kind);
    return kinds;
  }

  std::array<uint32_t, 4096> memory_ = {};
  alignas(128) std::array<uint32_t, 256> shared_ = {};
  std::byte dispatch_[64] = {};
  codegen::host::CodeObject code_ = {};
  codegen::host::BlockContext blocks_[4];
  std::vector<KnownMemory> known_;
  Findings findings_;
  RunOptions options_;
  ServiceState state_{options_, "sum(int*)"};
  std::optional<Races> races_;
};

TEST_F(RacesTest, AreFoundFromBothSides) {
  access(0, 0, kWrite, &shared_[1]);
  access(0, 40, kRead, &shared_[1]);
  ASSERT_THAT(kinds(), ElementsAre("write-read"));
  const bundle::Finding found = findings_.list()[0];
  EXPECT_THAT(found.sentence, HasSubstr("kernel 'sum(int*)', block (0, 0, 0), thread (40, 0, 0): reads 4 bytes at "));
  EXPECT_THAT(found.sentence, HasSubstr("byte 4 of the block's 1024 of shared memory, at a.hip:1, unordered with block "
                                        "(0, 0, 0), thread (0, 0, 0), which writes there at a.hip:2"));
  EXPECT_EQ(found.line, "a.hip:1");
  EXPECT_EQ(found.other, "a.hip:2");
  EXPECT_FALSE(found.lesser);
  access(0, 1, kRead, &shared_[2]);
  access(0, 50, kWrite, &shared_[2]);
  EXPECT_THAT(kinds(), ElementsAre("write-read")) << "the same pair of lines";
}

TEST_F(RacesTest, BarriersOrder) {
  for (uint32_t i = 0; i < kThreads; ++i) access(0, i, kWrite, &shared_[i]);
  barrier(0);
  for (uint32_t i = 0; i < kThreads; ++i) access(0, i, kRead, &shared_[kThreads - 1 - i]);
  barrier(0);
  for (uint32_t i = 0; i < kThreads; ++i) access(0, i, kWrite, &shared_[i]);
  EXPECT_THAT(kinds(), IsEmpty());
  access(0, 3, kRead, &shared_[100]);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
}

TEST_F(RacesTest, SharedMemoryIsAnothersInAnotherBlock) {
  access(0, 0, kWrite, &shared_[0]);
  access(1, 1, kRead, &shared_[0]);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(RacesTest, BlocksHaveNoOrder) {
  access(0, 0, kWrite, &memory_[0]);
  barrier(0);
  barrier(1);
  access(1, 0, kRead, &memory_[0]);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
}

TEST_F(RacesTest, ReadersOfManyBlocksAreRemembered) {
  for (uint32_t block = 0; block < 3; ++block) {
    for (uint32_t i = 0; i < kThreads; ++i) access(block, i, kRead, &memory_[7]);
  }
  access(2, 5, kWrite, &memory_[7]);
  EXPECT_THAT(kinds(), ElementsAre("read-write"));
}

TEST_F(RacesTest, BarriersOfTheGridOrderBlocks) {
  access(0, 0, kWrite, &memory_[0]);
  for (uint32_t block = 0; block < 4; ++block) barrier(block, codegen::host::kTrackedGridBarrier);
  access(1, 0, kRead, &memory_[0]);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(RacesTest, CollectivesOrderTheLanesThatCome) {
  access(0, 0, kWrite, &shared_[0]);
  converge(0, 0, kWave);
  access(0, 1, kRead, &shared_[0]);
  EXPECT_THAT(kinds(), IsEmpty());
  access(0, 2, kWrite, &shared_[9]);
  converge(0, 3, kWave);
  access(0, 3, kRead, &shared_[9]);
  EXPECT_THAT(kinds(), ElementsAre(bundle::kWarpSynchronous));
  EXPECT_TRUE(findings_.list()[0].lesser);
}

TEST_F(RacesTest, FencesOrderLanesThatAreInStep) {
  begin(codegen::host::kCheckRaces | codegen::host::kInStep);
  access(0, 0, kWrite, &shared_[0]);
  for (uint32_t i = 0; i < kWave; ++i) fence(0, i, true);
  access(0, 1, kRead, &shared_[0]);
  EXPECT_THAT(kinds(), IsEmpty());
  access(0, kWave, kRead, &shared_[0]);
  EXPECT_THAT(kinds(), ElementsAre("write-read")) << "of another wave";
}

TEST_F(RacesTest, EqualValuesAreLesser) {
  memory_[3] = 7;
  access(0, 0, kValue, &memory_[3], 4, 7);
  access(1, 0, kValue, &memory_[3], 4, 7);
  ASSERT_THAT(kinds(), ElementsAre("equal-values"));
  EXPECT_TRUE(findings_.list()[0].lesser);
  access(2, 0, kValue, &memory_[3], 4, 8);
  EXPECT_THAT(kinds(), ElementsAre("write-write", "equal-values"));
}

TEST_F(RacesTest, BytesOfAWordAreTold) {
  auto* bytes = reinterpret_cast<char*>(shared_.data());
  for (uint32_t i = 0; i < 64; ++i) access(0, i, kWrite, bytes + i, 1);
  access(0, 40, kRead, bytes + 40, 1);
  EXPECT_THAT(kinds(), IsEmpty());
  access(0, 70, kRead, bytes + 6, 4);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
  barrier(0);
  for (uint32_t i = 0; i < 16; ++i) access(0, i, kWrite, bytes + 4 * i, 4);
  access(0, 0, kRead, bytes + 1, 1);
  EXPECT_EQ(kinds().size(), 1u);
}

TEST_F(RacesTest, AtomicOperationsDoNotRaceWithEachOther) {
  for (uint32_t block = 0; block < 4; ++block) {
    for (uint32_t i = 0; i < kThreads; ++i) access(block, i, kUpdate, &memory_[0]);
  }
  EXPECT_THAT(kinds(), IsEmpty());
  access(3, 0, kRead, &memory_[0]);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
}

TEST_F(RacesTest, AnAtomicOperationHasSeenThoseBefore) {
  for (uint32_t block = 0; block < 4; ++block) access(block, 0, kUpdate, &memory_[0]);
  access(3, 0, kWrite, &memory_[0]);
  EXPECT_THAT(kinds(), IsEmpty());
  for (uint32_t block = 0; block < 4; ++block) access(block, 0, kUpdate, &memory_[1]);
  access(2, 0, kWrite, &memory_[1]);
  EXPECT_THAT(kinds(), ElementsAre("write-write"));
}

TEST_F(RacesTest, ScopesOfAtomicOperationsCount) {
  access(0, 0, kBlockUpdate, &memory_[0]);
  access(0, 64, kBlockUpdate, &memory_[0]);
  EXPECT_THAT(kinds(), IsEmpty());
  access(1, 0, kUpdate, &memory_[0]);
  EXPECT_EQ(kinds().size(), 1u);
}

TEST_F(RacesTest, FencesReleaseWhatTheBlockDidBefore) {
  access(0, 5, kWrite, &memory_[5]);
  barrier(0);
  access(0, 0, kWrite, &memory_[6]);
  fence(0, 0);
  access(0, 0, kUpdate, &memory_[100]);
  access(1, 0, kUpdate, &memory_[100]);
  barrier(1);
  access(1, 9, kRead, &memory_[5]);
  access(1, 9, kRead, &memory_[6]);
  EXPECT_THAT(kinds(), IsEmpty());
  access(2, 0, kRead, &memory_[5]);
  EXPECT_THAT(kinds(), ElementsAre("write-read")) << "it has not looked";
}

TEST_F(RacesTest, BarriersCarryTheFencesOfAll) {
  for (uint32_t i = 0; i < kThreads; ++i) {
    access(0, i, kWrite, &memory_[i]);
    fence(0, i);
  }
  barrier(0);
  access(0, 0, kUpdate, &memory_[1000]);
  access(1, 0, kUpdate, &memory_[1000]);
  for (uint32_t i = 0; i < kThreads; ++i) access(1, 0, kRead, &memory_[i]);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(RacesTest, NothingIsReleasedWithoutAFence) {
  access(0, 0, kWrite, &memory_[6]);
  access(0, 0, kUpdate, &memory_[100]);
  access(1, 0, kUpdate, &memory_[100]);
  access(1, 0, kRead, &memory_[6]);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
}

TEST_F(RacesTest, NothingIsReleasedThatComesBehindTheFence) {
  fence(0, 0);
  access(0, 0, kWrite, &memory_[6]);
  access(0, 0, kUpdate, &memory_[100]);
  access(1, 0, kUpdate, &memory_[100]);
  access(1, 0, kRead, &memory_[6]);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
}

TEST_F(RacesTest, FencesOfABlockReleaseForItOnly) {
  access(0, 0, kWrite, &memory_[6]);
  fence(0, 0, true);
  access(0, 0, kSignal, &memory_[100]);
  access(0, 64, kWatch, &memory_[100]);
  access(0, 64, kRead, &memory_[6]);
  EXPECT_THAT(kinds(), IsEmpty());
  access(1, 0, kWatch, &memory_[100]);
  access(1, 0, kRead, &memory_[6]);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
}

TEST_F(RacesTest, WhatIsKnownIsPassedOn) {
  for (uint32_t block = 0; block < 4; ++block) {
    if (block > 0) access(block, 0, kAcquires, &memory_[100 + block - 1]);
    access(block, 0, kRead, &memory_[0]);
    access(block, 0, kWrite, &memory_[0]);
    access(block, 0, kReleases, &memory_[100 + block]);
  }
  access(3, 0, kRead, &memory_[0]);
  EXPECT_THAT(kinds(), IsEmpty());
  access(0, 0, kRead, &memory_[0]);
  EXPECT_THAT(kinds(), ElementsAre("write-read"));
}

TEST_F(RacesTest, OtherMemoryIsTheWorkItemsOwn) {
  uint32_t local = 0;
  access(0, 0, kWrite, &local);
  access(1, 0, kWrite, &local);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(RacesTest, AllocatedMemoryHasNoPast) {
  access(0, 0, kWrite, &memory_[50]);
  races_->forget(reinterpret_cast<uint64_t>(&memory_[50]), 16);
  access(1, 0, kWrite, &memory_[50]);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST(History, SharesRecords) {
  History history;
  Record record;
  record.site = &kRead;
  const Tag tag = history.tag(record, 5);
  EXPECT_EQ(history.tag(record, 5), tag);
  EXPECT_EQ(History::thread_of(history.tag(record, 6)), 6u);
  for (uint32_t i = 0; i < 10000; ++i) {
    record.epoch = i;
    EXPECT_EQ(history.of(history.tag(record, i % 1024)).epoch, i);
  }
  record.epoch = 0;
  EXPECT_EQ(history.tag(record, 5), tag);
}

TEST(Findings, AreBoundedAndCounted) {
  Findings findings;
  static const Site sites[200] = {};
  for (int round = 0; round < 2; ++round) {
    for (const Site& site : sites) findings.note({"races", "write-read", &site}, [](bundle::Finding&) {});
  }
  const std::vector<bundle::Finding> list = findings.list();
  EXPECT_EQ(list.size(), Findings::kMost);
  EXPECT_EQ(list[0].count, 2u);
  EXPECT_EQ(list.back().count, 202u);
}

}  // namespace
}  // namespace mneme::device::host
