// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::inject {

// The index in `command` of the compiler: behind compiler caches and the like, such as ccache.
size_t compiler_index(const std::vector<std::string>& command);

// Whether it is NVIDIA's compiler driver, by its name or what that leads to.
bool is_nvcc(const std::string& compiler);

// Whether it is called as compilers are that take the options of gcc.
bool is_compiler_name(const std::string& program);

// Throws Error unless the compiler is clang 19, whose LLVM the pass plugin uses. Cheap for an installed clang-19;
// asks others for their version.
void require_clang_19(const std::string& compiler);

}  // namespace mneme::inject
