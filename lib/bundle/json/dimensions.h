// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/format.h"
#include "bundle/json/json.h"

namespace mneme::bundle::json {

// A launch's dimensions as a list of three numbers. Throws Error on one that is 0, and on a product of more than
// `most`.
void add_dimensions(Text& out, const char* key, const Dim3& dimensions);
Dim3 dimensions(const Object& in, const char* key, uint64_t most);
// For people: "128", "16,16".
std::string dimensions_text(const Dim3& dimensions);

}  // namespace mneme::bundle::json
