// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches of code that runs on fibers: its work-items, or its blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.h"
#include "device/host/launch.h"

namespace mneme::device::host {
namespace {

using testing::Each;
using testing::HasSubstr;

struct Ended {
  std::string error;
  std::vector<unsigned> numbers;  // one a block
  std::vector<std::string> warnings;
};

// `arguments` follow a pointer to an array with a number for each block.
Ended launch(const char* fixture, bundle::Dim3 grid, bundle::Dim3 block, std::array<unsigned, 2> arguments) {
  auto code = HostCode::load(std::string(FIXTURES "/host_code_") + fixture + ".so", fixture);
  Ended ended{"none", std::vector<unsigned>(grid.count()), {}};
  struct {
    unsigned* numbers;
    std::array<unsigned, 2> more;
  } bytes{ended.numbers.data(), arguments};
  RunOptions options;
  options.warn = [&](const std::string& sentence) { ended.warnings.push_back(sentence); };
  try {
    run_grid(*code, grid, block, 0, std::as_bytes(std::span(&bytes, 1)), options);
  } catch (const Error& error) {
    ended.error = error.what();
  }
  return ended;
}

enum What { kNothing, kEndlessRecursion, kWildPointer, kAbort, kEndsEarly };

Ended fibers(What what, unsigned threads = 256, unsigned blocks = 200) {
  return launch("fibers", {blocks, 1, 1}, {threads, 1, 1}, {what, 0});
}

TEST(WorkItemFibers, AllMeetAtBarriers) {
  for (unsigned threads : {1u, 63u, 64u, 65u, 1024u}) {
    Ended ended = fibers(kNothing, threads);
    EXPECT_EQ(ended.error, "none");
    EXPECT_THAT(ended.numbers, Each(threads));
    EXPECT_THAT(ended.warnings, testing::IsEmpty());
  }
}

// The fibers that a fault leaves behind do not disturb later launches.
TEST(WorkItemFibers, FaultsNameTheThreadAndLeaveTheNextLaunchAlone) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(fibers(kEndlessRecursion, 100).error,
                testing::MatchesRegex("kernel 'fibers\\(\\)', block \\([0-9]*[13579], 0, 0\\), thread \\(99, 0, 0\\): "
                                      "has used up its stack of 256 KiB"));
    EXPECT_THAT(fibers(kWildPointer, 100, 2).error,
                HasSubstr("block (1, 0, 0), thread (99, 0, 0): used address 0x1230"));
    EXPECT_THAT(fibers(kAbort, 100, 2).error, HasSubstr("block (1, 0, 0), thread (99, 0, 0): called abort()"));
    EXPECT_THAT(fibers(kNothing, 128).numbers, Each(128));
  }
}

TEST(WorkItemFibers, ThreadsThatEndedAreNotWaitedForButToldOf) {
  Ended ended = fibers(kEndsEarly, 128);
  EXPECT_EQ(ended.error, "none");
  ASSERT_EQ(ended.warnings.size(), 1u);
  EXPECT_THAT(ended.warnings[0], HasSubstr("thread (127, 0, 0) has ended before a barrier that 127 threads wait at"));
}

constexpr unsigned kNobody = ~0u;

TEST(ResidentGrid, BlocksWaitForEachOther) {
  for (unsigned blocks : {1u, 2u, 7u, 3000u}) {
    unsigned rounds = 5;
    Ended ended = launch("resident", {blocks, 1, 1}, {256, 1, 1}, {rounds, kNobody});
    EXPECT_EQ(ended.error, "none");
    for (unsigned i = 0; i < blocks; ++i) EXPECT_EQ(ended.numbers[i], (i + rounds) % blocks);
  }
}

TEST(ResidentGrid, AFaultEndsAllBlocks) {
  for (int i = 0; i < 3; ++i) {
    Ended ended = launch("resident", {50, 1, 1}, {256, 1, 1}, {3, 20});
    EXPECT_EQ(ended.error, "kernel 'resident()', block (20, 0, 0), thread (0, 0, 0): called abort()");
  }
  EXPECT_EQ(launch("resident", {50, 1, 1}, {256, 1, 1}, {3, kNobody}).error, "none");
}

TEST(ResidentGrid, RefusesMoreBlocksThanThereIsRoomFor) {
  auto code = HostCode::load(FIXTURES "/host_code_resident.so", "resident");
  auto most = static_cast<unsigned>(most_resident_blocks(*code, {256, 1, 1}));
  EXPECT_GE(most, 2000u);
  EXPECT_THAT(launch("resident", {most + 1, 1, 1}, {256, 1, 1}, {1, kNobody}).error,
              HasSubstr(fmt::format("its blocks wait for each other, at most {} at once", most)));
}

// However many there are: those that begin later wait for those before.
TEST(WaitingBlocks, GiveWayToThoseTheyWaitFor) {
  for (unsigned blocks : {1u, 2u, 100u, 20000u}) {
    Ended ended = launch("waiting", {blocks, 1, 1}, {256, 1, 1}, {0, kNobody});
    EXPECT_EQ(ended.error, "none");
    for (unsigned i = 0; i < blocks; ++i) ASSERT_EQ(ended.numbers[i], i + 1);
  }
}

// The first wait until the last have begun.
TEST(WaitingBlocks, AreThereTogetherIfTheyMustBe) {
  for (unsigned blocks : {2u, 100u, 1000u}) {
    Ended ended = launch("waiting", {blocks, 1, 1}, {256, 1, 1}, {1, kNobody});
    EXPECT_EQ(ended.error, "none");
    for (unsigned i = 0; i < blocks; ++i) ASSERT_EQ(ended.numbers[i], blocks - i);
  }
}

TEST(WaitingBlocks, AFaultEndsThoseThatWaitForIt) {
  Ended ended = launch("waiting", {500, 1, 1}, {256, 1, 1}, {0, 20});
  EXPECT_EQ(ended.error, "kernel 'waiting()', block (20, 0, 0), thread (0, 0, 0): called abort()");
}

// Whoever is told that they wait lets them go on.
TEST(WaitingBlocks, AreKnownToWaitForOthers) {
  auto code = HostCode::load(FIXTURES "/host_code_waiting.so", "waiting");
  for (unsigned blocks : {1u, 100u}) {
    std::vector<unsigned> numbers(1 + blocks);
    struct {
      unsigned* numbers;
      unsigned back, fault;
    } arguments{numbers.data() + 1, 2, kNobody};
    std::atomic<int> waiting = 0;
    RunOptions options;
    options.waiting = &waiting;
    std::jthread other([&](const std::stop_token& over) {
      while (waiting == 0 && !over.stop_requested()) std::this_thread::yield();
      EXPECT_EQ(waiting, 1);
      __atomic_store_n(&numbers[0], 7, __ATOMIC_RELEASE);
    });
    run_grid(*code, {blocks, 1, 1}, {256, 1, 1}, 0, std::as_bytes(std::span(&arguments, 1)), options);
    EXPECT_EQ(waiting, 0);
    for (unsigned i = 0; i < blocks; ++i) EXPECT_EQ(numbers[1 + i], 8 + i);
  }
}

}  // namespace
}  // namespace mneme::device::host
