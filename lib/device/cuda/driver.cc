// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/driver.h"

#include <dlfcn.h>

#include "base/error.h"

namespace mneme::device::cuda {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

class Loaded {
 public:
  Loaded() : library_(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw Error::of(Exit::kMissing, "there is no NVIDIA driver: {}", ::dlerror());
    if (::dlsym(library_, "mneme_hostgpu_settle")) {
      throw Error::of(Exit::kMissing, "there is no NVIDIA driver: the loader finds the host device's {}", kLibrary);
    }
    find(driver.cuInit, "cuInit");
    find(driver.cuDriverGetVersion, "cuDriverGetVersion");
    find(driver.cuGetErrorString, "cuGetErrorString");
    find(driver.cuDeviceGet, "cuDeviceGet");
    find(driver.cuDeviceGetName, "cuDeviceGetName");
    find(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
    find(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    find(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
    find(driver.cuCtxGetLimit, "cuCtxGetLimit");
    find(driver.cuCtxSetLimit, "cuCtxSetLimit");
    find(driver.cuModuleLoadData, "cuModuleLoadData");
    find(driver.cuModuleLoadDataEx, "cuModuleLoadDataEx");
    find(driver.cuModuleUnload, "cuModuleUnload");
    find(driver.cuModuleGetFunction, "cuModuleGetFunction");
    find(driver.cuModuleGetGlobal_v2, "cuModuleGetGlobal_v2");
    find(driver.cuFuncSetAttribute, "cuFuncSetAttribute");
    find(driver.cuMemAlloc_v2, "cuMemAlloc_v2");
    find(driver.cuMemFree_v2, "cuMemFree_v2");
    find(driver.cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity");
    find(driver.cuMemAddressReserve, "cuMemAddressReserve");
    find(driver.cuMemAddressFree, "cuMemAddressFree");
    find(driver.cuMemCreate, "cuMemCreate");
    find(driver.cuMemRelease, "cuMemRelease");
    find(driver.cuMemMap, "cuMemMap");
    find(driver.cuMemUnmap, "cuMemUnmap");
    find(driver.cuMemSetAccess, "cuMemSetAccess");
    find(driver.cuMemHostRegister_v2, "cuMemHostRegister_v2");
    find(driver.cuMemHostUnregister, "cuMemHostUnregister");
    find(driver.cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer_v2");
    find(driver.cuMemsetD8_v2, "cuMemsetD8_v2");
    find(driver.cuMemcpyDtoD_v2, "cuMemcpyDtoD_v2");
    find(driver.cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2");
    find(driver.cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2");
    find(driver.cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2");
    find(driver.cuMemsetD8Async, "cuMemsetD8Async");
    find(driver.cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2");
    find(driver.cuArray3DCreate_v2, "cuArray3DCreate_v2");
    find(driver.cuArrayDestroy, "cuArrayDestroy");
    find(driver.cuMipmappedArrayCreate, "cuMipmappedArrayCreate");
    find(driver.cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy");
    find(driver.cuMipmappedArrayGetLevel, "cuMipmappedArrayGetLevel");
    find(driver.cuMemcpy3D_v2, "cuMemcpy3D_v2");
    find(driver.cuTexObjectCreate, "cuTexObjectCreate");
    find(driver.cuTexObjectDestroy, "cuTexObjectDestroy");
    find(driver.cuSurfObjectCreate, "cuSurfObjectCreate");
    find(driver.cuSurfObjectDestroy, "cuSurfObjectDestroy");
    find(driver.cuLaunchKernel, "cuLaunchKernel");
    find(driver.cuLaunchKernelEx, "cuLaunchKernelEx");
    find(driver.cuCtxSynchronize, "cuCtxSynchronize");
    find(driver.cuEventCreate, "cuEventCreate");
    find(driver.cuEventDestroy_v2, "cuEventDestroy_v2");
    find(driver.cuEventRecord, "cuEventRecord");
    find(driver.cuEventSynchronize, "cuEventSynchronize");
    find(driver.cuEventElapsedTime, "cuEventElapsedTime");
    const char* text = nullptr;
    if (Result result = driver.cuInit(0)) {
      driver.cuGetErrorString(result, &text);
      throw Error::of(Exit::kMissing, "the NVIDIA driver finds no device: {}", text ? text : std::to_string(result));
    }
  }

  Driver driver{};

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (!function) throw Error::of(Exit::kMissing, "the NVIDIA driver is too old: it has no {}", name);
  }

  void* library_;  // stays
};

}  // namespace

const Driver& driver() {
  static const Loaded loaded;
  return loaded.driver;
}

void check(Result result, const char* doing) {
  if (result == 0) return;
  const char* text = nullptr;
  driver().cuGetErrorString(result, &text);
  throw Error::of("{} failed: {} ({})", doing, text ? text : "an error that the driver does not know", result);
}

}  // namespace mneme::device::cuda
