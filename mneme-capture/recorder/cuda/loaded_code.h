// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Notes code that an application loads at run time, by the driver's functions or the runtime's: the handles of both are
// the same. Each function takes the answer of the real one and returns it; where that is an error, it notes nothing.
#pragma once
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

// From the application's memory, of which the recorder keeps a copy, or from a file.
Result add_image(Result status, void* const* handle, CudaRuntime::Code kind, const void* image);
Result add_file(Result status, void* const* handle, CudaRuntime::Code kind, const char* path);
// Before it is unloaded: what its variables and functions were is to be forgotten while they are there.
void forget_code(void* handle);

// A kernel of it, by its name.
Result add_kernel(Result status, void* const* kernel, void* handle, const char* name);
// Some of its kernels, which the driver's function gives the names of.
Result add_kernels(Result status, void* const* kernels, unsigned room, void* handle,
                   const Next<Result(const char**, void*)>& name_of);

}  // namespace mneme::record::cuda
