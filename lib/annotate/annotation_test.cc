// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "mneme/MnemeAnnotation.hpp"

namespace {

struct Seen {
  const void* pointer = nullptr;
  mneme_annotation_v1 annotation{};
  std::string tag;
  std::vector<uint8_t> ignore = {};
};
Seen seen;

}  // namespace

extern "C" __attribute__((visibility("default"))) void mneme_annotate_v1(const void* pointer,
                                                                         const mneme_annotation_v1* annotation) {
  if (!annotation) {
    seen = {pointer, {}, "none"};
    return;
  }
  seen = {pointer, *annotation, annotation->tag ? annotation->tag : ""};
  seen.ignore.assign(annotation->ignore, annotation->ignore + annotation->ignore_count);
}

namespace {

TEST(Annotation, CrossesAsPlainData) {
  double memory[4];
  mneme::Metadata metadata;
  metadata.builtin = mneme::BuiltinDType::F64;
  metadata.threshold = 1e-6;
  metadata.threshold_kind = mneme::ThresholdKind::Relative;
  metadata.norm = mneme::Norm::Linf;
  metadata.tag = "output vector";
  mneme::annotate(memory, metadata);
  EXPECT_EQ(seen.pointer, memory);
  EXPECT_EQ(seen.annotation.size, sizeof(mneme_annotation_v1));
  EXPECT_EQ(seen.annotation.dtype, 10u);
  EXPECT_EQ(seen.annotation.threshold, 1e-6);
  EXPECT_EQ(seen.annotation.kind, 1u);
  EXPECT_EQ(seen.annotation.norm, 3u);
  EXPECT_EQ(seen.tag, "output vector");
}

TEST(Annotation, RangesMasksAndTakingAway) {
  float memory[8];
  mneme::Metadata metadata;
  metadata.elements = 6;
  metadata.ignore = {true, false, true};
  mneme::annotate<float>(memory, metadata);
  EXPECT_EQ(seen.annotation.elements, 6u);
  EXPECT_EQ(seen.ignore, (std::vector<uint8_t>{1, 0, 1}));
  mneme::unannotate(memory + 1);
  EXPECT_EQ(seen.pointer, memory + 1);
  EXPECT_EQ(seen.tag, "none");
}

TEST(Annotation, ForC) {
  double memory[4];
  mneme_annotate(memory, MNEME_CF64, 0.5, MNEME_RELATIVE, MNEME_L1, nullptr);
  EXPECT_EQ(seen.pointer, memory);
  EXPECT_EQ(seen.annotation.size, sizeof(mneme_annotation_v1));
  EXPECT_EQ(seen.annotation.dtype, static_cast<uint32_t>(mneme::BuiltinDType::CF64));
  EXPECT_EQ(seen.annotation.kind, static_cast<uint32_t>(mneme::ThresholdKind::Relative));
  EXPECT_EQ(seen.annotation.norm, static_cast<uint32_t>(mneme::Norm::L1));
  EXPECT_EQ(seen.annotation.elements, 0u);
  mneme_unannotate(memory);
  EXPECT_EQ(seen.tag, "none");
}

TEST(Annotation, UntypedCallKeepsTheMetadatasType) {
  double memory[4];
  mneme::Metadata metadata;
  metadata.builtin = mneme::BuiltinDType::I16;
  mneme::annotate(memory, metadata);
  EXPECT_EQ(seen.annotation.dtype, static_cast<uint32_t>(mneme::BuiltinDType::I16));
}

template <class T>
mneme::BuiltinDType dtype_seen() {
  alignas(16) char memory[16];
  mneme::annotate<T>(reinterpret_cast<T*>(memory), {});
  return static_cast<mneme::BuiltinDType>(seen.annotation.dtype);
}

enum class Colour : short { kRed };

TEST(Annotation, TypedCallTakesTheElementType) {
  using mneme::BuiltinDType;
  EXPECT_EQ(dtype_seen<uint8_t>(), BuiltinDType::U8);
  EXPECT_EQ(dtype_seen<signed char>(), BuiltinDType::I8);
  EXPECT_EQ(dtype_seen<uint16_t>(), BuiltinDType::U16);
  EXPECT_EQ(dtype_seen<Colour>(), BuiltinDType::I16);
  EXPECT_EQ(dtype_seen<unsigned>(), BuiltinDType::U32);
  EXPECT_EQ(dtype_seen<int>(), BuiltinDType::I32);
  EXPECT_EQ(dtype_seen<unsigned long long>(), BuiltinDType::U64);
  EXPECT_EQ(dtype_seen<long>(), BuiltinDType::I64);
  EXPECT_EQ(dtype_seen<__half>(), BuiltinDType::F16);
  EXPECT_EQ(dtype_seen<const float>(), BuiltinDType::F32);
  EXPECT_EQ(dtype_seen<double>(), BuiltinDType::F64);
  EXPECT_EQ(dtype_seen<hip_bfloat16>(), BuiltinDType::BF16);
  EXPECT_EQ(dtype_seen<__hip_bfloat16>(), BuiltinDType::BF16);
  EXPECT_EQ(dtype_seen<__nv_bfloat16>(), BuiltinDType::BF16);
  EXPECT_EQ(dtype_seen<std::complex<float>>(), BuiltinDType::CF32);
  EXPECT_EQ(dtype_seen<std::complex<double>>(), BuiltinDType::CF64);
}

}  // namespace
