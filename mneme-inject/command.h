// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::inject {

// The environment variable by which the pass plugin learns whose heap kernels have: "mneme" or "vendor".
inline constexpr char kDeviceHeap[] = "MNEME_DEVICE_HEAP";

// And that by which it learns that nothing but the records of the kernels is wanted, on standard output.
inline constexpr char kAnswerWithRecords[] = "MNEME_INJECT_RECORDS";

// That by which it learns that the source is to be embedded.
inline constexpr char kEmbedSource[] = "MNEME_EMBED_SOURCE";

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

}  // namespace mneme::inject
