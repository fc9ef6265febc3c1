// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kBase = 0x400000000000;
constexpr char kAnnotation[] =
    R"({"offset":0,"dtype":"f64","threshold":1e-06,"kind":"relative","norm":"l2","tag":"out"})";

struct Chosen : testing::Test {
  bundle::InstanceInfo instance;
  std::vector<bundle::StoreType> stores;
  std::vector<Override> overrides;

  // Two buffers, which the arguments at 0 and 8 point into, and a variable. The first buffer is annotated.
  void SetUp() override {
    instance.segments = {{kBase, 1024, {}, "", kAnnotation},
                         {kBase + 4096, 1024, {}, "", ""},
                         {kBase + 8192, 64, bundle::SegmentKind::kGlobal, "table", ""}};
    uint64_t pointers[] = {kBase, kBase + 4096 + 512};
    instance.arguments.assign(reinterpret_cast<char*>(pointers), sizeof pointers);
  }

  std::vector<std::string> chosen(bool infer = false, Kind kind = Kind::kScaled) {
    std::vector<std::string> texts;
    for (const Choice& choice : choose(instance, stores, overrides, infer ? std::optional(kind) : std::nullopt)) {
      texts.push_back(std::string(name_of(choice.source)) + (choice.policy ? " " + to_string(*choice.policy) : ""));
    }
    return texts;
  }
};

TEST_F(Chosen, AnnotationsAndBytes) {
  EXPECT_THAT(chosen(), ElementsAre("annotation f64 relative l2 <= 1e-06", "bytes", "bytes"));
}

TEST_F(Chosen, ArgumentsThatLeadToASegmentAreNamed) {
  std::vector<Choice> choices = choose(instance, stores, overrides, std::nullopt);
  const uint64_t more[] = {7, kBase + 16, kBase + 8192};
  instance.arguments.append(reinterpret_cast<const char*>(more), sizeof more);
  name_arguments(instance,
                 {{0, 8, "pointer", "ptr", {}, "in"},
                  {8, 8, "pointer", "ptr", {}, ""},
                  {16, 16, "struct", "%struct.Parts", {}, "parts"},
                  {32, 8, "scalar", "i64", {}, "n"},       // a number, whatever it looks like
                  {40, 8, "pointer", "ptr", {}, "past"}},  // beyond the argument bytes
                 choices);
  EXPECT_THAT(choices[0].arguments, ElementsAre("in", "parts"));
  EXPECT_THAT(choices[1].arguments, ElementsAre("1"));
  EXPECT_THAT(choices[2].arguments, ElementsAre());
}

TEST_F(Chosen, StoresSayTheType) {
  stores = {{8, "", "f32"}, {-1, "table", "i32"}};
  EXPECT_THAT(chosen(), ElementsAre("annotation f64 relative l2 <= 1e-06", "bytes", "bytes"));
  EXPECT_THAT(chosen(true),
              ElementsAre("annotation f64 relative l2 <= 1e-06", "inferred f32 scaled linf <= 0.0001", "bytes"))
      << "integers are never compared loosely";
  EXPECT_EQ(chosen(true, Kind::kRelative)[1], "inferred f32 relative linf <= 0.0001");
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(std::nullopt, ElementType::kF32, ElementType::kI32));
}

TEST_F(Chosen, StoresThatDisagreeSayNothing) {
  stores = {{8, "", "f32"}, {0, "", "f64"}, {-1, "", "i32"}};
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(std::nullopt, std::nullopt, ElementType::kI32))
      << "a pointer of unknown origin may lead anywhere";
  stores = {{8, "", "mixed"}};
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  stores = {{1000, "", "f32"}};
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(ElementType::kF32, ElementType::kF32, ElementType::kF32))
      << "nor can one that the arguments do not have be placed";
}

