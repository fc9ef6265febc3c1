// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>
#include <vector>

#include "objects/embedded.h"

namespace mneme::hostgpu {

// Kernels of a fat binary that no compiler of ours has seen, from the PTX in it.
struct LiftedKernels {
  std::string records;                         // as objects/embedded.h has them
  std::map<std::string, std::string> refused;  // by name: why a kernel is not among them
};

// Of the newest of these texts (objects::device_code_of_image). Throws Error where mneme-lift cannot be run.
LiftedKernels lift_kernels(const std::vector<objects::DeviceCode>& ptx);

}  // namespace mneme::hostgpu
