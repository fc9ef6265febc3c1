// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/digest_keys.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/digest.h"

namespace mneme::record::cuda {
namespace {

Digest digest_in_parts(const std::vector<Word>& block) {
  const DigestKeys keys = digest_keys();
  alignas(16) static Word aligned[kDigestedWords];
  std::memcpy(aligned, block.data(), sizeof aligned);
  DigestPart sum{0, 0};
  for (unsigned part = 0; part < kParts; part++) {
    DigestPart one = part_of_digest(aligned, part, keys);
    sum.low += one.low;
    sum.high += one.high;
  }
  DigestPart digest = digest_of_parts(sum);
  return {digest.high, digest.low};
}

TEST(DigestInParts, IsTheDigest) {
  std::vector<Word> block(kDigestedWords);
  Word state = 0;
  for (int round = 0; round < 20; round++) {
    EXPECT_EQ(digest_in_parts(block), digest_of(std::as_bytes(std::span(block)))) << round;
    for (Word& word : block) word = state = state * 6364136223846793005 + 1442695040888963407;
    if (round % 4 == 1) block[static_cast<size_t>(state % kDigestedWords)] = ~Word{0};
  }
}

TEST(DigestInParts, SeesEveryWord) {
  std::vector<Word> block(kDigestedWords, 7);
  const Digest before = digest_in_parts(block);
  for (size_t at :
       {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{kDigestedWords - 8}, size_t{kDigestedWords - 1}}) {
    block[at] ^= 1;
    EXPECT_NE(digest_in_parts(block), before) << at;
    block[at] ^= 1;
  }
}

}  // namespace
}  // namespace mneme::record::cuda
