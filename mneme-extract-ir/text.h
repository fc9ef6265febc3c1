// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

namespace mneme::extract {

// Bitcode as LLVM assembly. It may come from a stranger, so it is parsed in a confined child process: what crashes
// LLVM costs an Error. `what` names the kernel.
std::string disassemble(const std::string& bitcode, const std::string& what);

// How a kernel is shown: its name may come from a stranger too, and must not drive a terminal.
std::string printable(const std::string& name);

// "saxpy-3f2a…" for "void saxpy<float>(float, …)": what a file for the kernel is called, without its extension.
std::string file_stem(const std::string& demangled, const std::string& hash);

}  // namespace mneme::extract
