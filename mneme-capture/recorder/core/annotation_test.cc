// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/annotation.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>

#include "annotate/mneme/MnemeAnnotation.hpp"

namespace mneme::record {
namespace {

mneme_annotation_v1 valid() {
  return {sizeof(mneme_annotation_v1), 10, 1e-6, 1, 3, "out \"vector\" \xc3\xa9", 0, nullptr, 0, 0};
}

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

TEST(AnnotationJson, SpellsTheScale) {
  mneme_annotation_v1 annotation = valid();
  annotation.kind = MNEME_SCALED;
  annotation.scale = 0.5;
  std::string trouble;
  EXPECT_NE(annotation_json(annotation, trouble)->find(R"("kind":"scaled","norm":"linf","scale":0.5,"tag")"),
            std::string::npos);
  annotation.size = offsetof(mneme_annotation_v1, scale);  // of an application that knows of none
  EXPECT_EQ(annotation_json(annotation, trouble)->find("scale\":"), std::string::npos);
  annotation.kind = MNEME_ULP;
  EXPECT_NE(annotation_json(annotation, trouble)->find(R"("kind":"ulp")"), std::string::npos);
}

TEST(AnnotationJson, RefusesWhatMeansNothing) {
  auto with = [](auto change) {
    mneme_annotation_v1 annotation = valid();
    change(annotation);
    return trouble_of(annotation);
  };
  EXPECT_NE(with([](auto& a) { a.size = 8; }), "");
  EXPECT_NE(with([](auto& a) { a.dtype = 14; }), "");
  EXPECT_NE(with([](auto& a) { a.kind = 4; }), "");
  EXPECT_NE(with([](auto& a) { a.scale = -1; }), "");
  EXPECT_NE(with([](auto& a) { a.scale = std::numeric_limits<double>::infinity(); }), "");
  EXPECT_NE(with([](auto& a) { a.norm = 4; }), "");
  EXPECT_NE(with([](auto& a) { a.threshold = -1; }), "");
  EXPECT_NE(with([](auto& a) { a.threshold = std::numeric_limits<double>::quiet_NaN(); }), "");
  EXPECT_NE(with([](auto& a) { a.threshold = std::numeric_limits<double>::infinity(); }), "");
  EXPECT_NE(with([](auto& a) { a.tag = "\xff"; }), "");
}

TEST(AnnotationJson, ListsWhatIsIgnored) {
  mneme_annotation_v1 annotation = valid();
  uint8_t ignore[] = {1, 1, 0, 0, 7, 0, 1};
  annotation.ignore = ignore;
  annotation.ignore_count = sizeof ignore;
  std::string trouble;
  EXPECT_TRUE(annotation_json(annotation, trouble)
                  ->ends_with(R"("ignore":[{"first":0,"count":2},{"first":4,"count":1},{"first":6,"count":1}]})"));
  EXPECT_EQ(ignored_runs(annotation), 3u);
  std::fill(std::begin(ignore), std::end(ignore), uint8_t{0});
  EXPECT_EQ(ignored_runs(annotation), 0u);
  EXPECT_TRUE(annotation_json(annotation, trouble)->ends_with(R"("ignore":[]})"));
}

TEST(AnnotationJson, ReachesOverItsElements) {
  mneme_annotation_v1 annotation = valid();
  EXPECT_EQ(annotated_bytes(annotation), 0u);
  annotation.elements = 10;
  EXPECT_EQ(annotated_bytes(annotation), 80u);
  annotation.dtype = MNEME_CF64;
  EXPECT_EQ(annotated_bytes(annotation), 160u);
  annotation.elements = UINT64_MAX / 2;
  EXPECT_EQ(annotated_bytes(annotation), UINT64_MAX);
}

TEST(AnnotationJson, TakesNoTag) {
  mneme_annotation_v1 annotation = valid();
  annotation.tag = nullptr;
  std::string trouble;
  EXPECT_TRUE(annotation_json(annotation, trouble)->ends_with(R"("tag":""})"));
}

}  // namespace
}  // namespace mneme::record
