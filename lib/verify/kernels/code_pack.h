// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of all comparison kernels for one target, in one file: the size of each, and then each.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "base/digest.h"
#include "verify/element_type.h"

namespace mneme::verify {

inline std::string comparison_kernel_name(ElementType type) { return "compare_" + std::string(name_of(type)); }

inline std::string pack_code(const std::vector<std::string>& codes) {
  std::string pack;
  for (const std::string& code : codes) {
    uint64_t size = code.size();
    pack.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  for (const std::string& code : codes) pack += code;
  return pack;
}

// In the order of ElementType.
inline Bytes packed_code(Bytes pack, ElementType type) {
  uint64_t at = kElementTypes * sizeof(uint64_t), size = 0;
  for (size_t i = 0; i <= static_cast<size_t>(type); i++) {
    at += size;
    std::memcpy(&size, &pack[i * sizeof size], sizeof size);
  }
  return pack.subspan(at, size);
}

}  // namespace mneme::verify
