// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What devices say of themselves: what an MI210 does, as far as it is true of the host.
#include "hostgpu/device/info.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "device/host/launch.h"
#include "hostgpu/errors.h"
#include "hostgpu/kernels/program.h"
#include "hostgpu/memory/device_heap.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/queue/queue.h"

namespace mneme::hostgpu {
namespace {

constexpr int kVersion = 50221153;  // HIP 5.2.21153, as this interface's headers have it

std::string bus_id(int device) { return fmt::format("0000:{:02x}:00.0", device); }

std::string processor() {
  std::string target = first_target();
  return target.empty() ? "gfx90a" : target;
}

// Of each thread, bytes: as GPUs have it, and what the application asked for.
constexpr size_t kUsualStack = 1024, kLargestStack = size_t{1} << 30;
std::array<std::atomic<size_t>, kMostDevices> asked_stacks;
std::atomic<size_t>& asked_stack() { return asked_stacks[static_cast<size_t>(current_device())]; }

bool is_nvidia(const std::string& arch) { return arch.starts_with("sm_"); }

// "gfx90a:xnack-": 9, 0, 10; the last two digits are the minor version and the stepping, in hexadecimal. "sm_90": 9, 0.
// "gfx10-3-generic", for all of a family: its first, 10, 3, 0.
struct ArchVersion {
  int major, minor, stepping;
};
ArchVersion version_of(const std::string& arch) {
  std::string digits = arch.substr(0, arch.find(':'));
  digits.erase(0, digits.find_first_of("0123456789"));
  if (is_nvidia(arch)) {
    int number = std::atoi(digits.c_str());
    return {number / 10, number % 10, 0};
  }
  if (digits.ends_with("-generic")) {
    size_t minor = digits.find('-') + 1;
    return {std::atoi(digits.c_str()), std::atoi(digits.c_str() + minor), 0};
  }
  if (digits.size() < 3) return {9, 0, 10};
  auto digit = [&](size_t from_end) {
    return static_cast<int>(std::strtol(digits.substr(digits.size() - from_end, 1).c_str(), nullptr, 16));
  };
  return {std::atoi(digits.substr(0, digits.size() - 2).c_str()), digit(2), digit(1)};
}

}  // namespace

const codegen::SharedMemory& shared_memory() {
  static const codegen::SharedMemory made = [] {
    std::string arch = processor();
    return codegen::shared_memory_of((is_nvidia(arch) ? "cuda:" : "hip:") + arch);
  }();
  return made;
}

const hipDeviceProp_t& properties() {
  static const hipDeviceProp_t made = [] {
    hipDeviceProp_t p{};
    std::string arch = processor();
    std::string name = "Mneme host device (" + arch.substr(0, arch.find(':')) + ")";
    std::snprintf(p.name, sizeof p.name, "%s", name.c_str());
    std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", arch.c_str());
    p.totalGlobalMem = total_memory();
    p.sharedMemPerBlock = shared_memory().usual;
    p.maxSharedMemoryPerMultiProcessor = shared_memory().multiprocessor;
    p.regsPerBlock = 65536;
    p.warpSize = arch.starts_with("gfx9") ? 64 : 32;
    p.maxThreadsPerBlock = device::host::kMaxThreadsPerBlock;
    std::fill_n(p.maxThreadsDim, 3, static_cast<int>(device::host::kMaxThreadsPerBlock));
    std::fill_n(p.maxGridSize, 3, static_cast<int>(device::host::kMaxThreadsPerDimension));
    p.clockRate = 1700000;
    p.memoryClockRate = 1600000;
    p.memoryBusWidth = 4096;
    p.clockInstructionRate = 100000;
    p.totalConstMem = 2147483647;
    ArchVersion version = version_of(arch);
    p.major = version.major;
    p.minor = version.minor;
    p.multiProcessorCount = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    p.l2CacheSize = 8 << 20;
    p.maxThreadsPerMultiProcessor = 2048;
    p.computeMode = hipComputeModeDefault;
    p.arch = {};
    p.arch.hasGlobalInt32Atomics = p.arch.hasGlobalFloatAtomicExch = p.arch.hasSharedInt32Atomics = 1;
    p.arch.hasSharedFloatAtomicExch = p.arch.hasFloatAtomicAdd = p.arch.hasGlobalInt64Atomics = 1;
    p.arch.hasSharedInt64Atomics = p.arch.hasDoubles = p.arch.hasWarpVote = p.arch.hasWarpBallot = 1;
    p.arch.hasWarpShuffle = p.arch.hasThreadFenceSystem = p.arch.has3dGrid = 1;
    p.concurrentKernels = 1;
    p.cooperativeLaunch = 1;
    p.canMapHostMemory = 1;
    p.gcnArch = version.major * 100 + version.minor * 10 + version.stepping;
    p.maxTexture1D = 16384;
    p.maxTexture1DLinear = 1 << 27;
    std::fill_n(p.maxTexture2D, 2, 16384);
    std::fill_n(p.maxTexture3D, 3, 8192);
    p.memPitch = 2147483647;
    p.textureAlignment = 256;
    p.texturePitchAlignment = 256;
    p.isLargeBar = 1;
    p.managedMemory = 1;
    p.directManagedMemAccessFromHost = 1;
    p.concurrentManagedAccess = 1;
    // Kernels run in the application's own process and reach all of its memory; but what they reach so is not recorded,
    // and an application that is told so takes no other.
    p.pageableMemoryAccess = 0;
    p.pageableMemoryAccessUsesHostPageTables = 0;
    p.integrated = 0;
    return p;
  }();
  return made;
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipInit(unsigned flags) { return flags == 0 ? hipSuccess : note_error(hipErrorInvalidValue); }

hipError_t hipDriverGetVersion(int* version) {
  return answer([&] {
    require(version);
    *version = kVersion;
  });
}
hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

hipError_t hipGetDeviceCount(int* count) {
  return answer([&] {
    require(count);
    *count = device_count();
  });
}

hipError_t hipSetDevice(int device) {
  return answer([&] {
    check_device(device);
    set_current_device(device);
  });
}

hipError_t hipGetDevice(int* device) {
  return answer([&] {
    require(device);
    *device = current_device();
  });
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return answer([&] {
    require(device);
    check_device(ordinal);
    *device = ordinal;
  });
}

hipError_t hipChooseDevice(int* device, const hipDeviceProp_t* wanted) {
  return answer([&] {
    require(device && wanted);
    *device = 0;
  });
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* out, int device) {
  return answer([&] {
    require(out);
    check_device(device);
    *out = properties();
    out->pciBusID = device;
  });
}

hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
  return answer([&] {
    require(name && size > 0);
    check_device(device);
    std::snprintf(name, static_cast<size_t>(size), "%s", properties().name);
  });
}

hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  return answer([&] {
    require(uuid);
    check_device(device);
    std::memcpy(uuid->bytes, "mneme-host-dev-0", sizeof uuid->bytes);
    uuid->bytes[sizeof uuid->bytes - 1] = static_cast<char>('0' + device);
  });
}

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  return answer([&] {
    require(major && minor);
    check_device(device);
    *major = properties().major;
    *minor = properties().minor;
  });
}

