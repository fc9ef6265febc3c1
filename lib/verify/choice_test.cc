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

  std::vector<std::string> chosen(bool infer = false) {
    std::vector<std::string> texts;
    for (const Choice& choice : choose(instance, stores, overrides, infer)) {
      texts.push_back(std::string(name_of(choice.source)) + (choice.policy ? " " + to_string(*choice.policy) : ""));
    }
    return texts;
  }
};

TEST_F(Chosen, AnnotationsAndBytes) {
  EXPECT_THAT(chosen(), ElementsAre("annotation f64 relative l2 <= 1e-06", "bytes", "bytes"));
}

TEST_F(Chosen, StoresSayTheType) {
  stores = {{8, "", "f32"}, {-1, "table", "i32"}};
  EXPECT_THAT(chosen(), ElementsAre("annotation f64 relative l2 <= 1e-06", "bytes", "bytes"));
  EXPECT_THAT(chosen(true),
              ElementsAre("annotation f64 relative l2 <= 1e-06", "inferred f32 relative linf <= 0.0001", "bytes"))
      << "integers are never compared loosely";
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
