// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contexts. Each device has one primary context, and all others, as on AMD's devices, stand for their device, which is
// the thread's while they are current.
#include <array>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"

struct ihipCtx_t {
  unsigned flags = 0;
  int device = 0;
};

namespace mneme::hostgpu {
namespace {

constexpr int kApiVersion = 4;  // what AMD's runtime says

struct Contexts {
  Contexts() {
    for (int device = 0; device < device_count(); ++device) {
      primary[static_cast<size_t>(device)].device = device;
      live.insert(&primary[static_cast<size_t>(device)]);
    }
  }
  HeldOverForks<std::mutex> mutex;
  std::array<ihipCtx_t, kMostDevices> primary;
  std::array<unsigned, kMostDevices> retained{};
  std::unordered_set<hipCtx_t> live;
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

ihipCtx_t& primary_of(int device) { return contexts().primary[static_cast<size_t>(device)]; }
bool is_primary(hipCtx_t context) { return &primary_of(context->device) == context; }

// Null is the primary one.
hipCtx_t checked(hipCtx_t context) {
  if (!context) return &primary_of(current_device());
  std::lock_guard lock(contexts().mutex);
  require(contexts().live.contains(context), hipErrorInvalidContext);
  return context;
}

// hipSetDevice makes another device's primary context current.
hipCtx_t current() {
  bool pushed = !stack().empty() && stack().back()->device == current_device();
  return pushed ? stack().back() : &primary_of(current_device());
}

void push(hipCtx_t context) {
  stack().push_back(context);
  set_current_device(context->device);
}

// The one before is current again.
void pop() {
  stack().pop_back();
  if (!stack().empty()) set_current_device(stack().back()->device);
}

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
    made->device = device;
    std::lock_guard lock(contexts().mutex);
    contexts().live.insert(made.get());
    push(made.get());
    *context = made.release();
  });
}

hipError_t hipCtxDestroy(hipCtx_t context) {
  return answer([&] {
    require(context);
    {
      std::lock_guard lock(contexts().mutex);
      require(contexts().live.contains(context) && !is_primary(context), hipErrorInvalidContext);
      contexts().live.erase(context);
    }
    std::erase(stack(), context);
    delete context;
  });
}

hipError_t hipCtxPushCurrent(hipCtx_t context) {
  return answer([&] {
    require(context, hipErrorInvalidContext);
    push(checked(context));
  });
}

hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  return answer([&] {
    require(!stack().empty(), hipErrorInvalidContext);
    if (context) *context = stack().back();
    pop();
  });
}

hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return answer([&] {
    if (context) checked(context);
    if (!stack().empty()) pop();
    if (context) push(context);
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
    *device = current_device();
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

// The same as between their devices.
hipError_t hipCtxEnablePeerAccess(hipCtx_t context, unsigned flags) {
  int peer = -1;
  hipError_t bad = answer([&] {
    require(flags == 0);
    peer = checked(context)->device;
    require(peer != current_device(), hipErrorPeerAccessUnsupported);
  });
  return bad == hipSuccess ? hipDeviceEnablePeerAccess(peer, flags) : bad;
}
hipError_t hipCtxDisablePeerAccess(hipCtx_t context) {
  int peer = -1;
  hipError_t bad = answer([&] {
    peer = checked(context)->device;
    require(peer != current_device(), hipErrorPeerAccessNotEnabled);
  });
  return bad == hipSuccess ? hipDeviceDisablePeerAccess(peer) : bad;
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
  return answer([&] {
    require(flags && active);
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    *flags = primary_of(device).flags;
    *active = contexts().retained[static_cast<size_t>(device)] > 0;
  });
}

hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return answer([&] {
    require(context);
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    ++contexts().retained[static_cast<size_t>(device)];
    *context = &primary_of(device);
  });
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return answer([&] {
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    if (contexts().retained[static_cast<size_t>(device)]) --contexts().retained[static_cast<size_t>(device)];
  });
}

hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  hipError_t bad = answer([&] { check_device(device); });
  if (bad != hipSuccess) return bad;
  OnDevice there(device);
  return hipDeviceReset();
}

hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags) {
  return answer([&] {
    check_device(device);
    std::lock_guard lock(contexts().mutex);
    require(contexts().retained[static_cast<size_t>(device)] == 0, hipErrorContextAlreadyInUse);
    primary_of(device).flags = flags;
  });
}

}  // extern "C"
