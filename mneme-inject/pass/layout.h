// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

#include <cstdint>
#include <vector>

#include "bundle/format.h"

namespace mneme::inject {

struct ArgumentLayout {
  std::vector<bundle::Argument> arguments;
  uint32_t bytes = 0;  // to the end of the last one
};

// Where each explicit argument of a kernel lies in its argument bytes, as the backend will have it.
ArgumentLayout argument_layout(const llvm::Function& kernel);

}  // namespace mneme::inject
