// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparison kernels, as they are in the files that the build makes.
#pragma once
#include "objects/code_pack.h"
#include "verify/element_type.h"

namespace mneme::verify {

// The kernel that measures absolute and relative errors, or that which measures scaled ones and those in ULPs.
inline std::string comparison_kernel_name(ElementType type, bool scaled) {
  return (scaled ? "scaled_" : "compare_") + std::string(name_of(type));
}

inline Bytes packed_code(Bytes pack, ElementType type, bool scaled) {
  return objects::packed_code(pack, comparison_kernel_name(type, scaled));
}

}  // namespace mneme::verify
