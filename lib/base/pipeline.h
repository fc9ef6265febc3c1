// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "base/error.h"

namespace mneme {

// A failure that another stage of the same pipeline has reported: the tool ends with the status, and says nothing.
class Reported : public Error {
 public:
  Reported() : Error("another stage of the pipeline failed") {}
};

bool is_pipe(int fd);

}  // namespace mneme
