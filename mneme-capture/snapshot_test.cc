// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "snapshot.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"

namespace mneme::capture {
namespace {

using bundle::kBlockSize;
using bundle::Segment;

constexpr uint64_t kBase = 0x400000000000;
const auto kPool = std::make_shared<bundle::BlockPool>(UINT64_MAX);

// One piece of memory, given out at most `piece` bytes at a time.
class FakeMemory final : public MemoryView {
 public:
  explicit FakeMemory(uint64_t size) : bytes(size, 'x') {}
  Bytes at(uint64_t address, uint64_t size, std::byte*) const override {
    if (address < kBase || address - kBase >= bytes.size()) return {};
    uint64_t offset = address - kBase;
    return std::as_bytes(std::span(bytes)).subspan(offset, std::min({size, bytes.size() - offset, piece}));
  }
  bool untouched(uint64_t address, uint64_t) const override { return address == untouched_block; }

  std::optional<Digest> known(uint64_t block) const override {
    auto found = told.find(block);
    return found == told.end() ? std::nullopt : std::optional(found->second);
  }

  bool unwritten(uint64_t block) const override { return unwritten_blocks.contains(block); }

  std::optional<record::Piece> distant(uint64_t address, uint64_t size) const override {
    if (address < far_from || address - kBase >= bytes.size()) return std::nullopt;
    uint64_t end = far_break > address ? std::min(far_break, kBase + bytes.size()) : kBase + bytes.size();
    return record::Piece{address, std::min(size, end - address), 0};
  }
  void fetch(const Fetching::Next& next, const Fetching::Take& take) const override {
    std::deque<std::string> loads;
    for (bool more = true; more || !loads.empty();) {
      std::string load;
      for (const record::Piece& piece : more ? next() : Fetching::Load{}) {
        load += bytes.substr(piece.address - kBase, piece.size);
        ++pieces;
      }
      EXPECT_LE(load.size(), Fetching::kRoom);
      fetched += load.size();
      more = !load.empty();
      if (more) loads.push_back(std::move(load));
      if (more && loads.size() < 2) continue;
      if (loads.empty()) break;
      take(bytes_of(loads.front()).data());
      loads.pop_front();
    }
  }

