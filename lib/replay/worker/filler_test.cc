// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/filler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "base/error.h"
#include "bundle/format.h"

namespace mneme::run {
namespace {

using bundle::kBlockSize;

// Of blocks that say their numbers.
std::string digests(uint64_t first, uint64_t count) {
  std::string all(count * Digest::kSize, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    Digest{first + i, 0}.store(reinterpret_cast<std::byte*>(all.data()) + i * Digest::kSize);
  }
  return all;
}

class Blocks {
 public:
  explicit Blocks(size_t count) : bytes_(count * kBlockSize) {
    for (size_t i = 0; i < count; ++i) std::memset(&bytes_[i * kBlockSize], static_cast<int>(i), kBlockSize);
  }
  Bytes operator()(const Digest& digest) const {
    if (digest.high * kBlockSize >= bytes_.size()) throw Error("there is no such block");
    return {&bytes_[digest.high * kBlockSize], kBlockSize};
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(Filler, LeavesWhatASlotHoldsAlready) {
  Blocks blocks(10);
  std::vector<std::byte> memory(4 * kBlockSize);
  std::vector<Digest> known(4);
  int copied = 0;
  auto block = [&](const Digest& digest) {
    copied++;
    return blocks(digest);
  };
  Filler filler;
  auto fill = [&](uint64_t first, uint64_t count) {
    copied = 0;
    filler.begin(memory, digests(first, count), block, known);
    filler.finish();
    for (uint64_t i = 0; i < count; i++) EXPECT_EQ(memory[i * kBlockSize], static_cast<std::byte>(first + i));
    return copied;
  };
  EXPECT_EQ(fill(1, 4), 4);
  EXPECT_EQ(fill(1, 4), 0);
  EXPECT_EQ(fill(1, 2), 0);
  EXPECT_EQ(fill(2, 3), 3) << "each at another place";
  EXPECT_EQ(fill(2, 3), 0);
  EXPECT_THROW(fill(9, 2), Error);  // there is no tenth
  EXPECT_EQ(fill(2, 3), 2) << "the place of the missing one is not known any more";
}

TEST(Filler, FillsSlotsBesideEachOther) {
  constexpr size_t kSlot = 100;
  Blocks blocks(200);
  std::vector<std::byte> memory(2 * kSlot * kBlockSize);
  Filler filler;
  for (int round = 0; round < 3; ++round) {
    std::fill(memory.begin(), memory.end(), std::byte{255});
    for (size_t slot = 0; slot < 2; ++slot) {
      filler.begin(std::span(memory).subspan(slot * kSlot * kBlockSize, kSlot * kBlockSize),
                   digests(slot * kSlot, kSlot - slot), std::cref(blocks));
    }
    EXPECT_EQ(filler.begun(), 2u);
    filler.finish();
    for (size_t i = 0; i < kSlot; ++i) ASSERT_EQ(memory[(i + 1) * kBlockSize - 1], static_cast<std::byte>(i));
    filler.finish();
    for (size_t i = kSlot; i < 2 * kSlot - 1; ++i) ASSERT_EQ(memory[i * kBlockSize], static_cast<std::byte>(i));
    EXPECT_EQ(memory.back(), std::byte{255}) << "no more than was asked for";
    EXPECT_EQ(filler.begun(), 0u);
    filler.rest();
  }
}

TEST(Filler, SaysWhichSlotCannotBeFilled) {
  constexpr size_t kSlot = 50;
  Blocks blocks(kSlot);
  std::vector<std::byte> memory(4 * kSlot * kBlockSize);
  auto slot = [&](size_t number) { return std::span(memory).subspan(number * kSlot * kBlockSize, kSlot * kBlockSize); };
  Filler filler;
  filler.begin(slot(0), digests(0, kSlot), std::cref(blocks));
  filler.begin(slot(1), digests(1, kSlot), std::cref(blocks));
  filler.begin(slot(2), digests(kSlot, 1), std::cref(blocks));
  filler.begin(slot(3), digests(7, 1), std::cref(blocks));
  filler.finish();
  EXPECT_THROW(filler.finish(), Error);
  EXPECT_THROW(filler.finish(), Error) << "few blocks are filled at once, and told of in turn all the same";
  filler.finish();
  EXPECT_EQ(slot(3)[0], std::byte{7});
}

TEST(Filler, MayEndWithWorkBegun) {
  Blocks blocks(100);
  std::vector<std::byte> memory(10 * 100 * kBlockSize);
  Filler filler;
  for (size_t i = 0; i < 10; ++i) {
    filler.begin(std::span(memory).subspan(i * 100 * kBlockSize, 100 * kBlockSize), digests(0, 100), std::cref(blocks));
  }
}

}  // namespace
}  // namespace mneme::run
