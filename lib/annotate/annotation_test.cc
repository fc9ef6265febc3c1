// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "mneme/MnemeAnnotation.hpp"

namespace {

struct Seen {
  const void* pointer = nullptr;
  mneme_annotation_v1 annotation{};
  std::string tag;
};
Seen seen;

}  // namespace

extern "C" __attribute__((visibility("default"))) void mneme_annotate_v1(const void* pointer,
                                                                         const mneme_annotation_v1* annotation) {
  seen = {pointer, *annotation, annotation->tag};
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

TEST(Annotation, UntypedCallKeepsTheMetadatasType) {
  double memory[4];
  mneme::Metadata metadata;
  metadata.builtin = mneme::BuiltinDType::I16;
  mneme::annotate(memory, metadata);
  EXPECT_EQ(seen.annotation.dtype, static_cast<uint32_t>(mneme::BuiltinDType::I16));
}

template <class T>
mneme::BuiltinDType dtype_seen() {
  alignas(8) char memory[8];
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
}

}  // namespace
