// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's functions by name. Functions that are refused are found, too: programs look up more than they call.
#include <dlfcn.h>

#include "hostgpu/cuda/driver/driver.h"
#include "vendor/cuda/exports.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

using namespace vendor::cuda;

// As this library exports it, even where another stands in front.
void* address_of(const char* name) {
  static void* const own = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<void*>(&address_of), &info);
    return info.dli_fname ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  return own ? ::dlsym(own, name) : nullptr;
}

constexpr unsigned long long kFlags = kLegacyStream | kThreadsStream;

// A name that is not found is no error: the status says so.
Result find(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
  if (!symbol || !*symbol || !function || (flags & ~kFlags) || flags == kFlags) return kInvalidValue;
  FoundExport found = look_up(symbol, version, flags == kThreadsStream);
  *function = found.function ? address_of(found.function->name) : nullptr;
  if (status) *status = static_cast<int>(found.found);
  return 0;
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda::driver;

extern "C" {

Result cuGetProcAddress_v2(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
  return find(symbol, function, version, flags, status);
}
// The older one has no status, and leaves the pointer as it is.
Result cuGetProcAddress(const char* symbol, void** function, int version, unsigned long long flags) {
  void* found = nullptr;
  Result result = find(symbol, function ? &found : nullptr, version, flags, nullptr);
  if (result == 0 && !found) return kNotFound;
  if (result == 0) *function = found;
  return result;
}

}  // extern "C"
