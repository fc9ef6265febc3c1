// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/pairing.h"

#include <gtest/gtest.h>

namespace mneme::verify {
namespace {

Digest d(uint64_t n) { return {n, n}; }
const Digest kA = d(1), kB = d(2);

TEST(Pairing, PairsWithWhatHasArrived) {
  Pairing pairing;
  EXPECT_FALSE(pairing.variant(kA, d(10)));
  EXPECT_FALSE(pairing.variant(kB, d(20)));
  EXPECT_EQ(pairing.instance(kA, d(100)), std::vector<Digest>{d(10)});
  EXPECT_TRUE(pairing.any_variant(kA));
  EXPECT_FALSE(pairing.any_variant(d(3)));
}

TEST(Pairing, AVariantMayBeForOneInstance) {
  Pairing pairing;
  EXPECT_FALSE(pairing.variant(kA, d(10), d(101)));
  EXPECT_TRUE(pairing.instance(kA, d(100)).empty());
  EXPECT_EQ(pairing.variant(kA, d(11), d(100)), d(100));
  EXPECT_FALSE(pairing.variant(kA, d(12), d(101)));
  EXPECT_EQ(pairing.instance(kA, d(101)), (std::vector<Digest>{d(10), d(12)}));
  EXPECT_TRUE(pairing.instance(kA, d(102)).empty());
}

TEST(Pairing, PairsAVariantThatComesLaterWithTheInstanceInHand) {
  Pairing pairing;
  EXPECT_TRUE(pairing.instance(kA, d(100)).empty());
  EXPECT_EQ(pairing.variant(kA, d(10)), d(100));
  EXPECT_FALSE(pairing.variant(kB, d(20)));
  EXPECT_EQ(pairing.instance(kA, d(101)), std::vector<Digest>{d(10)});
  EXPECT_EQ(pairing.instance(kB, d(102)), std::vector<Digest>{d(20)});
  EXPECT_FALSE(pairing.variant(kA, d(11))) << "an instance of another kernel is in hand";
}

TEST(Pairing, PairsNothingTwice) {
  Pairing pairing;
  pairing.variant(kA, d(10));
  pairing.instance(kA, d(100));
  EXPECT_FALSE(pairing.variant(kA, d(10)));
}

TEST(Pairing, ForgetsAnInstanceThatIsPassedOver) {
  Pairing pairing;
  pairing.instance(kA, d(100));
  pairing.none_in_hand();
  EXPECT_FALSE(pairing.variant(kA, d(10)));
}

}  // namespace
}  // namespace mneme::verify
