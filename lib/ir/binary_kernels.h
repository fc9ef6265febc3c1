// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels in an executable, an object file, a static library or a fat binary: those that mneme-inject embedded, and
// where there are none, those that are made of PTX.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "bundle/reader.h"

namespace mneme::ir {

struct BinaryKernels {
  std::vector<bundle::KernelMember> kernels;   // in order, some perhaps twice; without their source
  std::map<Digest, std::string> sources;       // by KernelInfo::source_text
  std::map<std::string, std::string> refused;  // by name: why PTX gives no IR of a kernel
  std::string lack;                            // "has …": why there are no kernels; empty: there are some
};

// Whether a file that begins with these bytes is one, as far as they tell.
bool is_binary(std::string_view bytes);

// Throws Error, naming the file, on one that is damaged.
BinaryKernels kernels_of_binary(Bytes file, const std::string& name);

}  // namespace mneme::ir
