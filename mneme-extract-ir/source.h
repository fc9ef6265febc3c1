// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "kernels.h"

namespace mneme::extract {

// Makes the folder, with the source of the kernels in it, which must be the same for all: the compiled file, to be
// edited; headers/, the headers that it includes, with overlay.json, by which clang finds them under their own names;
// and command, by which it was compiled. `mneme-compile --source` compiles it there. Throws Error where the folder is
// there already, and for kernels without source.
void write_source(const Found& found, const std::string& folder);

}  // namespace mneme::extract
