// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory pools. All memory comes from the same place and goes back there at once: a pool keeps attributes and counts.
#include "hostgpu/memory/pools.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"

struct ihipMemPoolHandle_t {
  int device = 0;
  int follow_events = 1, opportunistic = 1, internal = 1;
  uint64_t threshold = 0;
  uint64_t used = 0, most_used = 0;  // bytes
};

namespace mneme::hostgpu {
namespace {

struct Pools {
  Pools() {
    for (size_t device = 0; device < standard.size(); ++device) {
      standard[device].device = static_cast<int>(device);
      current[device] = &standard[device];
    }
  }
  HeldOverForks<std::mutex> mutex;
  std::array<ihipMemPoolHandle_t, kMostDevices> standard;  // by device
  std::array<hipMemPool_t, kMostDevices> current;
  std::map<hipMemPool_t, std::unique_ptr<ihipMemPoolHandle_t>> made;
  std::map<const void*, std::pair<hipMemPool_t, uint64_t>> memory;  // by address: whose, and how many bytes
};

// Never destroyed: memory is freed from destructors that run last.
Pools& pools() {
  static auto* all = new Pools;
  return *all;
}

// With the lock held.
bool is_standard(hipMemPool_t pool) {
  return std::ranges::any_of(pools().standard, [&](const auto& standard) { return pool == &standard; });
}
void check(hipMemPool_t pool) { require(pool && (is_standard(pool) || pools().made.contains(pool))); }

void count_in(hipMemPool_t pool, const void* memory, uint64_t size) {
  pools().memory[memory] = {pool, size};
  pool->used += size;
  pool->most_used = std::max(pool->most_used, pool->used);
}

template <typename T>
void put(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T get(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void check_location(const hipMemLocation& location) {
  require(location.type == hipMemLocationTypeDevice);
  check_device(location.id);
}

hipError_t give_pool(hipMemPool_t* pool, int device, bool standard) {
  return answer([&] {
    require(pool);
    check_device(device);
    std::lock_guard lock(pools().mutex);
    auto which = static_cast<size_t>(device);
    *pool = standard ? &pools().standard[which] : pools().current[which];
  });
}

}  // namespace

void count_in_current_pool(const void* memory, uint64_t size) {
  std::lock_guard lock(pools().mutex);
  count_in(pools().current[static_cast<size_t>(current_device())], memory, size);
}

void count_out_of_pools(const void* memory) {
  std::lock_guard lock(pools().mutex);
  auto found = pools().memory.find(memory);
  if (found == pools().memory.end()) return;
  auto [pool, size] = found->second;
  if (pool) pool->used -= size;
  pools().memory.erase(found);
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) { return give_pool(pool, device, true); }
hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) { return give_pool(pool, device, false); }

hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  return answer([&] {
    check_device(device);
    std::lock_guard lock(pools().mutex);
    check(pool);
    require(pool->device == device, hipErrorInvalidDevice);
    pools().current[static_cast<size_t>(device)] = pool;
  });
}

hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* wanted) {
  return answer([&] {
    require(pool && wanted && wanted->allocType == hipMemAllocationTypePinned);
    check_location(wanted->location);
    // A pool may be made shareable: exporting it is what is refused (refusals.list).
    require(wanted->handleTypes == hipMemHandleTypeNone || wanted->handleTypes == hipMemHandleTypePosixFileDescriptor);
    auto made = std::make_unique<ihipMemPoolHandle_t>();
    made->device = wanted->location.id;
    std::lock_guard lock(pools().mutex);
    *pool = made.get();
    pools().made[*pool] = std::move(made);
  });
}

// What was allocated from it stays until it is freed.
hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return answer([&] {
    std::lock_guard lock(pools().mutex);
    check(pool);
    require(!is_standard(pool));
    auto device = static_cast<size_t>(pool->device);
    if (pools().current[device] == pool) pools().current[device] = &pools().standard[device];
    for (auto& [address, owner] : pools().memory) {
      if (owner.first == pool) owner.first = nullptr;
    }
    pools().made.erase(pool);
  });
}

hipError_t hipMallocFromPoolAsync(void** pointer, size_t size, hipMemPool_t pool, hipStream_t stream) {
  hipError_t known = answer([&] {
    require(pointer);
    std::lock_guard lock(pools().mutex);
    check(pool);
  });
  if (known != hipSuccess) return known;
  OnDevice its(pool->device);
  hipError_t given = hipMallocAsync(pointer, size, stream);
  if (given != hipSuccess || !*pointer) return given;
  count_out_of_pools(*pointer);
  std::lock_guard lock(pools().mutex);
  count_in(pool, *pointer, size);
  return hipSuccess;
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return answer([&] {
    std::lock_guard lock(pools().mutex);
    check(pool);
  });
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr which, void* value) {
  return answer([&] {
    require(value);
    std::lock_guard lock(pools().mutex);
    check(pool);
    switch (which) {
      case hipMemPoolReuseFollowEventDependencies:
        pool->follow_events = get<int>(value);
        return;
      case hipMemPoolReuseAllowOpportunistic:
        pool->opportunistic = get<int>(value);
        return;
      case hipMemPoolReuseAllowInternalDependencies:
        pool->internal = get<int>(value);
        return;
      case hipMemPoolAttrReleaseThreshold:
        pool->threshold = get<uint64_t>(value);
        return;
      case hipMemPoolAttrReservedMemHigh:
      case hipMemPoolAttrUsedMemHigh:
        require(get<uint64_t>(value) == 0);
        pool->most_used = pool->used;
        return;
      default:
        throw HipError(hipErrorInvalidValue);
    }
  });
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr which, void* value) {
  return answer([&] {
    require(value);
    std::lock_guard lock(pools().mutex);
    check(pool);
    switch (which) {
      case hipMemPoolReuseFollowEventDependencies:
        return put(value, pool->follow_events);
      case hipMemPoolReuseAllowOpportunistic:
        return put(value, pool->opportunistic);
      case hipMemPoolReuseAllowInternalDependencies:
        return put(value, pool->internal);
      case hipMemPoolAttrReleaseThreshold:
        return put(value, pool->threshold);
      case hipMemPoolAttrReservedMemCurrent:
      case hipMemPoolAttrUsedMemCurrent:
        return put(value, pool->used);
      case hipMemPoolAttrReservedMemHigh:
      case hipMemPoolAttrUsedMemHigh:
        return put(value, pool->most_used);
      default:
        throw HipError(hipErrorInvalidValue);
    }
  });
}

hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* access, size_t count) {
  return answer([&] {
    require(access || !count);
    std::lock_guard lock(pools().mutex);
    check(pool);
    for (size_t i = 0; i < count; ++i) {
      check_location(access[i].location);
      // The device that owns a pool always has access to it.
      require(access[i].flags == hipMemAccessFlagsProtReadWrite);
    }
  });
}

hipError_t hipMemPoolGetAccess(hipMemAccessFlags* flags, hipMemPool_t pool, hipMemLocation* location) {
  return answer([&] {
    require(flags && location);
    std::lock_guard lock(pools().mutex);
    check(pool);
    check_location(*location);
    *flags = hipMemAccessFlagsProtReadWrite;
  });
}

}  // extern "C"
