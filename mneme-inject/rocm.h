// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "invocation.h"

namespace mneme::inject {

// The folder of device libraries that the compiler has to be told, empty if it needs none: where the distribution has
// them, if that is not where clang looks and neither the command line nor the environment says another place. Where
// those lack what says which processor it is (oclc_isa_version_942.bc, which older ones do), and it is asked for, it is
// a folder of links to them (view.h) with those files, which the compiler makes.
std::string device_libraries_to_name(const Invocation& invocation, const std::string& compiler);

// ROCM_PATH or HIP_PATH set to a folder without HIP's version file makes clang leave out its HIP wrapper header
// without a word. Takes such a variable out of the environment.
void drop_misleading_paths();

}  // namespace mneme::inject