TEST_F(Chosen, StoresOfUnknownOriginDoNotReachWhatIsRestricted) {
  stores = {{8, "", "f32", true}, {-1, "", "i32"}};
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(ElementType::kI32, ElementType::kF32, ElementType::kI32));
  stores[0].restrict = false;
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(ElementType::kI32, std::nullopt, ElementType::kI32));
  uint64_t same = kBase + 4096;
  instance.arguments.append(reinterpret_cast<char*>(&same), sizeof same);
  stores = {{8, "", "f32", true}, {16, "", "i32", true}};
  EXPECT_THAT(stored_types(instance, stores)[1], std::nullopt) << "both lead there, to different parts of it";
}

TEST_F(Chosen, StoresReachAllPiecesOfAnAllocation) {
  // Cut out of the first buffer's 1024 bytes: what was annotated, and what lies behind it. Another adjoins.
  instance.segments[0].size = 400;
  instance.segments.insert(instance.segments.begin() + 1,
                           {{kBase + 400, 624, {}, "", ""}, {kBase + 1024, 64, {}, "", ""}});
  stores = {{0, "", "f64"}};
  auto types = stored_types(instance, stores);
  EXPECT_THAT(types, ElementsAre(ElementType::kF64, ElementType::kF64, std::nullopt, std::nullopt, std::nullopt));
  uint64_t behind = kBase + 500;
  instance.arguments.append(reinterpret_cast<char*>(&behind), sizeof behind);
  stores.push_back({16, "", "i32"});
  EXPECT_THAT(stored_types(instance, stores)[1], std::nullopt);
  EXPECT_THAT(chosen(true)[1], "bytes");
}

TEST_F(Chosen, StoresFromAnEndDownwards) {
  uint64_t pointers[] = {kBase + 1024, kBase + 4096};
  instance.arguments.assign(reinterpret_cast<char*>(pointers), sizeof pointers);
  stores = {{0, "", "f32"}, {8, "", "f32"}};
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(ElementType::kF32, ElementType::kF32, std::nullopt));
  instance.segments.insert(instance.segments.begin() + 1, {kBase + 1024, 256, {}, "", ""});
  instance.segments[0].annotation.clear();
  EXPECT_THAT(stored_types(instance, stores),
              ElementsAre(std::nullopt, ElementType::kF32, ElementType::kF32, std::nullopt))
      << "where another begins that is meant";
}

TEST_F(Chosen, StoresThroughPointersToNothing) {
  uint64_t pointers[] = {0, kBase + 4096};
  instance.arguments.assign(reinterpret_cast<char*>(pointers), sizeof pointers);
  stores = {{0, "", "i32"}, {8, "", "f32"}};
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(std::nullopt, ElementType::kF32, std::nullopt));
  pointers[0] = kBase + 2048;
  instance.arguments.assign(reinterpret_cast<char*>(pointers), sizeof pointers);
  EXPECT_THAT(stored_types(instance, stores), ElementsAre(ElementType::kI32, std::nullopt, ElementType::kI32))
      << "nobody knows where from there they go";
}

TEST_F(Chosen, SaysWhyNothingIsInferred) {
  stores = {{8, "", "f32"}, {8, "", "mixed"}, {8, "", "i32"}, {-1, "table", "u8"}};
  instance.segments.push_back({kBase + 16384, 64, {}, "", ""});
  auto choices = choose(instance, stores, overrides, Kind::kScaled);
  EXPECT_EQ(choices[0].not_inferred, "") << "it is annotated";
  EXPECT_EQ(choices[1].not_inferred, "the kernel's stores that may reach it have no one type: f32, i32 and others");
  EXPECT_EQ(choices[2].not_inferred, "the kernel stores u8 there");
  EXPECT_EQ(choices[3].not_inferred, "no store of the kernel is known to reach it");
  EXPECT_EQ(choose(instance, stores, overrides, std::nullopt)[1].not_inferred, "") << "nobody asked";
}

