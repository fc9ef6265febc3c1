// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <set>
#include <string>

namespace mneme::restore {

// Whether code for the first is for an older or lesser processor of the same device than code for the other:
// "host:x86-64" before "host:x86-64-v2", "cuda:sm_90" before "cuda:sm_90a" before "cuda:sm_100", "hip:gfx9-generic"
// before "hip:gfx90a", that before "hip:gfx90a:xnack+" and "hip:gfx1030". A total order.
bool is_lesser_target(const std::string& one, const std::string& other);

// The least of them for each device, by the device's name ("host", "cuda", "hip").
std::map<std::string, std::string> least_targets(const std::set<std::string>& targets);

}  // namespace mneme::restore
