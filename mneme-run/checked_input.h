// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file.h"

namespace mneme::run {

// `mneme-compile --check-memory` between the input and mneme-run.
class CheckedInput {
 public:
  // Starts it on `input`, which it reads from where it is. `selection`: more of its arguments. Throws Error
  // (Exit::kMissing) when it cannot be started.
  CheckedInput(int input, const std::vector<std::string>& selection);
  ~CheckedInput();
  CheckedInput(const CheckedInput&) = delete;
  CheckedInput& operator=(const CheckedInput&) = delete;

  int fd() const { return output_.get(); }
  // After all was read, and at any other time: throws Error, with its exit status, if it failed; it has said why.
  void finish();
  void check_end();

 private:
  Fd output_;
  pid_t process_ = -1;
};

}  // namespace mneme::run