TEST_F(Chosen, WhatIsIgnoredStaysWithAnotherType) {
  auto ignored_as = [&](ElementType type) {
    overrides = {{.segment = "out", .type = type}};
    return choose(instance, stores, overrides, std::nullopt)[0].policy->ignored;
  };
  instance.segments[0].annotation =
      R"({"dtype":"f32","threshold":0,"kind":"absolute","norm":"none","tag":"out","ignore":[{"first":1,"count":4},)"
      R"({"first":6,"count":1},{"first":100,"count":18446744073709551000}]})";
  EXPECT_THAT(ignored_as(ElementType::kI32),
              ElementsAre(ElementRange{1, 4}, ElementRange{6, 1}, ElementRange{100, 18446744073709551000u}));
  EXPECT_THAT(ignored_as(ElementType::kU8),
              ElementsAre(ElementRange{4, 16}, ElementRange{24, 4}, ElementRange{400, UINT64_MAX - 400}));
  EXPECT_THAT(ignored_as(ElementType::kF64), ElementsAre(ElementRange{1, 1}, ElementRange{50, UINT64_MAX / 8 - 50}))
      << "those that are ignored as a whole";
}

TEST_F(Chosen, AddressesMayBeSpeltOtherwise) {
  for (const char* spelling : {"0x400000000000", "0X400000000000", "0x0000400000000000"}) {
    overrides = {{.segment = spelling, .threshold = 0.5}};
    EXPECT_EQ(chosen()[0], "option f64 relative l2 <= 0.5") << spelling;
  }
  for (const char* spelling : {"0x40000000000", "400000000000", "0x400000000000 ", "0x", "0x10000400000000000"}) {
    overrides = {{.segment = spelling, .threshold = 0.5}};
    chosen();
    EXPECT_FALSE(overrides[0].met) << spelling;
  }
}

TEST_F(Chosen, OverridesByTagSymbolAndAddress) {
  overrides = {{.segment = "out", .threshold = 0.5},
               {.segment = "0x400000001000", .type = ElementType::kF16, .norm = Norm::kL1},
               {.segment = "table", .type = ElementType::kI32, .kind = Kind::kAbsolute, .threshold = 2}};
  EXPECT_THAT(chosen(), ElementsAre("option f64 relative l2 <= 0.5", "option f16 absolute l1 <= 0",
                                    "option i32 absolute none <= 2"));
  for (const Override& over : overrides) EXPECT_TRUE(over.met);
}

TEST_F(Chosen, LaterOverridesWinFieldByField) {
  overrides = {{.segment = "out", .norm = Norm::kL1, .threshold = 0.5}, {.segment = "out", .threshold = 0.25}};
  EXPECT_EQ(chosen()[0], "option f64 relative l1 <= 0.25");
}

TEST_F(Chosen, OverridesOfAllMeanThoseOfKnownType) {
  stores = {{8, "", "f32"}};
  overrides = {{.kind = Kind::kRelative, .threshold = 0.125}};
  EXPECT_THAT(chosen(), ElementsAre("option f64 relative l2 <= 0.125", "option f32 relative none <= 0.125", "bytes"));
}

TEST_F(Chosen, AnUnknownTypeMustBeGiven) {
  overrides = {{.segment = "table", .threshold = 1}};
  try {
    chosen();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("segment 'table' (global) at 0x400000002000 has no annotation"));
    EXPECT_THAT(error.what(), HasSubstr("--dtype"));
  }
}

TEST_F(Chosen, AnOverrideThatNobodyMeetsIsNotMet) {
  overrides = {{.segment = "inn", .threshold = 1}};
  chosen();
  EXPECT_FALSE(overrides[0].met);
}

TEST_F(Chosen, BadAnnotationsAreNamed) {
  instance.segments[0].annotation = R"({"dtype":"f80","threshold":0,"kind":"absolute","norm":"none"})";
  try {
    chosen();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'dtype' is 'f80', which this version does not know"));
  }
}

}  // namespace
}  // namespace mneme::verify
