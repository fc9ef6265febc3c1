// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "invocation.h"

namespace mneme::inject {

// Where the distribution keeps the device libraries, if the compiler has to be told: it is not where clang looks,
// and neither the command line nor the environment says another place. Otherwise empty.
std::string device_libraries_to_name(const Invocation& invocation);

// ROCM_PATH or HIP_PATH set to a folder without HIP's version file makes clang leave out its HIP wrapper header
// without a word. Takes such a variable out of the environment.
void drop_misleading_paths();

}  // namespace mneme::inject
