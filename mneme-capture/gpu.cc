// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu.h"

#include <dlfcn.h>

#include "base/file.h"

namespace mneme::capture {

bool has_nvidia_gpu() {
  if (file_exists("/dev/nvidiactl")) return true;
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);  // for good: drivers are not made to be unloaded
  if (!driver) return false;
  auto* init = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  auto* count = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  return init && count && init(0) == 0 && count(&devices) == 0 && devices > 0;
}

}  // namespace mneme::capture
