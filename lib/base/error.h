// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace mneme {

// What a tool's process ends with. The numbers are part of the tools' contract.
enum class Exit : int {
  kSuccess = 0,
  kNotVerified = 1,       // a verdict, not a fault
  kBadInput = 2,          // bad usage or bad input
  kMissing = 3,           // the device or tool needed is missing
  kApplicationFailed = 4  // the recorded application failed
};

// The one exception of the project. what() is a sentence that a user can act on: what went
// wrong, in which file or kernel, and what to do about it; no trailing full stop, no "error:".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Exit exit = Exit::kBadInput) : std::runtime_error(message), exit_(exit) {}

  template <typename... Args>
  static Error of(fmt::format_string<Args...> format, Args&&... args) {
    return Error(fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  static Error of(Exit exit, fmt::format_string<Args...> format, Args&&... args) {
    return Error(fmt::format(format, std::forward<Args>(args)...), exit);
  }

  Exit exit() const { return exit_; }

 private:
  Exit exit_;
};

// A system call failed: "cannot open 'x': No such file or directory" from errno as it is now.
Error system_error(const std::string& what);

}  // namespace mneme
