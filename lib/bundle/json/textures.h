// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/format.h"
#include "bundle/json/json.h"

namespace mneme::bundle::json {

// The keys `arrays` and `textures` of an instance that has textures.
void add_textures(Text& out, const InstanceInfo& info);
// Throws Error for what does not fit the instance's arguments and segments, which have been read before.
void parse_textures(const Object& in, InstanceInfo& info);

}  // namespace mneme::bundle::json
