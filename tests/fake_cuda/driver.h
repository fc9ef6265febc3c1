// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of the driver's stand-in have in common. Errors, and handles of streams, have HIP's numbers and form.
#pragma once
#include <string>
#include <string_view>

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
// What this driver compiles PTX to stands in its first line (toolkit.py), in hexadecimal digits. Empty: it is none.
std::string cubin_in_ptx(std::string_view text);
// Whether the driver gave it out; and in a context that is gone.
bool is_of_module(const void* function);
bool is_lost(const void* function);
// What a kernel's node is asked for, its copy in another graph is, too.
void copy_node_attributes(hipGraphNode_t from, hipGraphNode_t to);
// A context is gone, with the functions that the driver gave out there; null: all contexts.
void lose_functions(hipCtx_t context);

}  // namespace mneme::fake_cuda
