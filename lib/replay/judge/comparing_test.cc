// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/comparing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::verify {
namespace {

using testing::ElementsAre;

// Rows are told apart by their variants.
Row row(uint64_t instance, uint64_t variant, uint64_t nanoseconds, uint32_t rounds = 6) {
  Row row;
  row.instance = {instance, 0};
  row.variant = {variant, variant};
  row.passed = true;
  row.run.emplace();
  row.run->device = "host";
  row.run->clock = "steady";
  row.run->rounds = rounds;
  row.run->nanoseconds.assign(rounds, nanoseconds);
  return row;
}

struct Compared {
  explicit Compared(std::string reference, double bound = 0)
      : comparing(std::move(reference), bound, [this](Row row, const std::vector<bundle::Segment>& segments) {
          outcomes.push_back(row.comparison ? row.comparison->outcome : "");
          rows.push_back(std::move(row));
          if (!segments.empty()) addresses.push_back(segments[0].address);
        }) {}

  std::vector<std::string> outcomes;
  std::vector<Row> rows;
  std::vector<uint64_t> addresses;
  Comparing comparing;
};

TEST(Comparing, WithTheFirst) {
  Compared compared("first");
  for (uint64_t instance : {1, 2}) {
    std::vector<bundle::Segment> segments{{instance, 4, bundle::SegmentKind::kHeap, "", ""}};
    compared.comparing.take(row(instance, 5, 100), segments);
    compared.comparing.take(row(instance, 6, 50), segments);
    compared.comparing.take(row(instance, 7, 200), segments);
    compared.comparing.take(row(instance, 8, 100), segments);
  }
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("reference", "faster", "slower", "within noise",  //
                                             "reference", "faster", "slower", "within noise"));
  EXPECT_THAT(compared.addresses, ElementsAre(1, 1, 1, 1, 2, 2, 2, 2));
  EXPECT_EQ(compared.rows[1].comparison->reference, compared.rows[0].variant);
  EXPECT_EQ(compared.rows[1].comparison->speedup.factor, 2);
  EXPECT_EQ(compared.comparing.without_reference(), 0u);
}

TEST(Comparing, WithTheVariantThatIsNamed) {
  Row reference = row(1, 6, 100);
  Compared compared(reference.variant.hex().substr(0, 16));
  compared.comparing.take(row(1, 5, 50), {});
  compared.comparing.take(reference, {});
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("faster", "reference"));
}

TEST(Comparing, WithTheApplicationsOwnCode) {
  Compared compared(kRecordedReference);
  Row checked = row(1, 4, 400), otherwise = row(1, 5, 50), recorded = row(1, 6, 100);
  checked.configuration.check_memory = true;
  otherwise.configuration.passes = recorded.configuration.passes = bundle::kAsRecorded;
  otherwise.configuration.block = bundle::Dim3{64, 1, 1};
  for (const Row& each : {checked, otherwise, recorded}) compared.comparing.take(each, {});
  checked.instance = otherwise.instance = {2, 0};
  for (const Row& each : {checked, otherwise}) compared.comparing.take(each, {});
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("slower", "faster", "reference", "slower", "reference"));
}

TEST(Comparing, TheSameCodeIsNotFaster) {
  Compared compared("first");
  compared.comparing.take(row(1, 5, 100), {});
  Row same = row(1, 6, 100);
  same.run->same_as = row(1, 5, 0).variant;
  compared.comparing.take(same, {});
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("reference", "same code"));
}

TEST(Comparing, OnlyWhatIsVerifiedAndTimedAlike) {
  Compared compared("first");
  compared.comparing.take(row(1, 5, 100), {});
  Row wrong = row(1, 6, 1), failed = row(1, 7, 1), cold = row(1, 8, 1), elsewhere = row(1, 9, 1),
      alone = row(1, 10, 1, 7), missing = row(1, 11, 1), other_clock = row(1, 12, 1);
  wrong.passed = false;
  failed.run->nanoseconds.clear();
  cold.run->cold = true;
  elsewhere.run->device = "cuda";
  missing.run.reset();
  other_clock.run->clock = "events";
  for (const Row& odd : {wrong, failed, cold, elsewhere, alone, missing, other_clock}) {
    compared.comparing.take(odd, {});
  }
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("reference", "", "", "", "", "", "", ""));
}

TEST(Comparing, FewRoundsTellNothing) {
  Compared compared("first");
  compared.comparing.take(row(1, 5, 100, 5), {});
  compared.comparing.take(row(1, 6, 1, 5), {});
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("reference", "too few rounds"));
}

TEST(Comparing, AReferenceHasToBeRight) {
  Compared compared("first");
  Row wrong = row(1, 5, 100);
  wrong.passed = false;
  compared.comparing.take(wrong, {});
  compared.comparing.take(row(1, 6, 100), {});
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("", ""));
  EXPECT_EQ(compared.comparing.without_reference(), 1u);
}

TEST(Comparing, IsLeftOutUnlessAskedFor) {
  Compared compared("");
  compared.comparing.take(row(1, 5, 100), {});
  EXPECT_THAT(compared.outcomes, ElementsAre("")) << "at once";
  EXPECT_THROW(Comparing("last", 0, {}), Error);
}

TEST(Comparing, WhatIsBeyondTheBoundIsTooSlow) {
  Compared compared("first", 1.5);
  compared.comparing.take(row(1, 5, 100), {});
  compared.comparing.take(row(1, 6, 140), {});
  compared.comparing.take(row(1, 7, 160), {});
  Row uneven = row(1, 8, 200);
  uneven.run->nanoseconds[3] = 120;  // so that the interval reaches to what is allowed
  compared.comparing.take(uneven, {});
  Row same = row(1, 9, 100);
  same.run->same_as = row(1, 5, 0).variant;
  compared.comparing.take(same, {});
  compared.comparing.finish();
  EXPECT_THAT(compared.outcomes, ElementsAre("reference", "slower", "too slow", "slower", "same code"));
  EXPECT_EQ(compared.comparing.too_slow(), 1u);
  EXPECT_EQ(compared.comparing.bounded(), 4u);
  EXPECT_EQ(compared.comparing.unbounded(), 0u);
}

TEST(Comparing, WhatCannotBeHeldAgainstTheBoundIsCounted) {
  Compared compared("first", 1.5);
  Row cold = row(1, 6, 1), wrong = row(1, 7, 900);
  cold.run->cold = true;
  wrong.passed = false;
  for (const Row& each : {row(1, 5, 100), cold, wrong}) compared.comparing.take(each, {});
  for (const Row& few : {row(2, 5, 100, 5), row(2, 6, 900, 5)}) compared.comparing.take(few, {});
  compared.comparing.finish();
  EXPECT_EQ(compared.comparing.too_slow(), 0u);
  EXPECT_EQ(compared.comparing.bounded(), 0u);
  EXPECT_EQ(compared.comparing.unbounded(), 2u) << "one cold, one of too few rounds; what is wrong fails by itself";
}

TEST(Comparing, ABoundHasToMeanSomething) {
  EXPECT_THROW(Comparing("", 1.1, {}), Error);
  EXPECT_THROW(Comparing("first", 0.9, {}), Error);
}

}  // namespace
}  // namespace mneme::verify
