// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/lifted_kernels.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "hostgpu/compile/detached_command.h"
#include "objects/cuda_processor.h"

namespace mneme::hostgpu {

LiftedKernels lift_kernels(const std::vector<objects::DeviceCode>& ptx) {
  LiftedKernels lifted;
  auto newest = std::ranges::max_element(
      ptx, {}, [](const objects::DeviceCode& code) { return objects::cuda_processor(code.target).number; });
  if (newest == ptx.end()) return lifted;
  CommandResult result = run_detached({installed_part("mneme-lift")}, newest->image);
  if (result.status != 0) throw Error::of("the application's PTX cannot be read: {}", result.errors);
  lifted.records = std::move(result.output);
  std::istringstream lines(result.errors);
  for (std::string line; std::getline(lines, line);) {
    size_t tab = line.find('\t');
    if (tab != std::string::npos) lifted.refused[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return lifted;
}

}  // namespace mneme::hostgpu