  std::string bytes;
  std::map<uint64_t, Digest> told;
  uint64_t far_from = UINT64_MAX;  // what lies from here on has to be fetched
  uint64_t far_break = 0;          // two pieces of memory meet here
  mutable uint64_t pieces = 0, fetched = 0;
  uint64_t piece = UINT64_MAX;
  uint64_t untouched_block = 0;
  std::set<uint64_t> unwritten_blocks;
};

Segment segment(uint64_t offset, uint64_t size) { return {kBase + offset, size, bundle::SegmentKind::kHeap, {}, {}}; }

std::string text(Bytes bytes) { return std::string(text_of(bytes)); }

TEST(Snapshot, TakesWholeBlocks) {
  FakeMemory memory(3 * kBlockSize);
  Snapshot snapshot = Snapshot::take({segment(0, 3 * kBlockSize)}, memory, nullptr, kPool);
  ASSERT_EQ(snapshot.state().blocks.size(), 3u);
  EXPECT_EQ(snapshot.state().blocks[1].address, kBase + kBlockSize);
  EXPECT_EQ(snapshot.state().blocks[1].digest, digest_of(std::string(kBlockSize, 'x')));
  EXPECT_EQ(text(snapshot.block(kBase + 2 * kBlockSize)), std::string(kBlockSize, 'x'));
  EXPECT_THROW(snapshot.block(kBase + 3 * kBlockSize), Error);
}

TEST(Snapshot, BytesOutsideSegmentsAreZeros) {
  FakeMemory memory(2 * kBlockSize);
  Snapshot snapshot = Snapshot::take({segment(100, 50), segment(200, kBlockSize)}, memory, nullptr, kPool);
  ASSERT_EQ(snapshot.state().blocks.size(), 2u);
  std::string first(kBlockSize, '\0');
  first.replace(100, 50, 50, 'x');
  first.replace(200, kBlockSize - 200, kBlockSize - 200, 'x');
  EXPECT_EQ(text(snapshot.block(kBase)), first);
  EXPECT_EQ(snapshot.state().blocks[0].digest, digest_of(first));
  std::string second(kBlockSize, '\0');
  second.replace(0, 200, 200, 'x');
  EXPECT_EQ(text(snapshot.block(kBase + kBlockSize)), second);
}

TEST(Snapshot, PutsBlocksTogetherFromPieces) {
  FakeMemory memory(kBlockSize);
  for (size_t i = 0; i < kBlockSize; ++i) memory.bytes[i] = static_cast<char>(i * 7);
  memory.piece = 1000;
  Snapshot snapshot = Snapshot::take({segment(0, kBlockSize)}, memory, nullptr, kPool);
  EXPECT_EQ(text(snapshot.block(kBase)), memory.bytes);
}

TEST(Snapshot, KeepsWhatTheMemoryWas) {
  FakeMemory memory(2 * kBlockSize);
  Snapshot before = Snapshot::take({segment(0, 2 * kBlockSize)}, memory, nullptr, kPool);
  memory.bytes[kBlockSize + 5] = 'y';
  Snapshot after = Snapshot::take({segment(0, 2 * kBlockSize)}, memory, &before, kPool);
  EXPECT_EQ(before.state().blocks[0].digest, after.state().blocks[0].digest);
  EXPECT_EQ(before.block(kBase).data(), after.block(kBase).data()) << "an unchanged block is shared";
  EXPECT_NE(before.state().blocks[1].digest, after.state().blocks[1].digest);
  EXPECT_EQ(text(before.block(kBase + kBlockSize)), std::string(kBlockSize, 'x'));
  EXPECT_EQ(text(after.block(kBase + kBlockSize))[5], 'y');
  EXPECT_EQ(digest_of(after.block(kBase + kBlockSize)), after.state().blocks[1].digest);
}

TEST(Snapshot, CopiesOnlyWhatIsNew) {
  FakeMemory memory(10 * kBlockSize);
  memory.bytes.replace(0, kBlockSize, kBlockSize, '\0');
  auto pool = std::make_shared<bundle::BlockPool>(UINT64_MAX);
  {
    Snapshot before = Snapshot::take({segment(0, 10 * kBlockSize)}, memory, nullptr, pool);
    EXPECT_EQ(before.copied_bytes(), 9 * kBlockSize) << "zeros take no memory";
    memory.bytes[5 * kBlockSize] = 'y';
    Snapshot after = Snapshot::take({segment(0, 10 * kBlockSize)}, memory, &before, pool);
    EXPECT_EQ(after.copied_bytes(), kBlockSize);
    EXPECT_EQ(pool->idle_bytes(), 0u);
  }
  EXPECT_EQ(pool->idle_bytes(), 10 * kBlockSize) << "they gave their memory back";
}

TEST(Snapshot, PiecesThatTouchAreReadAtOnce) {
  FakeMemory memory(2 * kBlockSize);
  for (size_t i = 0; i < memory.bytes.size(); ++i) memory.bytes[i] = static_cast<char>(i % 251);
  std::vector<Segment> small;
  for (uint64_t at = 0; at < 2 * kBlockSize; at += 256) small.push_back(segment(at, at % 1024 ? 256 : 200));
  Snapshot snapshot = Snapshot::take(small, memory, nullptr, kPool);
  std::string expected = memory.bytes;
  for (size_t at = 0; at < expected.size(); at += 1024) expected.replace(at + 200, 56, 56, '\0');
  EXPECT_EQ(text(snapshot.block(kBase)) + text(snapshot.block(kBase + kBlockSize)), expected);
  EXPECT_EQ(snapshot.state().blocks[1].digest, digest_of(snapshot.block(kBase + kBlockSize)));
}

TEST(Snapshot, ZerosAreTheZeroBlock) {
  FakeMemory memory(2 * kBlockSize);
  std::fill_n(memory.bytes.begin(), kBlockSize, '\0');
  memory.untouched_block = kBase + kBlockSize;
  Snapshot snapshot = Snapshot::take({segment(0, 2 * kBlockSize)}, memory, nullptr, kPool);
  EXPECT_EQ(snapshot.state().blocks[0].digest, bundle::zero_block_digest());
  EXPECT_EQ(snapshot.state().blocks[1].digest, bundle::zero_block_digest()) << "untouched memory is not read";
  EXPECT_EQ(text(snapshot.block(kBase)), std::string(kBlockSize, '\0'));
}

TEST(Snapshot, DoesNotReadWhatIsKnownToBeTheSame) {
  FakeMemory memory(3 * kBlockSize);
  Snapshot first = Snapshot::take({segment(0, 3 * kBlockSize)}, memory, nullptr, kPool);
  // Told so, it does not look; told otherwise, it reads what there is.
  memory.told[kBase] = digest_of(memory.bytes.substr(0, kBlockSize));
  memory.told[kBase + kBlockSize] = digest_of("something else");
  memory.told[kBase + 2 * kBlockSize] = bundle::zero_block_digest();
  memory.bytes.assign(memory.bytes.size(), 'y');
  Snapshot second = Snapshot::take({segment(0, 3 * kBlockSize)}, memory, &first, kPool);
  EXPECT_EQ(text(second.block(kBase)), std::string(kBlockSize, 'x'));
  EXPECT_EQ(second.state().blocks[0].digest, first.state().blocks[0].digest);
  EXPECT_EQ(text(second.block(kBase + kBlockSize)), std::string(kBlockSize, 'y'));
  EXPECT_EQ(second.state().blocks[1].digest, digest_of(std::string(kBlockSize, 'y')));
  EXPECT_EQ(second.state().blocks[2].digest, bundle::zero_block_digest());
  EXPECT_EQ(second.copied_bytes(), kBlockSize);
}

TEST(Snapshot, DoesNotReadWhatNobodyWrote) {
  FakeMemory memory(4 * kBlockSize);
  std::fill_n(memory.bytes.begin(), kBlockSize, '\0');
  Snapshot first = Snapshot::take({segment(0, 2 * kBlockSize + 100)}, memory, nullptr, kPool);
  for (uint64_t i = 0; i < 4; ++i) memory.unwritten_blocks.insert(kBase + i * kBlockSize);
  const std::string read(kBlockSize, 'y');  // as nobody finds out where it does not look
  memory.bytes.assign(memory.bytes.size(), 'y');
  Snapshot second = Snapshot::take({segment(0, 4 * kBlockSize - 1)}, memory, &first, kPool);
  EXPECT_EQ(second.state().blocks[0].digest, bundle::zero_block_digest());
  EXPECT_EQ(text(second.block(kBase)), std::string(kBlockSize, '\0'));
  EXPECT_EQ(second.state().blocks[1].digest, first.state().blocks[1].digest);
  EXPECT_EQ(second.block(kBase + kBlockSize).data(), first.block(kBase + kBlockSize).data());
  EXPECT_EQ(text(second.block(kBase + 2 * kBlockSize)), read) << "most of it was in no segment";
  EXPECT_EQ(text(second.block(kBase + 3 * kBlockSize)), std::string(kBlockSize - 1, 'y') + '\0');
  Snapshot third = Snapshot::take({segment(0, 4 * kBlockSize)}, memory, &second, kPool);
  EXPECT_EQ(text(third.block(kBase + kBlockSize)), std::string(kBlockSize, 'x'));
  EXPECT_EQ(text(third.block(kBase + 3 * kBlockSize)), read) << "one byte of it was in no segment";
  Snapshot without = Snapshot::take({segment(0, kBlockSize)}, memory, nullptr, kPool);
  EXPECT_EQ(text(without.block(kBase)), read);
}

TEST(Snapshot, HasFetchedWhatIsOutOfReach) {
  constexpr uint64_t kBlocks = 600;  // more than one load
  FakeMemory memory(kBlocks * kBlockSize);
  for (size_t i = 0; i < memory.bytes.size(); ++i) memory.bytes[i] = static_cast<char>(i * 7 + i / kBlockSize);
  memory.far_from = kBase + kBlockSize;
  Snapshot before = Snapshot::take({segment(0, kBlocks * kBlockSize)}, memory, nullptr, kPool);
  EXPECT_EQ(memory.fetched, (kBlocks - 1) * kBlockSize);
  EXPECT_EQ(memory.pieces, 3u) << "neighbours are fetched at once";
  for (uint64_t i = 0; i < kBlocks; ++i) {
    ASSERT_EQ(text(before.block(kBase + i * kBlockSize)), memory.bytes.substr(i * kBlockSize, kBlockSize));
    ASSERT_EQ(before.state().blocks[i].digest, digest_of(memory.bytes.substr(i * kBlockSize, kBlockSize)));
  }
  // By the digests it knows what it need not fetch.
  memory.bytes[300 * kBlockSize] ^= 1;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    memory.told[kBase + i * kBlockSize] = digest_of(memory.bytes.substr(i * kBlockSize, kBlockSize));
  }
  memory.fetched = 0;
  Snapshot after = Snapshot::take({segment(0, kBlocks * kBlockSize)}, memory, &before, kPool);
  EXPECT_EQ(memory.fetched, kBlockSize);
  EXPECT_EQ(text(after.block(kBase + 300 * kBlockSize)), memory.bytes.substr(300 * kBlockSize, kBlockSize));
  EXPECT_EQ(after.block(kBase).data(), before.block(kBase).data());
  EXPECT_EQ(after.copied_bytes(), kBlockSize);
}

TEST(Snapshot, FetchesWhatIsAlikeOnce) {
  FakeMemory memory(6 * kBlockSize);
  std::fill_n(memory.bytes.begin(), 2 * kBlockSize, '\0');
  memory.far_from = kBase;
  for (uint64_t i = 0; i < 6; ++i) {
    memory.told[kBase + i * kBlockSize] = digest_of(memory.bytes.substr(i * kBlockSize, kBlockSize));
  }
  Snapshot snapshot = Snapshot::take({segment(0, 6 * kBlockSize - 10)}, memory, nullptr, kPool);
  EXPECT_EQ(memory.fetched, 2 * kBlockSize - 10) << "not zeros; the last block is not a whole one";
  EXPECT_EQ(text(snapshot.block(kBase + 4 * kBlockSize)), std::string(kBlockSize, 'x'));
  EXPECT_EQ(snapshot.state().blocks[4].digest, digest_of(std::string(kBlockSize, 'x')));
  std::string last = std::string(kBlockSize - 10, 'x') + std::string(10, '\0');
  EXPECT_EQ(text(snapshot.block(kBase + 5 * kBlockSize)), last);
  EXPECT_EQ(snapshot.state().blocks[5].digest, digest_of(last));
}

// The digests are the recorder's, of a moment before: what counts is what came.
TEST(Snapshot, DoesNotBelieveDigestsOfWhatItHasFetched) {
  FakeMemory memory(2 * kBlockSize);
  memory.far_from = kBase;
  memory.told[kBase] = memory.told[kBase + kBlockSize] = digest_of("something else");
  Snapshot snapshot = Snapshot::take({segment(0, 2 * kBlockSize)}, memory, nullptr, kPool);
  for (const auto& block : snapshot.state().blocks) EXPECT_EQ(block.digest, digest_of(std::string(kBlockSize, 'x')));
}

TEST(Snapshot, FetchesBlocksOfManyPieces) {
  FakeMemory memory(2 * kBlockSize);
  for (size_t i = 0; i < memory.bytes.size(); ++i) memory.bytes[i] = static_cast<char>(i % 251 + 1);
  memory.far_from = kBase;
  memory.far_break = kBase + kBlockSize + 1000;  // in the middle of one
  std::vector<Segment> small;
  for (uint64_t at = 300; at < 2 * kBlockSize; at += 1000) small.push_back(segment(at, 700));
  Snapshot snapshot = Snapshot::take(small, memory, nullptr, kPool);
  EXPECT_EQ(memory.pieces, 2u) << "none reaches from one piece of memory into the next";
  std::string expected(2 * kBlockSize, '\0');
  for (const Segment& part : small) {
    for (uint64_t at = part.address - kBase; at < std::min(part.address - kBase + part.size, 2 * kBlockSize); ++at) {
      expected[at] = memory.bytes[at];
    }
  }
  EXPECT_EQ(text(snapshot.block(kBase)) + text(snapshot.block(kBase + kBlockSize)), expected);
  memory.bytes.resize(kBlockSize);
  EXPECT_THROW(Snapshot::take(small, memory, nullptr, kPool), Error);
}

TEST(Snapshot, RefusesMemoryThatIsNotThere) {
  FakeMemory memory(kBlockSize);
  EXPECT_THROW(Snapshot::take({segment(0, kBlockSize + 1)}, memory, nullptr, kPool), Error);
}

}  // namespace
}  // namespace mneme::capture
