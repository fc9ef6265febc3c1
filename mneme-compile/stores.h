// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "bundle/reader.h"

namespace mneme::compile {

// The PTX that a kernel without IR has; empty: none.
std::string_view ptx_of(const bundle::KernelMember& kernel);

// What a kernel stores where, by its IR, or else by what is lifted of its PTX; in a confined child. nullopt: nothing
// tells, or not in time.
std::optional<std::vector<bundle::StoreType>> stores_of(const bundle::KernelMember& kernel);

}  // namespace mneme::compile
