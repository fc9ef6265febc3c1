// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace mneme::hostgpu {

struct Mapping {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes
  int device = 0;     // whose memory it is
  bool writable = false;
};

// The piece made by hipMemMap that contains an address.
std::optional<Mapping> find_mapping(const void* address);
// Every such piece, by address.
std::vector<Mapping> all_mappings();

}  // namespace mneme::hostgpu
