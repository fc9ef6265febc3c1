// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contexts. The one device has one primary context, and all others, as on AMD's devices, stand for the same device:
// which one is current changes nothing but the answers to questions about it.
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "hostgpu/device_info.h"
#include "hostgpu/errors.h"

struct ihipCtx_t {
  unsigned flags = 0;
};

namespace mneme::hostgpu {
namespace {

constexpr int kApiVersion = 4;  // what AMD's runtime says

struct Contexts {
  std::mutex mutex;
  ihipCtx_t primary;
  unsigned retained = 0;
  std::unordered_set<hipCtx_t> live{&primary};
};

Contexts& contexts() {
  static auto* all = new Contexts;
  return *all;
}

// Of this thread; the last is current.
std::vector<hipCtx_t>& stack() {
  thread_local std::vector<hipCtx_t> contexts;
  return contexts;
}

// Null is the primary one.
hipCtx_t checked(hipCtx_t context) {
  if (!context) return &contexts().primary;
  std::lock_guard lock(contexts().mutex);
  require(contexts().live.contains(context), hipErrorInvalidContext);
  return context;
}

hipCtx_t current() { return stack().empty() ? &contexts().primary : stack().back(); }

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t device) {
  return answer([&] {
    require(context);
    check_device(device);
    auto made = std::make_unique<ihipCtx_t>();
    made->flags = flags;
    std::lock_guard lock(contexts().mutex);
    contexts().live.insert(made.get());
    stack().push_back(made.get());
    *context = made.release();
  });
}

hipError_t hipCtxDestroy(hipCtx_t context) {
  return answer([&] {
    require(context);
    require(context != &contexts().primary, hipErrorInvalidContext);
    {
      std::lock_guard lock(contexts().mutex);
      require(contexts().live.erase(context) == 1, hipErrorInvalidContext);
    }
    std::erase(stack(), context);
    delete context;
  });
}

hipError_t hipCtxPushCurrent(hipCtx_t context) {
  return answer([&] {
    require(context, hipErrorInvalidContext);
    stack().push_back(checked(context));
  });
}

hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  return answer([&] {
    require(!stack().empty(), hipErrorInvalidContext);
    if (context) *context = stack().back();
    stack().pop_back();
  });
}

hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return answer([&] {
    if (!stack().empty()) stack().pop_back();
    if (context) stack().push_back(checked(context));
  });
}

hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  return answer([&] {
    require(context);
    *context = current();
  });
}

hipError_t hipCtxGetDevice(hipDevice_t* device) {
  return answer([&] {
    require(device);
    *device = 0;
  });
}

hipError_t hipCtxGetApiVersion(hipCtx_t context, int* version) {
  return answer([&] {
    require(version);
    checked(context);
    *version = kApiVersion;
  });
}

hipError_t hipCtxGetFlags(unsigned* flags) {
  return answer([&] {
    require(flags);
    *flags = current()->flags;
  });
}

hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }

// Preferences, which have no meaning on the host.
hipError_t hipCtxGetCacheConfig(hipFuncCache_t* config) { return hipDeviceGetCacheConfig(config); }
hipError_t hipCtxSetCacheConfig(hipFuncCache_t config) { return hipDeviceSetCacheConfig(config); }
hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig* config) { return hipDeviceGetSharedMemConfig(config); }
hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config) { return hipDeviceSetSharedMemConfig(config); }

// All contexts are the one device's: there is no peer.
hipError_t hipCtxEnablePeerAccess(hipCtx_t context, unsigned flags) {
  return answer([&] {
    require(flags == 0);
    checked(context);
    throw HipError(hipErrorPeerAccessUnsupported);
  });
}
hipError_t hipCtxDisablePeerAccess(hipCtx_t context) {
  return answer([&] {
    checked(context);
    throw HipError(hipErrorPeerAccessNotEnabled);
  });
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
  return answer([&] {
    require(flags && active);
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    *flags = contexts().primary.flags;
    *active = contexts().retained > 0;
  });
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return answer([&] {
    require(context);
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    ++contexts().retained;
    *context = &contexts().primary;
  });
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return answer([&] {
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    if (contexts().retained) --contexts().retained;
  });
}

hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  hipError_t checked = answer([&] { check_device(device); });
  return checked == hipSuccess ? hipDeviceReset() : checked;
}

hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags) {
  return answer([&] {
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    require(contexts().retained == 0, hipErrorContextAlreadyInUse);
    contexts().primary.flags = flags;
  });
}

}  // extern "C"
