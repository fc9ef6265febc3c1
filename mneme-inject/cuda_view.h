// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What clang 19 needs to compile with a CUDA toolkit so that kernels can be recorded. It knows toolkits up to 12.5, and
// takes 13.0 when a few things are mended. Headers of ours come before the toolkit's (cuda/include). Programs of ours
// (cuda/) have to be where it looks for the toolkit's: so it is shown a folder of links in place of the toolkit, which
// is left as it is.
#pragma once
#include <string>
#include <vector>

#include "base/cuda_toolkit.h"

namespace mneme::inject {

// The folder of links (view.h), to name as --cuda-path.
std::string cuda_path(const CudaToolkit& toolkit);

// What a compilation is given besides, with the toolkit's headers or without.
std::vector<std::string> cuda_compile_flags(const CudaToolkit& toolkit, bool headers = true);

}  // namespace mneme::inject
