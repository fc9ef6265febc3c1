// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <span>
#include <string>
#include <vector>

#include "device/host/launch.h"

namespace mneme::device::host {

// What a replayed kernel may use, for code that checks its accesses: the recorded segments, and the code's variables
// that lie elsewhere. By address, disjoint.
std::vector<KnownMemory> known_memory(std::span<const bundle::Segment> segments,
                                      std::span<const codegen::host::GlobalSlot> variables);

inline constexpr char kHeapText[] = "the device's heap";

// "the variable 'table'", by its linker name.
std::string variable_text(const std::string& name);

}  // namespace mneme::device::host
