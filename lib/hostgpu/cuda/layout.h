// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes and places of members, as one set of declarations has them.
#pragma once
#include <cstddef>
#include <map>
#include <string>

namespace mneme::hostgpu::cuda {

using Layout = std::map<std::string, size_t>;

Layout toolkit_layout();  // empty where there is no toolkit

}  // namespace mneme::hostgpu::cuda
