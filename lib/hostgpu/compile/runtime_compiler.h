// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>
#include <vector>

namespace mneme::hostgpu {

// Source that an application wants compiled while it runs.
struct RuntimeSource {
  std::string name;    // what messages call it
  std::string source;  // HIP; hip_runtime.h is included before it
  std::map<std::string, std::string> headers;
  std::vector<std::string> expressions;  // of kernels and variables whose symbols are asked for
  std::vector<std::string> options;      // the compiler's
  std::string architecture;              // when no option names one
};

struct RuntimeCode {
  bool compiled = false;
  std::string log;                             // what the compiler said
  std::string code;                            // a code object that carries its IR
  std::map<std::string, std::string> symbols;  // by expression
};

// Has mneme-inject and clang++-19 compile it, in processes that the application does not notice. What is wrong with the
// source, and that a compiler is not there, is in the log. Throws Error when nothing can be started or written.
RuntimeCode compile_at_runtime(const RuntimeSource& source);

}  // namespace mneme::hostgpu
