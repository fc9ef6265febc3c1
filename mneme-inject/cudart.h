// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA runtime library. The recorder stands between an application and the shared one; of one that is linked
// statically it sees nothing.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/cuda_toolkit.h"

namespace mneme::inject {

// Whether the arguments name the runtime library, in either form.
bool names_cudart(const std::vector<std::string>& arguments);

// `arguments` with the shared library in place of the static one; nothing where they do not name that. Response files
// are replaced by what is in them if need be.
std::optional<std::vector<std::string>> with_shared_cudart(const std::vector<std::string>& arguments);

// For the linker, and the loader later on, to find the toolkit's shared library.
std::vector<std::string> cudart_places(const CudaToolkit& toolkit);

}  // namespace mneme::inject
