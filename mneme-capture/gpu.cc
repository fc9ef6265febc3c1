// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/file.h"

namespace mneme::capture {
namespace {

// The loader may find the host device's stand-in first, by LD_LIBRARY_PATH. That is no vendor's library.
bool is_stand_in(void* library) { return ::dlsym(library, "mneme_hostgpu_settle") != nullptr; }

}  // namespace

bool has_nvidia_gpu() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);  // for good: drivers are not made to be unloaded
  if (!driver || is_stand_in(driver)) return false;
  // To ask the driver takes a while. But it knows what this variable hides, and where there are no device files.
  if (file_exists("/dev/nvidia0") && !std::getenv("CUDA_VISIBLE_DEVICES")) return true;
  auto* init = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  auto* count = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  return init && count && init(0) == 0 && count(&devices) == 0 && devices > 0;
}

bool has_amd_gpu() {
  void* runtime = nullptr;  // for good, too
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
    if (!runtime) runtime = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  }
  if (!runtime || is_stand_in(runtime)) return false;
  auto* count = reinterpret_cast<int (*)(int*)>(::dlsym(runtime, "hipGetDeviceCount"));
  int devices = 0;
  return count && count(&devices) == 0 && devices > 0;
}

}  // namespace mneme::capture
