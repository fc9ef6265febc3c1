// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/annotation.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "annotate/mneme/MnemeAnnotation.hpp"

namespace mneme::record {
namespace {

constexpr const char* kTypes[] = {"u8",  "i8",  "u16", "i16", "u32",  "i32",  "u64",
                                  "i64", "f16", "f32", "f64", "bf16", "cf32", "cf64"};
constexpr uint64_t kSizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 2, 8, 16};  // bytes
static_assert(std::size(kTypes) == std::size(kSizes));
constexpr const char* kKinds[] = {"absolute", "relative", "scaled", "ulp"};
constexpr const char* kNorms[] = {"none", "l1", "l2", "linf"};

// Characters beyond ASCII are escaped, which also finds a tag that is not UTF-8.
using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::ASCII<>>;

// As applications have it that were built before the scale was added.
constexpr size_t kSmallest = offsetof(mneme_annotation_v1, scale);

double scale_of(const mneme_annotation_v1& annotation) {
  return annotation.size >= sizeof annotation ? annotation.scale : 0;
}

// Calls `visit` with the first and the count of elements of each run that is ignored.
template <class Visit>
void for_ignored(const mneme_annotation_v1& annotation, const Visit& visit) {
  if (!annotation.ignore) return;
  for (uint64_t i = 0; i < annotation.ignore_count;) {
    uint64_t first = i;
    while (i < annotation.ignore_count && annotation.ignore[i]) i++;
    if (i > first) visit(first, i - first);
    while (i < annotation.ignore_count && !annotation.ignore[i]) i++;
  }
}

void write_ignored(JsonWriter& writer, const mneme_annotation_v1& annotation) {
  writer.Key("ignore");
  writer.StartArray();
  for_ignored(annotation, [&](uint64_t first, uint64_t count) {
    writer.StartObject();
    writer.Key("first");
    writer.Uint64(first);
    writer.Key("count");
    writer.Uint64(count);
    writer.EndObject();
  });
  writer.EndArray();
}

}  // namespace

uint64_t ignored_runs(const mneme_annotation_v1& annotation) {
  uint64_t runs = 0;
  for_ignored(annotation, [&](uint64_t, uint64_t) { runs++; });
  return runs;
}

uint64_t annotated_bytes(const mneme_annotation_v1& annotation) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(annotation.elements, kSizes[annotation.dtype], &bytes)) return UINT64_MAX;
  return bytes;
}

std::optional<std::string> annotation_json(const mneme_annotation_v1& annotation, std::string& trouble) {
  const double scale = scale_of(annotation);
  if (annotation.size < kSmallest) {
    trouble = "its structure is too small";
  } else if (annotation.dtype >= std::size(kTypes)) {
    trouble = "its element type is unknown";
  } else if (annotation.kind >= std::size(kKinds)) {
    trouble = "its kind of threshold is unknown";
  } else if (annotation.norm >= std::size(kNorms)) {
    trouble = "its norm is unknown";
  } else if (!(annotation.threshold >= 0) || !std::isfinite(annotation.threshold)) {
    trouble = "its threshold is not a number of 0 or more";
  } else if (!(scale >= 0) || !std::isfinite(scale)) {
    trouble = "its scale is not a number of 0 or more";
  }
  if (!trouble.empty()) return std::nullopt;

  const char* tag = annotation.tag ? annotation.tag : "";
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writer.Key("offset");
  writer.Uint64(0);
  writer.Key("dtype");
  writer.String(kTypes[annotation.dtype]);
  writer.Key("threshold");
  writer.Double(annotation.threshold);
  writer.Key("kind");
  writer.String(kKinds[annotation.kind]);
  writer.Key("norm");
  writer.String(kNorms[annotation.norm]);
  if (scale > 0) {
    writer.Key("scale");
    writer.Double(scale);
  }
  writer.Key("tag");
  bool text = writer.String(tag, static_cast<rapidjson::SizeType>(std::strlen(tag)));
  if (annotation.ignore && annotation.ignore_count) write_ignored(writer, annotation);
  writer.EndObject();
  if (!text) {
    trouble = "its tag is not UTF-8";
    return std::nullopt;
  }
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace mneme::record
