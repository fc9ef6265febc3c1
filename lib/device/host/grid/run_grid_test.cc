// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/file.h"
#include "codegen/host/abi.h"
#include "device/host/grid/workspace.h"
#include "device/host/launch.h"
#include "device/message_of.h"

namespace mneme::device::host {
namespace {

using bundle::Dim3;
using testing::HasSubstr;

const std::string kPlain = FIXTURES "/host_code_plain.so";
constexpr uint64_t kStaticShared = 256;  // kPlain's
const std::string kFaulty = FIXTURES "/host_code_faulty.so";

// As testdata/plain.cc has it.
struct Seen {
  unsigned group[3];
  unsigned grid[3];
  unsigned short block[3];
  unsigned work_items;
  unsigned dirty;
  unsigned misaligned;
  long sum;
};

template <typename T>
Bytes bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

struct Plain {
  Plain() : code(HostCode::load(kPlain, "plain")), table(2), second(1), calls(1, 99), first(1) {
    auto slots = code->globals();
    slots[0].address = table.data();
    slots[1].address = second.data();
    slots[2].address = calls.data();
    slots[3].address = first.data();
    for (auto& slot : slots) initialise_global(slot, slots);
  }
  std::vector<Seen> run(Dim3 grid, Dim3 block, uint32_t shared = 0) {
    std::vector<Seen> seen(grid.count());
    Seen* argument = seen.data();
    run_grid(*code, grid, block, shared, bytes(argument));
    return seen;
  }
  std::unique_ptr<HostCode> code;
  std::vector<long> table, second, calls, first;
};

TEST(RunGrid, ShowsEachBlockItsPlace) {
  Plain plain;
  Dim3 grid{5, 7, 3};
  auto seen = plain.run(grid, {32, 4, 2}, 1000);
  for (unsigned i = 0; i < grid.count(); ++i) {
    const Seen& s = seen[i];
    EXPECT_EQ((s.group[2] * grid.y + s.group[1]) * grid.x + s.group[0], i);
    EXPECT_THAT(s.grid, testing::ElementsAre(5, 7, 3));
    EXPECT_THAT(s.block, testing::ElementsAre(32, 4, 2));
    EXPECT_EQ(s.work_items, 5u * 32);
    EXPECT_EQ(s.dirty, 0u);
    EXPECT_EQ(s.misaligned, 0u);
    EXPECT_EQ(s.sum, 42);
  }
  EXPECT_EQ(plain.calls[0], 105);
}

TEST(RunGrid, SmallAndLargeGridsRunEachBlockOnce) {
  for (unsigned blocks : {1u, 2u, 1000u, 100000u}) {
    Plain plain;
    plain.run({blocks, 1, 1}, {64, 1, 1});
    EXPECT_EQ(plain.calls[0], blocks);
  }
}

TEST(RunGrid, RefusesLaunchesThatCannotBe) {
  Plain plain;
  auto message = [&](Dim3 grid, Dim3 block, uint32_t shared = 0) {
    return message_of([&] { run_grid(*plain.code, grid, block, shared, {}); });
  };
  EXPECT_THAT(message({0, 1, 1}, {1, 1, 1}), HasSubstr("kernel 'plain(Seen*)' cannot be launched with grid (0, 1, 1)"));
  EXPECT_THAT(message({1, 1, 1}, {1, 0, 1}), HasSubstr("no threads"));
  EXPECT_THAT(message({1, 1, 1}, {1025, 1, 1}), HasSubstr("at most 1024 threads a block"));
  EXPECT_THAT(message({1, 1, 1}, {33, 32, 1}), HasSubstr("at most 1024 threads a block"));
  EXPECT_THAT(message({1, 1, 1}, {1u << 31, 4, 1}), HasSubstr("at most 1024 threads a block"));
  EXPECT_THAT(message({1u << 22, 1, 1}, {1024, 1, 1}), HasSubstr("too many blocks"));
  EXPECT_THAT(message({1, 1, 1}, {1, 1, 1}, kMaxSharedBytes - kStaticShared + 1), HasSubstr("at most 262144"));
  EXPECT_THAT(message({1, 1, 1}, {1, 1, 1}, UINT32_MAX), HasSubstr("at most 262144"));
  EXPECT_EQ(plain.calls[0], 0);
  EXPECT_NO_THROW(plain.run({1, 1, 1}, {1024, 1, 1}, kMaxSharedBytes - kStaticShared));
}

// Where a device has less than replays may ask for.
TEST(RunGrid, RefusesMoreSharedMemoryThanTheDeviceHas) {
  Plain plain;
  constexpr uint64_t kMost = 64 << 10;
  auto launch = [&](uint32_t shared, uint64_t most) { check_launch(*plain.code, {1, 1, 1}, {1, 1, 1}, shared, most); };
  EXPECT_NO_THROW(launch(kMost - kStaticShared, kMost));
  EXPECT_THAT(message_of([&] { launch(kMost - kStaticShared + 1, kMost); }), HasSubstr("at most 65536"));
  EXPECT_THAT(message_of([&] { launch(0, kStaticShared - 1); }), HasSubstr("at most 255"));
}

// Which begins as zeros, whatever ran before.
TEST(RunGrid, GivesBlocksLargeAndSmallSharedMemory) {
  Plain plain;
  for (uint32_t shared : {200u << 10, 100u, 256u << 10, 65u << 10, 0u, 200u << 10}) {
    shared = std::min<uint32_t>(shared, kMaxSharedBytes - kStaticShared);
    for (const Seen& seen : plain.run({64, 1, 1}, {32, 1, 1}, shared)) {
      EXPECT_EQ(seen.dirty, 0u) << shared;
      EXPECT_EQ(seen.misaligned, 0u) << shared;
    }
  }
}

// Whether it can be read is the system's to say.
bool is_there(const void* address) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  Fd from(ends[0]), to(ends[1]);
  return ::write(to.get(), address, 1) == 1;
}

TEST(Workspace, HasSharedMemoryAsLargeAsIsAskedForAndLittleBeyond) {
  constexpr uint64_t kUsual = 64 << 10, kLarge = 200 << 10;
  Workspace workspace;
  auto* shared = static_cast<std::byte*>(workspace.shared(100));
  EXPECT_TRUE(is_there(shared + kUsual - 1));
  EXPECT_FALSE(is_there(shared + kUsual));
  EXPECT_FALSE(is_there(shared - 1));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(workspace.shared(kLarge), shared);
    std::memset(shared, 1, kLarge);
    EXPECT_FALSE(is_there(shared + kLarge));
    EXPECT_EQ(workspace.shared(kMaxSharedBytes), shared);
    std::memset(shared, 1, kMaxSharedBytes);
    EXPECT_FALSE(is_there(shared + kMaxSharedBytes));
    EXPECT_EQ(workspace.shared(100), shared);
    std::memset(shared, 1, kUsual);
    EXPECT_FALSE(is_there(shared + kUsual)) << "what reaches there is to fault again";
  }
}

