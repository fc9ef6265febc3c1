// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file.h"

namespace mneme::run {

// `mneme-compile` between the input and mneme-run, adding a variant of each kernel.
class CompiledInput {
 public:
  // Starts it on `input`, which it reads from where it is. `what`: the first of its arguments, which names it in
  // messages. `selects`: with the choice of kernels and instances that variables make. Throws Error (Exit::kMissing)
  // when it cannot be started.
  CompiledInput(int input, const std::string& what, const std::vector<std::string>& arguments, bool selects = true);
  ~CompiledInput();
  CompiledInput(const CompiledInput&) = delete;
  CompiledInput& operator=(const CompiledInput&) = delete;

  int fd() const { return output_.get(); }
  // After all that is wanted was read: lets it come to its end. Throws Error, with its exit status, if it failed; it
  // has said why.
  void finish();
  // At any other time: the same if it has ended, and nothing of what it wrote is left.
  void check_end();

 private:
  std::string what_;
  Fd output_;
  pid_t process_ = -1;
};

}  // namespace mneme::run
