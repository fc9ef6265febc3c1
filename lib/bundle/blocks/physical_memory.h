// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

namespace mneme::bundle {

// The memory that this process may come to have: the machine's, or what its control groups, as of a container or a
// batch job, leave of it.
uint64_t physical_memory();

// The least that a control group above the process allows, read under `root`; UINT64_MAX without any limit.
uint64_t memory_limit_of_groups(const std::string& root);

}  // namespace mneme::bundle
