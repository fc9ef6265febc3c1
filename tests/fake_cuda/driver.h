// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of the driver's stand-in have in common. Errors, and handles of streams, have HIP's numbers and form.
#pragma once
#include "hostgpu/cuda/cuda.h"

namespace mneme::fake_cuda {

using Result = int;                  // CUresult
using Address = unsigned long long;  // CUdeviceptr

inline constexpr Result kInvalidValue = 1, kInvalidContext = 201, kInvalidHandle = 400, kNotFound = 500;

inline void* pointer(Address address) { return reinterpret_cast<void*>(address); }

template <class Status>
Result result(Status status) {
  return static_cast<Result>(status);
}

// Kernels of libraries are functions of modules here, and those of start-up code are host functions, but the function
// of a kernel is another handle, as the driver's is.
inline constexpr uintptr_t kFunctionOfKernel = 1;
inline hipFunction_t function_of_kernel(const void* kernel) {
  return reinterpret_cast<hipFunction_t>(reinterpret_cast<uintptr_t>(kernel) | kFunctionOfKernel);
}
inline hipFunction_t as_hip(hipFunction_t function) {
  return reinterpret_cast<hipFunction_t>(reinterpret_cast<uintptr_t>(function) & ~kFunctionOfKernel);
}
// Whether the driver gave it out.
bool is_of_module(const void* function);
// A context is gone, with the functions that the driver gave out there; null: all contexts.
void lose_functions(hipCtx_t context);

}  // namespace mneme::fake_cuda
