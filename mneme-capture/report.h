// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "bundle/format.h"

namespace mneme::capture {

// What --summary prints, line by line: each kernel, how often it was launched, recorded and not, and why not.
std::vector<std::string> report(const bundle::Summary& summary);

}  // namespace mneme::capture
