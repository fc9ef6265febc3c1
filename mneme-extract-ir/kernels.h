// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bundle/reader.h"
#include "cli/stage.h"

namespace mneme::extract {

using Kernels = std::vector<bundle::KernelMember>;

struct Found {
  Kernels kernels;                        // the selected ones, each code once, in the input's order; without `source`
  std::map<Digest, std::string> sources;  // which is here, by KernelInfo::source_text
  std::string truncation;                 // a sentence where the input, a bundle, was cut short
};

// The selected kernels whose target contains `target`, of a bundle, or of a binary that mneme-inject made recordable:
// an executable, a shared or static library, an object file, a device code object, an offload bundle. Throws Error when
// there is none.
Found find_kernels(const cli::Input& input, const cli::Selection& selection, const std::string& target);

}  // namespace mneme::extract
