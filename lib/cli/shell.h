// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::cli {

// A command as a shell would have to be given it.
std::string quoted(const std::vector<std::string>& words);

}  // namespace mneme::cli
