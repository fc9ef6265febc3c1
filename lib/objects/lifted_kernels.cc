// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/lifted_kernels.h"

#include <sstream>

#include "base/error.h"
#include "base/file.h"

namespace mneme::objects {

LiftedKernels lift_kernels(Bytes ptx, const std::string& kernel, const RunCommand& run) {
  std::vector<std::string> command = {installed_part("mneme-lift")};
  if (!kernel.empty()) command.push_back(kernel);
  CommandResult result = run ? run(command, ptx) : run_command(command, std::string(text_of(ptx)));
  std::istringstream lines(result.errors);
  std::string line;
  if (result.status != 0) {
    std::getline(lines, line);
    throw Error::of("the PTX cannot be read: {}",
                    line.empty() ? "mneme-lift " + describe_wait_status(result.status) : line);
  }
  LiftedKernels lifted{std::move(result.output), {}};
  while (std::getline(lines, line)) {
    size_t tab = line.find('\t');
    if (tab != std::string::npos) lifted.refused[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return lifted;
}

LiftedKernel lift_kernel(Bytes ptx, const std::string& kernel) {
  LiftedKernels lifted = lift_kernels(ptx, kernel);
  if (auto refused = lifted.refused.find(kernel); refused != lifted.refused.end()) throw Error(refused->second);
  std::vector<EmbeddedKernel> kernels =
      parse_embedded(bytes_of(lifted.records), "the IR that mneme-lift made from the PTX");
  if (kernels.size() != 1) throw Error::of("the PTX has no kernel '{}'", kernel);
  return {std::move(kernels[0].info), std::string(text_of(kernels[0].bitcode))};
}

}  // namespace mneme::objects
