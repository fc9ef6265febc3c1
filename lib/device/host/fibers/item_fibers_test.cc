// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who of a block's work-items goes on, and what collectives give them.
#include "device/host/fibers/item_fibers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "device/host/grid/running_block.h"
#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

using namespace codegen::host;
using testing::Each;
using testing::ElementsAre;

// Runs `body(me)` for each of a block's work-items.
class Block {
 public:
  Block(uint32_t threads, uint32_t wave_size, std::function<void(Block&, uint32_t)> body) : body_(std::move(body)) {
    block_.block[0] = threads;
    block_.block[1] = block_.block[2] = 1;
    block_.services = &services();
    block_.launch = this;
    fibers_.run(block_, item, wave_size);
  }

  uint64_t converge(CollectiveKind collective, uint32_t point, uint64_t value = 0, uint64_t otherwise = 0,
                    uint32_t lane = 0) {
    return fibers_.converge(collective, point, value, otherwise, lane);
  }
  void enter(uint32_t point) { fibers_.enter(point); }
  void leave() { fibers_.leave(); }

 private:
  static void item(BlockContext* context, uint32_t x, uint32_t, uint32_t) {
    auto& self = *static_cast<Block*>(context->launch);
    self.body_(self, x);
  }

  std::function<void(Block&, uint32_t)> body_;
  RunningBlock block_ = {};
  ItemFibers fibers_;
};

TEST(ItemFibers, BallotsCountLanesThatAreThere) {
  std::vector<uint64_t> ballots(10);
  Block(10, 4, [&](Block& block, uint32_t me) {
    if (me == 1) return;
    ballots[me] = block.converge(kWaveBallot, 1, me != 2);
  });
  EXPECT_THAT(ballots, ElementsAre(9, 0, 9, 9, 15, 15, 15, 15, 3, 3));
}

TEST(ItemFibers, PermutesAmongLanesThatAreThere) {
  std::vector<uint64_t> got(8);
  Block(8, 8, [&](Block& block, uint32_t me) {
    if (me == 5) return;
    got[me] = block.converge(kWavePermute, 1, 10 + me, 100 + me, (me + 2) % 8);
  });
  EXPECT_THAT(got, ElementsAre(12, 13, 14, 103, 16, 0, 10, 11));
}

TEST(ItemFibers, TheFirstIsTheLowestLaneThere) {
  std::vector<uint64_t> got(6);
  Block(6, 4, [&](Block& block, uint32_t me) {
    if (me > 0) got[me] = block.converge(kWaveFirst, 1, 10 + me);
  });
  EXPECT_THAT(got, ElementsAre(0, 11, 11, 11, 14, 14));
}

// Lanes that part, and meet again behind: those at the lesser point go first.
TEST(ItemFibers, LesserPlacesGoFirst) {
  std::vector<uint64_t> inside(4), behind(4);
  Block(4, 4, [&](Block& block, uint32_t me) {
    for (uint32_t i = 0; i < me; ++i) inside[me] = block.converge(kWaveBallot, 1, 1);
    behind[me] = block.converge(kWaveBallot, 2, 1);
  });
  EXPECT_THAT(inside, ElementsAre(0, 14, 12, 8));
  EXPECT_THAT(behind, ElementsAre(15, 15, 15, 15));
}

TEST(ItemFibers, PlacesInCallsAreToldApart) {
  std::vector<uint64_t> in_calls(4), behind(4);
  Block(4, 4, [&](Block& block, uint32_t me) {
    uint32_t depth = me / 2 + 1;
    for (uint32_t i = 0; i < depth; ++i) block.enter(1);
    in_calls[me] = block.converge(kWaveBallot, 2, 1);
    for (uint32_t i = 0; i < depth; ++i) block.leave();
    behind[me] = block.converge(kWaveBallot, 3, 1);
  });
  EXPECT_THAT(in_calls, ElementsAre(3, 3, 12, 12));
  EXPECT_THAT(behind, ElementsAre(15, 15, 15, 15));
}

// A wave may be busy with itself for as long as it likes while others wait for the block.
TEST(ItemFibers, BarriersAreForTheBlock) {
  std::vector<uint32_t> order;
  Block(4, 2, [&](Block& block, uint32_t me) {
    for (uint32_t i = 0; i < me; ++i) block.converge(kWaveSync, 1);
    order.push_back(me);
    EXPECT_EQ(block.converge(kBlockCount, 2, me % 2), 2u);
    EXPECT_EQ(order.size(), 4u);
    EXPECT_EQ(block.converge(kBlockCount, 3, me > 0), 3u);
  });
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST(ItemFibers, ThoseThatYieldLetTheOthersGoOn) {
  std::vector<uint32_t> order;
  Block(6, 4, [&](Block& block, uint32_t me) {
    while (order.size() < 5 - me) block.converge(kYield, 1);
    order.push_back(me);
  });
  EXPECT_THAT(order, ElementsAre(5, 4, 3, 2, 1, 0));
}

// Lane 0 waits for another wave, and its own wave for lane 0.
TEST(ItemFibers, AWaveMeetsWhenItsLanesWaitNoMore) {
  bool set = false;
  std::vector<uint64_t> ballots(8);
  Block(8, 4, [&](Block& block, uint32_t me) {
    while (me == 0 && !set) block.converge(kYield, 1, 1);
    ballots[me] = block.converge(kWaveBallot, 2, 1);
    if (me == 7) set = true;
  });
  EXPECT_THAT(ballots, Each(15));
}

}  // namespace
}  // namespace mneme::device::host