TEST(Workspace, LowerHalvesOfSharedAddressesAreNoDistances) {
  std::vector<std::unique_ptr<Workspace>> many;
  for (int i = 0; i < 5000; ++i) {  // over several times four gigabytes
    many.push_back(std::make_unique<Workspace>());
    auto lower_half = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(many.back()->shared(1)));
    ASSERT_GE(lower_half, codegen::host::kLeastSharedAddress);
  }
}

std::string fault(unsigned fault, unsigned group = 3, unsigned blocks = 5000) {
  auto code = HostCode::load(kFaulty, "faulty");
  unsigned arguments[2] = {group, fault};
  return message_of([&] { run_grid(*code, {blocks, 1, 1}, {8, 4, 2}, 0, bytes(arguments)); });
}

TEST(RunGrid, NamesKernelBlockAndThreadOfAFault) {
  EXPECT_EQ(fault(0), "no error");
  EXPECT_THAT(fault(codegen::host::kFramesExhausted), HasSubstr("MiB for its threads' variables"));
  EXPECT_EQ(fault(77), "kernel 'faulty()', block (3, 0, 0): failed (fault 77) at thread (5, 0, 1)");
}

TEST(RunGrid, SurvivesTrapsAndWildPointers) {
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(fault(10, 4000),
              "kernel 'faulty()', block (4000, 0, 0): used address 0x1230, where it has no memory (SIGSEGV)");
    EXPECT_EQ(fault(11, 0, 1), "kernel 'faulty()', block (0, 0, 0): trapped (SIGILL)");
  }
}

TEST(RunGridDeathTest, LeavesOtherFaultsAlone) {
  fault(10);  // the handlers are in place
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(0x1230) = 1, "");
  EXPECT_DEATH(raise(SIGFPE), "");
}

TEST(HostCode, SaysWhatIsWrongWithTheCode) {
  EXPECT_THAT(message_of([] { HostCode::load("/nowhere.so", "k"); }), HasSubstr("cannot load the code of kernel 'k'"));
  EXPECT_THAT(message_of([] { HostCode::load(bytes_of("no object"), "k"); }), HasSubstr("kernel 'k'"));
  EXPECT_THAT(message_of([] { HostCode::load("libm.so.6", "k"); }), HasSubstr("lacks 'mneme_code_object'"));
}

TEST(HostCode, EachLoadFromBytesIsACopyOfItsOwn) {
  std::string file = read_file(kPlain);
  auto one = HostCode::load(bytes_of(file), "one"), two = HostCode::load(bytes_of(file), "two");
  EXPECT_NE(&one->object(), &two->object());
  one->globals()[0].address = file.data();
  EXPECT_EQ(two->globals()[0].address, nullptr);
}

TEST(HostCode, RelocationsAreChecked) {
  std::vector<long> memory(2);
  codegen::host::GlobalRelocation relocation{8, 0};
  codegen::host::GlobalSlot slot{"broken", 8, 8, memory.data(), &relocation, 1, memory.data()};
  EXPECT_THAT(message_of([&] { initialise_global(slot, {&slot, 1}); }), HasSubstr("'broken'"));
  relocation = {0, 1};
  EXPECT_THAT(message_of([&] { initialise_global(slot, {&slot, 1}); }), HasSubstr("'broken'"));
}

}  // namespace
}  // namespace mneme::device::host
