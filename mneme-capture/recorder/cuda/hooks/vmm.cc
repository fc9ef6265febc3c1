// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The virtual memory functions of CUDA's driver, as the application finds them first. Memory stays the driver's, and is
// recorded where the application maps it, from when a device may use it.
#include <algorithm>

#include "recorder/cuda/runtime.h"
#include "recorder/memory/address.h"
#include "recorder/memory/mapped_memory.h"

namespace mneme::record::cuda {
namespace {

using Flags = unsigned long long;

constinit Next<Result(Address*, size_t, size_t, Address, Flags)> next_reserve(kDriver, "cuMemAddressReserve");
constinit Next<Result(Address, size_t)> next_unreserve(kDriver, "cuMemAddressFree");
constinit Next<Result(Address, size_t, size_t, Handle, Flags)> next_map(kDriver, "cuMemMap");
constinit Next<Result(Address, size_t)> next_unmap(kDriver, "cuMemUnmap");
constinit Next<Result(Address, size_t, const Access*, size_t)> next_set_access(kDriver, "cuMemSetAccess");
constinit Next<Result(Handle*, void*)> next_retain(kDriver, "cuMemRetainAllocationHandle");
constinit Next<Result(Handle)> next_release(kDriver, "cuMemRelease");
constinit Next<Result(MemoryProperties*, Handle)> next_properties(kDriver, "cuMemGetAllocationPropertiesFromHandle");

// The driver takes the addresses of what is smaller, or lies otherwise, for hints and no more.
constexpr size_t kWhole = 64 << 20;

struct Mapped {
  size_t size = 0;
  Handle handle = 0;     // 0: released, and its number may be another memory's now
  bool possible = true;  // to be recorded
  bool recorded = false;
};

// What the application has mapped and reserved.
struct State {
  std::mutex mutex;
  MappedMemory places;
  std::map<Address, std::pair<size_t, size_t>> reservations;  // at our places: size as asked for, and as it is
  std::map<Address, Mapped> mappings;
  std::map<Handle, int> retained;  // how often, beside the first time
};

// Never destroyed: applications call CUDA from destructors that run last.
State& state() {
  static auto* only = new State;
  return *only;
}

Core* recording_core() {
  Core* core = first_recorder();
  return core && core->recording() ? core : nullptr;
}

std::optional<Address> reserve_in_place(size_t size, size_t align, Flags flags) {
  if (size == 0 || size > SIZE_MAX - kWhole) return std::nullopt;
  const size_t whole = (size + kWhole - 1) / kWhole * kWhole;
  std::optional<uint64_t> place = state().places.propose(whole, std::max(align, kWhole));
  if (!place) return std::nullopt;
  Address got = 0;
  Result status = next_reserve.call_or(kNotSupported, &got, whole, align, *place, flags);
  if (status == kSuccess && got == *place) {
    std::lock_guard lock(state().mutex);
    state().reservations[got] = {size, whole};
    return got;
  }
  if (status == kSuccess) next_unreserve.call_or(kNotSupported, got, whole);
  state().places.release(*place);
  return std::nullopt;
}

// With the lock held. nullptr: it can be recorded.
const char* trouble_of(size_t offset, Handle handle) {
  MemoryProperties properties{};
  if (next_properties.call_or(kNotSupported, &properties, handle) != kSuccess ||
      properties.location.type != kLocationDevice) {
    return "memory mapped by cuMemMap that is no device's own";
  }
  if (std::ranges::any_of(state().mappings, [&](const auto& entry) { return entry.second.handle == handle; })) {
    return "memory that cuMemMap mapped at two addresses";
  }
  return offset != 0 ? "memory that cuMemMap mapped from its middle on" : nullptr;
}

// With the lock held: what begins in the range, now that the device may use it, or (-1) none may any more.
void set_device(Core& core, Address address, size_t size, int device) {
  auto end = state().mappings.lower_bound(address + size);
  for (auto at = state().mappings.lower_bound(address); at != end; ++at) {
    Mapped& mapped = at->second;
    void* pointer = pointer_to(at->first);
    if (!mapped.possible || mapped.recorded == (device >= 0)) continue;
    mapped.recorded = device >= 0;
    if (device < 0) {
      core.remove_mapped(pointer, mapped.size);
    } else if (!Core::is_recorded(device)) {
      core.add_outside(pointer, mapped.size, "memory mapped by cuMemMap on a device that is not recorded");
    } else if (!core.add_mapped(pointer, mapped.size, -1, device)) {
      core.add_outside(pointer, mapped.size, "memory mapped by cuMemMap over other memory");
    }
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Result cuMemAddressReserve(Address* address, size_t size, size_t align, Address wanted, Flags flags) {
  if (address && wanted == 0 && recording_core()) {
    if (std::optional<Address> place = reserve_in_place(size, align, flags)) {
      *address = *place;
      return kSuccess;
    }
  }
  return next_reserve.call_or(kNotSupported, address, size, align, wanted, flags);
}

Result cuMemAddressFree(Address address, size_t size) {
  std::lock_guard lock(state().mutex);
  auto ours = state().reservations.find(address);
  bool whole = ours != state().reservations.end() && ours->second.first == size;
  Result status = next_unreserve.call_or(kNotSupported, address, whole ? ours->second.second : size);
  if (status == kSuccess && whole) {
    state().reservations.erase(ours);
    state().places.release(address);
  }
  return status;
}

Result cuMemMap(Address address, size_t size, size_t offset, Handle handle, Flags flags) {
  Core* core = recording_core();
  if (!core) return next_map.call_or(kNotSupported, address, size, offset, handle, flags);
  CudaRuntime::Changing changing(runtime());
  std::lock_guard lock(state().mutex);
  Result status = next_map.call_or(kNotSupported, address, size, offset, handle, flags);
  if (status != kSuccess) return status;
  const char* trouble = trouble_of(offset, handle);
  if (trouble) core->add_outside(pointer_to(address), size, trouble);
  state().mappings[address] = {size, handle, !trouble, false};
  return status;
}

// Of several devices that may use it now, it is the first's.
Result cuMemSetAccess(Address address, size_t size, const Access* access, size_t count) {
  Core* core = recording_core();
  if (!core) return next_set_access.call_or(kNotSupported, address, size, access, count);
  CudaRuntime::Changing changing(runtime());
  std::lock_guard lock(state().mutex);
  Result status = next_set_access.call_or(kNotSupported, address, size, access, count);
  if (status != kSuccess) return status;
  const Access* end = access + count;
  auto is_device = [](const Access& one) { return one.location.type == kLocationDevice; };
  const Access* user = std::find_if(access, end, [&](const Access& one) { return is_device(one) && one.flags; });
  if (user != end) {
    set_device(*core, address, size, user->location.id);
  } else if (std::any_of(access, end, is_device)) {
    set_device(*core, address, size, -1);
  }
  return status;
}

// It is forgotten first: nobody may look at it when it is gone.
Result cuMemUnmap(Address address, size_t size) {
  Core* core = recording_core();
  if (!core) return next_unmap.call_or(kNotSupported, address, size);
  CudaRuntime::Changing changing(runtime());
  std::lock_guard lock(state().mutex);
  core->remove_mapped(pointer_to(address), size);
  auto& mappings = state().mappings;
  mappings.erase(mappings.lower_bound(address), mappings.lower_bound(address + size));
  return next_unmap.call_or(kNotSupported, address, size);
}

Result cuMemRetainAllocationHandle(Handle* handle, void* pointer) {
  Result status = next_retain.call_or(kNotSupported, handle, pointer);
  if (status != kSuccess || !recorder()) return status;
  std::lock_guard lock(state().mutex);
  ++state().retained[*handle];
  return status;
}

Result cuMemRelease(Handle handle) {
  if (!recorder()) return next_release.call_or(kNotSupported, handle);
  std::lock_guard lock(state().mutex);
  Result status = next_release.call_or(kNotSupported, handle);
  auto retained = state().retained.find(handle);
  if (status != kSuccess) return status;
  if (retained != state().retained.end()) {
    if (--retained->second == 0) state().retained.erase(retained);
    return status;
  }
  for (auto& [address, mapped] : state().mappings) {
    if (mapped.handle == handle) mapped.handle = 0;
  }
  return status;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
