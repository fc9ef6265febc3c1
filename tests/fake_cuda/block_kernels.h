// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorder's own kernels, which it has as PTX or as code of GPUs: played by C++.
#pragma once
#include <string_view>

#include "driver.h"

namespace mneme::fake_cuda {

bool is_block_image(const void* image);
hipModule_t block_module();
bool is_block_module(hipModule_t module);
hipFunction_t find_block_kernel(std::string_view name);  // null: there is none
// Plays one that this is, in so many thread blocks. False: it is none.
bool play_block_kernel(hipFunction_t function, unsigned grid, void** arguments);

}  // namespace mneme::fake_cuda
