// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/digest.h"

#include <gtest/gtest.h>

#include "base/digest_avx2.h"
#include "base/error.h"

namespace mneme {
namespace {

TEST(Digest, IsXxh3OfTheBytes) {
  // What `xxhsum -H2` prints: bundles are read by others' implementations, too.
  EXPECT_EQ(digest_of("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_of("abc").hex(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Digest, SurvivesTextAndStorage) {
  Digest digest = digest_of("something");
  EXPECT_EQ(Digest::parse(digest.hex()), digest);
  std::byte stored[Digest::kSize];
  digest.store(stored);
  EXPECT_EQ(Digest::load(stored), digest);
  EXPECT_EQ(to_hex(stored), digest.hex()) << "stored and written orders agree";
  EXPECT_TRUE(Digest{}.empty());
  EXPECT_FALSE(digest.empty());
}

TEST(Digest, OrdersLikeItsText) {
  Digest a = digest_of("a"), b = digest_of("b");
  EXPECT_EQ(a < b, a.hex() < b.hex());
}

TEST(Digest, RefusesOtherTexts) {
  std::string right = digest_of("a").hex();
  for (const std::string& wrong :
       {std::string(), right.substr(1), right + "0", "g" + right.substr(1), "A" + right.substr(1)}) {
    EXPECT_THROW(Digest::parse(wrong), Error) << wrong;
  }
}

TEST(DigestStream, EqualsTheDigestOfTheWhole) {
  DigestStream stream;
  stream.add("some");
  stream.add("thing");
  EXPECT_EQ(stream.finish(), digest_of("something"));
  EXPECT_EQ(stream.finish(), digest_of("something")) << "finishing changes nothing";
  stream.add(uint64_t{0x0102});
  EXPECT_EQ(stream.finish(), digest_of(std::string("something\x02\x01\0\0\0\0\0\0", 17)));
}

// The stream's code is for every processor.
TEST(Digest, IsTheSameOnEveryProcessor) {
  std::string text;
  for (size_t i = 0; i < 70'000; ++i) text.push_back(static_cast<char>(i * i >> 3));
  for (size_t size : {0, 1, 3, 8, 16, 17, 100, 128, 129, 240, 241, 512, 1000, 1024, 1025, 4096, 65'536, 70'000}) {
    DigestStream stream;
    stream.add(bytes_of(text).first(size));
    EXPECT_EQ(digest_of(bytes_of(text).first(size)), stream.finish()) << size;
    if (__builtin_cpu_supports("avx2")) {
      EXPECT_EQ(digest_with_avx2(bytes_of(text).first(size)), stream.finish()) << size;
    }
  }
}

TEST(Hex, RoundTripAndFaults) {
  std::string bytes("\0\x7f\x80\xff", 4);
  EXPECT_EQ(to_hex(bytes_of(bytes)), "007f80ff");
  EXPECT_EQ(from_hex("007f80ff"), bytes);
  EXPECT_EQ(from_hex(""), "");
  EXPECT_THROW(from_hex("0"), Error);
  EXPECT_THROW(from_hex("0x"), Error);
  EXPECT_THROW(from_hex("FF"), Error);
}

}  // namespace
}  // namespace mneme