hipError_t hipDeviceGetPCIBusId(char* id, int size, int device) {
  return answer([&] {
    check_device(device);
    std::string text = bus_id(device);
    require(id && size > static_cast<int>(text.size()) + 1);
    std::snprintf(id, static_cast<size_t>(size), "%s", text.c_str());
  });
}

hipError_t hipDeviceGetByPCIBusId(int* device, const char* id) {
  return answer([&] {
    require(device && id);
    int found = 0;
    while (found < device_count() && bus_id(found) != id) ++found;
    check_device(found);
    *device = found;
  });
}

hipError_t hipDeviceReset() {
  return answer([] {
    wait_for_device();
    mend_device();
    asked_stack() = 0;
  });
}

hipError_t hipSetDeviceFlags(unsigned flags) {
  return (flags & ~(hipDeviceScheduleMask | hipDeviceMapHost | hipDeviceLmemResizeToMax)) == 0
             ? hipSuccess
             : note_error(hipErrorInvalidValue);
}
hipError_t hipGetDeviceFlags(unsigned* flags) {
  return answer([&] {
    require(flags);
    *flags = hipDeviceScheduleAuto | hipDeviceMapHost;
  });
}

// Preferences, which have no meaning on the host.
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) { return hipSuccess; }
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config) {
  return answer([&] {
    require(config);
    *config = hipFuncCachePreferNone;
  });
}
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig) { return hipSuccess; }
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig* config) {
  return answer([&] {
    require(config);
    *config = hipSharedMemBankSizeFourByte;
  });
}

hipError_t hipDeviceGetLimit(size_t* value, hipLimit_t limit) {
  return answer([&] {
    require(value);
    require(limit == hipLimitMallocHeapSize || limit == kLimitStackSize, hipErrorUnsupportedLimit);
    if (limit == hipLimitMallocHeapSize) {
      *value = device_heap_size();
      return;
    }
    size_t asked = asked_stack();
    *value = asked ? asked : kUsualStack;
  });
}
// Threads have the stack that they need here: what is asked for is but remembered, for who records. The heap is what it
// is.
hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value) {
  return answer([&] {
    require(limit == hipLimitMallocHeapSize || limit == kLimitStackSize, hipErrorUnsupportedLimit);
    if (limit == hipLimitMallocHeapSize) return require(ask_device_heap(value), hipErrorInvalidValue);
    require(value <= kLargestStack);
    asked_stack() = value;
  });
}

hipError_t hipProfilerStart() { return hipSuccess; }
hipError_t hipProfilerStop() { return hipSuccess; }

}  // extern "C"
