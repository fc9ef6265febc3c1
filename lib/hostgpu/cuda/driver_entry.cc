// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs look the driver's functions up through the runtime: in the library that lies beside this one.
#include <dlfcn.h>

#include <string>

#include "hostgpu/cuda/versions.h"

namespace mneme::hostgpu::cuda {
namespace {

using GetAddress = int (*)(const char*, void**, int, unsigned long long, int*);

GetAddress drivers() {
  static const GetAddress found = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<void*>(&drivers), &info);
    std::string path = info.dli_fname ? info.dli_fname : "";
    void* driver = ::dlopen((path.substr(0, path.rfind('/') + 1) + "libcuda.so.1").c_str(), RTLD_LAZY | RTLD_LOCAL);
    return driver ? reinterpret_cast<GetAddress>(::dlsym(driver, "cuGetProcAddress_v2")) : nullptr;
  }();
  return found;
}

}  // namespace

Error driver_entry(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
  GetAddress get = drivers();
  if (!get) return error(hipErrorSharedObjectInitFailed);
  return get(symbol, function, version, flags, status);
}

}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long flags,
                                       int* status) {
  return driver_entry(symbol, function, static_cast<int>(version), flags, status);
}
Error cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function, unsigned version,
                                            unsigned long long flags, int* status) {
  return driver_entry(symbol, function, static_cast<int>(version), flags ? flags : kEntryPerThread, status);
}

}  // extern "C"
