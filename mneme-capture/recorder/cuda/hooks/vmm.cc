// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The virtual memory functions of CUDA's driver, as the application finds them first. Memory stays the driver's, and is
// recorded where the application maps it, from when a device may use it.
#include <algorithm>

#include "recorder/cuda/runtime.h"
#include "recorder/memory/address.h"
#include "recorder/memory/mapped_memory.h"

namespace mneme::record::cuda {

using Flags = unsigned long long;

CALL(Status, cuMemAddressReserve, Address*, size_t, size_t, Address, Flags)
CALL(Status, cuMemAddressFree, Address, size_t)
CALL(Status, cuMemGetAllocationPropertiesFromHandle, MemoryProperties*, Handle)

namespace {

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

std::optional<Address> reserve_in_place(size_t size, size_t align, Flags flags) {
  if (size == 0 || size > SIZE_MAX - kWhole) return std::nullopt;
  const size_t whole = (size + kWhole - 1) / kWhole * kWhole;
  std::optional<uint64_t> place = state().places.propose(whole, std::max(align, kWhole));
  if (!place) return std::nullopt;
  Address got = 0;
  Status status = next::cuMemAddressReserve(&got, whole, align, *place, flags);
  if (status == kSuccess && got == *place) {
    std::lock_guard lock(state().mutex);
    state().reservations[got] = {size, whole};
    return got;
  }
  if (status == kSuccess) next::cuMemAddressFree(got, whole);
  state().places.release(*place);
  return std::nullopt;
}

// With the lock held. nullptr: it can be recorded.
const char* trouble_of(size_t offset, Handle handle) {
  MemoryProperties properties{};
  if (next::cuMemGetAllocationPropertiesFromHandle(&properties, handle) != kSuccess ||
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

Status map(CudaRuntime& runtime, const Real& real, Address address, size_t size, size_t offset, Handle handle, Flags) {
  Core* core = runtime.recording();
  if (!core) return real();
  CudaRuntime::Changing changing(runtime);
  std::lock_guard lock(state().mutex);
  Status status = real();
  if (status != kSuccess) return status;
  const char* trouble = trouble_of(offset, handle);
  if (trouble) core->add_outside(pointer_to(address), size, trouble);
  state().mappings[address] = {size, handle, !trouble, false};
  return status;
}

// Of several devices that may use it now, it is the first's.
Status set_access(CudaRuntime& runtime, const Real& real, Address address, size_t size, const Access* access,
                  size_t count) {
  Core* core = runtime.recording();
  if (!core) return real();
  CudaRuntime::Changing changing(runtime);
  std::lock_guard lock(state().mutex);
  Status status = real();
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
Status unmap(CudaRuntime& runtime, const Real& real, Address address, size_t size) {
  Core* core = runtime.recording();
  if (!core) return real();
  CudaRuntime::Changing changing(runtime);
  std::lock_guard lock(state().mutex);
  core->remove_mapped(pointer_to(address), size);
  auto& mappings = state().mappings;
  mappings.erase(mappings.lower_bound(address), mappings.lower_bound(address + size));
  return real();
}

Status retain(CudaRuntime& runtime, const Real& real, Handle* handle, void*) {
  Status status = real();
  if (status != kSuccess || !runtime.recorder()) return status;
  std::lock_guard lock(state().mutex);
  ++state().retained[*handle];
  return status;
}

Status release(CudaRuntime& runtime, const Real& real, Handle handle) {
  if (!runtime.recorder()) return real();
  std::lock_guard lock(state().mutex);
  Status status = real();
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

}  // namespace

HOOKED Status cuMemAddressReserve(Address* address, size_t size, size_t align, Address wanted, Flags flags) {
  if (address && wanted == 0 && runtime().recording()) {
    if (std::optional<Address> place = reserve_in_place(size, align, flags)) {
      *address = *place;
      return kSuccess;
    }
  }
  return next::cuMemAddressReserve(address, size, align, wanted, flags);
}

HOOKED Status cuMemAddressFree(Address address, size_t size) {
  std::lock_guard lock(state().mutex);
  auto ours = state().reservations.find(address);
  bool whole = ours != state().reservations.end() && ours->second.first == size;
  Status status = next::cuMemAddressFree(address, whole ? ours->second.second : size);
  if (status == kSuccess && whole) {
    state().reservations.erase(ours);
    state().places.release(address);
  }
  return status;
}

HOOK(map, cuMemMap, Address, size_t, size_t, Handle, Flags)
HOOK(set_access, cuMemSetAccess, Address, size_t, const Access*, size_t)
HOOK(unmap, cuMemUnmap, Address, size_t)
HOOK(retain, cuMemRetainAllocationHandle, Handle*, void*)
HOOK(release, cuMemRelease, Handle)

}  // namespace mneme::record::cuda
