// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/annotation.h"

#include <gtest/gtest.h>

#include <limits>

#include "annotate/mneme/MnemeAnnotation.hpp"

namespace mneme::record {
namespace {

mneme_annotation_v1 valid() { return {sizeof(mneme_annotation_v1), 10, 1e-6, 1, 3, "out \"vector\" \xc3\xa9"}; }

std::string trouble_of(const mneme_annotation_v1& annotation) {
  std::string trouble;
  EXPECT_FALSE(annotation_json(annotation, trouble));
  return trouble;
}

TEST(AnnotationJson, SpellsEverything) {
  std::string trouble;
  EXPECT_EQ(annotation_json(valid(), trouble),
            R"({"offset":0,"dtype":"f64","threshold":0.000001,"kind":"relative","norm":"linf",)"
            R"("tag":"out \"vector\" \u00E9"})");
  EXPECT_EQ(trouble, "");
}

TEST(AnnotationJson, RefusesWhatMeansNothing) {
  auto with = [](auto change) {
    mneme_annotation_v1 annotation = valid();
    change(annotation);
    return trouble_of(annotation);
  };
  EXPECT_NE(with([](auto& a) { a.size = 8; }), "");
  EXPECT_NE(with([](auto& a) { a.dtype = 11; }), "");
  EXPECT_NE(with([](auto& a) { a.kind = 2; }), "");
  EXPECT_NE(with([](auto& a) { a.norm = 4; }), "");
  EXPECT_NE(with([](auto& a) { a.threshold = -1; }), "");
  EXPECT_NE(with([](auto& a) { a.threshold = std::numeric_limits<double>::quiet_NaN(); }), "");
  EXPECT_NE(with([](auto& a) { a.threshold = std::numeric_limits<double>::infinity(); }), "");
  EXPECT_NE(with([](auto& a) { a.tag = "\xff"; }), "");
}

TEST(AnnotationJson, TakesNoTag) {
  mneme_annotation_v1 annotation = valid();
  annotation.tag = nullptr;
  std::string trouble;
  EXPECT_TRUE(annotation_json(annotation, trouble)->ends_with(R"("tag":""})"));
}

}  // namespace
}  // namespace mneme::record
