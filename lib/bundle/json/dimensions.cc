// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/json/dimensions.h"

#include <fmt/format.h>

namespace mneme::bundle::json {

void add_dimensions(Text& out, const char* key, const Dim3& dimensions) {
  out.add_all(key, std::vector<uint64_t>{dimensions.x, dimensions.y, dimensions.z});
}

std::string dimensions_text(const Dim3& dimensions) {
  if (dimensions.z != 1) return fmt::format("{},{},{}", dimensions.x, dimensions.y, dimensions.z);
  if (dimensions.y != 1) return fmt::format("{},{}", dimensions.x, dimensions.y);
  return fmt::to_string(dimensions.x);
}

Dim3 dimensions(const Object& in, const char* key, uint64_t most) {
  std::vector<uint64_t> values = in.numbers(key);
  if (values.size() != 3) in.fail(key, "does not have three dimensions, such as [16,16,1]");
  unsigned __int128 product = 1;
  for (uint64_t value : values) {
    if (value == 0 || value > UINT32_MAX) in.fail(key, fmt::format("has a dimension of {}", value));
    product *= value;
  }
  if (product > most) in.fail(key, "is more than any device can launch");
  return {static_cast<uint32_t>(values[0]), static_cast<uint32_t>(values[1]), static_cast<uint32_t>(values[2])};
}

}  // namespace mneme::bundle::json
