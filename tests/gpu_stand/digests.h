// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorder's own kernel, which it has as PTX or as code of GPUs: played by C++.
#pragma once
#include "driver.h"

namespace mneme::gpu_stand {

bool is_digest_image(const void* image);
hipModule_t digest_module();
bool is_digest_module(hipModule_t module);
hipFunction_t digest_kernel();
bool is_digest_kernel(hipFunction_t function);
void digest_blocks(void** arguments);

}  // namespace mneme::gpu_stand
