// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/format.h"
#include "bundle/json/json.h"

namespace mneme::bundle::json {

// The key `stores` of kernels and variants.
void add_stores(Text& out, const std::vector<StoreType>& stores);
std::vector<StoreType> parse_stores(const Object& in);

}  // namespace mneme::bundle::json
