// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mneme::codegen {

// Links one relocatable object into a shared object with lld, in this process and without touching the file
// system. Throws Error with lld's message.
std::string link_shared_object(std::string_view object, const std::vector<std::string>& options);

}  // namespace mneme::codegen
