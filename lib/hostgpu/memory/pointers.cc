// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known about a pointer, and host memory that the application registers.
#include <cstdint>
#include <map>
#include <mutex>

#include "hostgpu/errors.h"
#include "hostgpu/held_over_forks.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/memory/vmm.h"

namespace mneme::hostgpu {
namespace {

struct Registered {
  uint64_t size;
  unsigned flags;
  int device;
};

struct Registry {
  HeldOverForks<std::mutex> mutex;
  std::map<uint64_t, Registered> ranges;  // by address
};

// Never destroyed: memory is unregistered from destructors that run last.
Registry& registry() {
  static auto* all = new Registry;
  return *all;
}

struct Known {
  uint64_t address, size;
  hipMemoryType type;
  bool managed = false;
  unsigned flags = 0;
  int device = 0;
};

std::optional<Known> find_pointer(const void* pointer) {
  if (auto block = find_block(pointer)) {
    bool device = block->kind == MemoryKind::kDevice, managed = block->kind == MemoryKind::kManaged;
    return Known{block->address, block->size,  device || managed ? hipMemoryTypeDevice : hipMemoryTypeHost,
                 managed,        block->flags, block->device};
  }
  if (auto mapping = find_mapping(pointer)) {
    return Known{mapping->address, mapping->size, hipMemoryTypeDevice, false, 0, mapping->device};
  }
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::lock_guard lock(registry().mutex);
  auto after = registry().ranges.upper_bound(address);
  if (after == registry().ranges.begin()) return std::nullopt;
  auto [start, range] = *std::prev(after);
  if (address - start >= range.size) return std::nullopt;
  return Known{start, range.size, hipMemoryTypeHost, false, range.flags, range.device};
}

Known known(const void* pointer, hipError_t otherwise = hipErrorInvalidValue) {
  auto found = find_pointer(pointer);
  require(pointer && found, otherwise);
  return *found;
}

template <typename T>
void put(void* data, T value) {
  *static_cast<T*>(data) = value;
}

// Throws HipError for an attribute that there is not.
void attribute(void* data, hipPointer_attribute which, const void* pointer) {
  Known found = known(pointer);
  switch (which) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, found.type);
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, pointer);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      require(found.type == hipMemoryTypeHost || found.managed);
      return put(data, pointer);
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      return put<unsigned long long>(data, found.address);
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, found.managed);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, found.device);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, found.address);
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, found.size);
    case HIP_POINTER_ATTRIBUTE_MAPPED:
      return put(data, true);
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, true);
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put<int>(data, hipMemAccessFlagsProtReadWrite);
    default:
      throw HipError(hipErrorNotSupported);
  }
}

}  // namespace

std::vector<Block> registered_blocks() {
  std::lock_guard lock(registry().mutex);
  std::vector<Block> blocks;
  for (const auto& [address, range] : registry().ranges) {
    blocks.push_back({address, range.size, MemoryKind::kPinned, range.flags, range.device});
  }
  return blocks;
}

std::optional<Extent> find_memory(const void* pointer) {
  if (auto recorded = find_recorded(pointer)) return recorded;
  const auto found = find_pointer(pointer);
  return found ? std::optional(Extent{found->address, found->size}) : std::nullopt;
}

bool is_pageable(const void* pointer) { return !find_pointer(pointer); }

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  return answer([&] {
    require(attributes);
    Known found = known(pointer);
    *attributes = {};
    attributes->memoryType = found.type;
    attributes->device = found.device;
    attributes->devicePointer = const_cast<void*>(pointer);
    attributes->hostPointer = found.type == hipMemoryTypeHost || found.managed ? const_cast<void*>(pointer) : nullptr;
    attributes->isManaged = found.managed;
    attributes->allocationFlags = found.flags;
  });
}

hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute which, hipDeviceptr_t pointer) {
  return answer([&] {
    require(data);
    attribute(data, which, pointer);
  });
}

hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute* attributes, void** data,
                                      hipDeviceptr_t pointer) {
  return answer([&] {
    require(count && attributes && data);
    for (unsigned i = 0; i < count; ++i) attribute(data[i], attributes[i], pointer);
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size, hipDeviceptr_t pointer) {
  return answer([&] {
    Known found = known(pointer, hipErrorNotFound);
    if (base) *base = reinterpret_cast<void*>(found.address);
    if (size) *size = found.size;
  });
}

hipError_t hipMemPtrGetInfo(void* pointer, size_t* size) {
  return answer([&] {
    require(size);
    *size = known(pointer).size;
  });
}

hipError_t hipHostRegister(void* pointer, size_t size, unsigned flags) {
  return answer([&] {
    auto address = reinterpret_cast<uint64_t>(pointer);
    require(pointer && size && address + size > address);
    auto block = find_block(pointer);
    require(!block || block->kind != MemoryKind::kPinned, hipErrorHostMemoryAlreadyRegistered);
    std::lock_guard lock(registry().mutex);
    auto& ranges = registry().ranges;
    auto after = ranges.lower_bound(address);
    bool overlaps = after != ranges.end() && after->first < address + size;
    if (after != ranges.begin()) {
      auto before = std::prev(after);
      overlaps = overlaps || before->first + before->second.size > address;
    }
    require(!overlaps, hipErrorHostMemoryAlreadyRegistered);
    ranges.emplace(address, Registered{size, flags, current_device()});
  });
}

hipError_t hipHostUnregister(void* pointer) {
  return answer([&] {
    std::lock_guard lock(registry().mutex);
    require(registry().ranges.erase(reinterpret_cast<uint64_t>(pointer)) == 1, hipErrorHostMemoryNotRegistered);
  });
}

hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return answer([&] {
    require(device && flags == 0);
    Known found = known(host);
    require(found.type == hipMemoryTypeHost || found.managed);
    *device = host;
  });
}

hipError_t hipHostGetFlags(unsigned* flags, void* host) {
  return answer([&] {
    require(flags);
    Known found = known(host);
    require(found.type == hipMemoryTypeHost);
    *flags = found.flags;
  });
}

}  // extern "C"
