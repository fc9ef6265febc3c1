// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bytes of a launch's arguments code for it depends on.
#pragma once
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::bundle {

// Whether it is, or has in it, the handle of a texture or a surface, which is another one in each process.
bool holds_handle(const KernelInfo& kernel, const Argument& argument);

// The bytes that the arguments of a launch must have for a variant that was specialised to a launch with `arguments`:
// those of its specialize_args, without padding, by offset. Empty where it has none. Throws Error where these are no
// arguments of the kernel, or `arguments` are fewer bytes than the kernel's.
std::vector<Guard> guards_of(const KernelInfo& kernel, const Configuration& configuration, std::string_view arguments);

}  // namespace mneme::bundle
