// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions by which an application looks up functions of CUDA's driver by name: what it finds of those that are
// hooked are the hooks. CUDA's runtime looks up the driver's in another way, and finds the driver's own.
#include <dlfcn.h>

#include <string>

#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

using Flags = unsigned long long;

// Of newer versions of a function and of those for streams of a thread, as they follow the name that is looked up.
constexpr const char* kSuffixes[] = {"", "_v2", "_v2_ptds", "_v2_ptsz", "_ptds", "_ptsz"};

// This library, if the function is one of its own; else null.
void* own_function(const std::string& name) {
  static void* const own = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<void*>(&own_function), &info);
    return info.dli_fname ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  return own ? ::dlsym(own, name.c_str()) : nullptr;
}

// The hook of the function that was found, by which of the driver's exports it is; itself if there is none.
void* hooked(const char* symbol, void* found) {
  static void* const driver = ::dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD);
  if (!driver || !symbol || !found) return found;
  for (const char* suffix : kSuffixes) {
    std::string name = std::string(symbol) + suffix;
    if (::dlsym(driver, name.c_str()) != found) continue;
    if (void* own = own_function(name)) return own;
  }
  return found;
}

Status look_up(CudaRuntime&, const Real& real, const char* symbol, void** function, ...) noexcept {
  const Status status = real();
  try {
    if (status == kSuccess && function) *function = hooked(symbol, *function);
  } catch (...) {  // the driver's own serves
  }
  return status;
}

}  // namespace

HOOK(look_up, cuGetProcAddress, const char*, void**, int, Flags)
HOOK(look_up, cuGetProcAddress_v2, const char*, void**, int, Flags, int*)
HOOK_PTSZ(look_up, cudaGetDriverEntryPoint, const char*, void**, Flags, int*)
HOOK_PTSZ(look_up, cudaGetDriverEntryPointByVersion, const char*, void**, unsigned, Flags, int*)

}  // namespace mneme::record::cuda
