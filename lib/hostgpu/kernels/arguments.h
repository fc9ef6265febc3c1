// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <vector>

#include "objects/launch_arguments.h"

namespace mneme::hostgpu {

// Of a launch of a module's function, or a node of a graph. Throws HipError if there are both.
objects::LaunchArguments arguments_of(void** arguments, void** extra);

// Where each value lies. Throws HipError for a buffer that ends before the last.
std::vector<void*> argument_list(const bundle::KernelInfo& kernel, const objects::LaunchArguments& arguments);

}  // namespace mneme::hostgpu
