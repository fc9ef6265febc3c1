// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::inject {

// The environment variable by which the pass plugin learns whose heap kernels have: "mneme" or "vendor".
inline constexpr char kDeviceHeap[] = "MNEME_DEVICE_HEAP";

struct Recordable {
  std::vector<std::string> command;
  bool leaves_assembly = false;  // that has IR in it: run_keeping_temporaries()
  std::string note;              // what the user should know of how it differs; empty: nothing
};

// The command to run in place of `command` (compiler and arguments): the same, with what makes its output recordable
// where it compiles HIP or CUDA. Throws Error for what cannot be made recordable.
Recordable recordable(const std::vector<std::string>& command);

// What a compilation, or a link, of a language ("hip" or "cuda") gets.
std::vector<std::string> compile_flags(const std::string& language);
std::vector<std::string> link_flags(const std::string& language);

// As a shell would have to be given it.
std::string quoted(const std::vector<std::string>& words);

}  // namespace mneme::inject
