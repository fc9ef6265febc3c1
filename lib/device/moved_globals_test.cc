// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/moved_globals.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>

namespace mneme::device {
namespace {

using testing::ElementsAre;

constexpr uint64_t kBlock = bundle::kBlockSize;
constexpr uint64_t kBase = 0x400000000000;

std::vector<uint64_t> there(const Moves& moves, std::vector<uint64_t> words) {
  moves.there(std::as_writable_bytes(std::span(words)));
  return words;
}

std::vector<uint64_t> back(const Moves& moves, std::vector<uint64_t> words) {
  moves.back(std::as_writable_bytes(std::span(words)));
  return words;
}

TEST(Moves, TranslatesPointersIntoWhatMoved) {
  Moves moves({{0x2000, 16, 0x9000}, {0x1000, 8, 0x9100}});
  EXPECT_THAT(there(moves, {0x1000, 0x1007, 0x2000, 0x2009, 0x1800, 7}),
              ElementsAre(0x9100, 0x9107, 0x9000, 0x9009, 0x1800, 7));
  EXPECT_THAT(back(moves, {0x9100, 0x9107, 0x9000, 0x9009, 0x1800, 7}),
              ElementsAre(0x1000, 0x1007, 0x2000, 0x2009, 0x1800, 7));
}

TEST(Moves, TheAddressBehindBelongsToItUnlessTheNextBeginsThere) {
  Moves moves({{0x1000, 8, 0x9000}, {0x1008, 8, 0x8000}});
  EXPECT_THAT(there(moves, {0x1008, 0x1010, 0x1011}), ElementsAre(0x8000, 0x8008, 0x1011));
  EXPECT_THAT(back(moves, {0x8008, 0x9008}), ElementsAre(0x1010, 0x1008));
}

TEST(Moves, NothingPointsIntoFunctions) {
  Moves moves({{0x1000, 0, 0x9000}, {0x1010, 0, 0x8ff0}});
  EXPECT_THAT(there(moves, {0x1000, 0x1001, 0x1010, 0x1011}), ElementsAre(0x9000, 0x1001, 0x8ff0, 0x1011));
  EXPECT_THAT(back(moves, {0x9000, 0x9001, 0x8ff0}), ElementsAre(0x1000, 0x9001, 0x1010));
}

TEST(Moves, NothingMovedIsNothingTranslated) {
  EXPECT_THAT(there(Moves({}), {0, ~uint64_t{0}}), ElementsAre(0, ~uint64_t{0}));
}

// Memory by address, and what the last launch was.
class FakeDevice : public Device {
 public:
  std::string name() const override { return "fake"; }
  std::string clock() const override { return "sundial"; }
  bool runs_in_this_process() const override { return true; }
  void map(uint64_t address, uint64_t size) override {
    for (uint64_t at = 0; at < size; at++) memory[address + at] = std::byte{0};
  }
  void write(uint64_t address, Bytes bytes) override {
    for (std::byte byte : bytes) memory.at(address++) = byte;
  }
  void read(uint64_t address, std::span<std::byte> out) override {
    for (std::byte& byte : out) byte = memory.at(address++);
  }
  std::unique_ptr<Code> load(const bundle::KernelInfo&, Bytes) override { return std::make_unique<Code>(); }
  uint64_t execute(Code&, const Launch& given) override {
    launch = given;
    return 1;
  }
  uint64_t word(uint64_t address) {
    uint64_t value;
    read(address, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

  std::map<uint64_t, std::byte> memory;
  Launch launch;
};

// A heap allocation, a variable that holds its own address and the heap's, and behind a gap one that crosses blocks.
struct MovedGlobals : testing::Test {
  FakeDevice* inner = new FakeDevice;
  std::vector<bundle::Segment> segments = {
      {kBase, 256, bundle::SegmentKind::kHeap, "", ""},
      {kBase + 256, 64, bundle::SegmentKind::kGlobal, "holder", ""},
      {kBase + kBlock - 64, 128, bundle::SegmentKind::kGlobal, "across", ""},
  };
  std::unique_ptr<Device> below{inner};
  std::unique_ptr<Device> device = move_globals(*below, segments);
  std::vector<uint64_t> words = std::vector<uint64_t>(2 * kBlock / 8);

  void SetUp() override {
    words[0] = kBase + 256 + 8;           // the heap holds the variable's address
    words[256 / 8] = kBase + 256;         // which holds its own,
    words[256 / 8 + 1] = kBase;           // the heap's,
    words[256 / 8 + 2] = kBase + kBlock;  // and the other's, into its second block
    words[(kBlock - 64) / 8] = 1, words[kBlock / 8 + 7] = 2;
    device->map(kBase, 2 * kBlock);
    device->write(kBase, std::as_bytes(std::span(words)));
  }

  uint64_t place(const std::string& symbol) {
    device->execute(*device->load({}, {}), {{}, {}, 0, "", segments});
    for (const bundle::Segment& segment : inner->launch.segments) {
      if (segment.symbol == symbol) return segment.address;
    }
    return 0;
  }
};

TEST_F(MovedGlobals, AreElsewhereWithWhatPointsToThem) {
  uint64_t holder = place("holder"), across = place("across");
  ASSERT_NE(holder, kBase + 256);
  ASSERT_NE(across, kBase + kBlock - 64);
  EXPECT_EQ(inner->word(kBase), holder + 8);
  EXPECT_EQ(inner->word(holder), holder);
  EXPECT_EQ(inner->word(holder + 8), kBase) << "the heap is where it was";
  EXPECT_EQ(inner->word(holder + 16), across + 64);
  EXPECT_EQ(inner->word(across), 1u);
  EXPECT_EQ(inner->word(across + 120), 2u);
}

TEST_F(MovedGlobals, NothingRightIsWhereTheyWere) {
  EXPECT_EQ(inner->word(kBase + 256), 0xCBCBCBCBCBCBCBCB);
  EXPECT_EQ(inner->word(kBase + kBlock + 56), 0xCBCBCBCBCBCBCBCB);
}

TEST_F(MovedGlobals, ArraysOfTexturesStay) {
  segments[1].symbol = bundle::kArraySymbol + std::string("0");
  auto* other = new FakeDevice;
  std::unique_ptr<Device> under{other}, moving = move_globals(*under, segments);
  moving->execute(*moving->load({}, {}), {{}, {}, 0, "", segments});
  auto found = std::ranges::find(other->launch.segments, segments[1].symbol, &bundle::Segment::symbol);
  EXPECT_EQ(found->address, kBase + 256);
}

TEST_F(MovedGlobals, ReadAsTheyWereRecorded) {
  std::vector<uint64_t> read(words.size());
  device->read(kBase, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read, words);
}

TEST_F(MovedGlobals, ArgumentsPointToThem) {
  uint64_t pointers[2] = {kBase + 8, kBase + 256 + 24};
  device->execute(*device->load({}, {}), {{}, {}, 0, std::string(reinterpret_cast<char*>(pointers), 16), segments});
  std::memcpy(pointers, inner->launch.arguments.data(), 16);
  EXPECT_EQ(pointers[0], kBase + 8);
  EXPECT_EQ(pointers[1], place("holder") + 24);
  EXPECT_TRUE(std::ranges::is_sorted(inner->launch.segments, {}, &bundle::Segment::address));
}

}  // namespace
}  // namespace mneme::device
