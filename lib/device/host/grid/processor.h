// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

namespace mneme::device::host {

// The x86-64 level (2, 3, 4) of the processor that this runs on; 1 of an older one.
unsigned processor_level();

// Why code for a target of the host device ("host:x86-64-v4") is not for a processor of that level, as a sentence for
// users; empty if it is, and for targets that name no level.
std::string why_not_here(const std::string& target, unsigned level = processor_level());

}  // namespace mneme::device::host
