// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/virtual_memory.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bundle/format.h"
#include "recorder/hip/devices.h"
#include "recorder/hip/runtime.h"
#include "recorder/memory/address.h"

namespace mneme::record::hip {

CALL(Status, hipMemAddressReserve, void**, size_t, size_t, void*, unsigned long long)
CALL(Status, hipMemAddressFree, void*, size_t)
CALL(Status, hipMemCreate, Handle*, size_t, const void*, unsigned long long)
CALL(Status, hipMemRelease, Handle)
CALL(Status, hipMemMap, void*, size_t, size_t, Handle, unsigned long long)
CALL(Status, hipMemUnmap, void*, size_t)
CALL(Status, hipMemSetAccess, void*, size_t, const Access*, size_t)
CALL(Status, hipMemExportToShareableHandle, void*, Handle, int, unsigned long long)
CALL(Status, hipMemGetAllocationPropertiesFromHandle, void*, Handle)
CALL(Status, hipDeviceCanAccessPeer, int*, int, int)
CALL(Status, hipMemset, void*, int, size_t)
CALL(Status, hipMalloc, void**, size_t)
CALL(Status, hipFree, void*)
CALL(Status, hipMemGetInfo, size_t*, size_t*)

namespace {

constexpr uint64_t kGranularity = 2 << 20;
constexpr uint64_t kLeast = 64 << 20;       // of memory that is worth an allocation of its own
constexpr uint64_t kForOthers = 512 << 20;  // that the runtime needs itself, for code and scratch memory
constexpr size_t kLargestProperties = 128;  // bytes, of any release so far and some more

// The devices that may use each other's memory get access to all that is recorded.
std::vector<Access> access_for(int device) {
  std::vector<Access> list = {{{kLocationDevice, device}, kReadWrite}};
  for (int other = 0; other < devices.count(); ++other) {
    int can = 0;
    if (other == device || !succeeds(next::hipDeviceCanAccessPeer(&can, other, device)) || !can) continue;
    list.push_back({{kLocationDevice, other}, kReadWrite});
  }
  return list;
}

}  // namespace

Status VirtualMemory::create(Handle* handle, uint64_t size, int device) {
  // A release that takes this for a larger structure finds zeros behind it.
  alignas(16) std::byte properties[kLargestProperties] = {};
  if (newer_) {
    MemoryProperties now{};
    now.type = kPinned;
    now.location = {kLocationDevice, device};
    std::memcpy(properties, &now, sizeof now);
  } else {
    MemoryPropertiesOf52 of_5_2{};
    of_5_2.type = kPinned;
    of_5_2.location = {kLocationDevice, device};
    if (runtime().is_stand_in()) of_5_2.handle_type = kFileDescriptor;
    std::memcpy(properties, &of_5_2, sizeof of_5_2);
  }
  return next::hipMemCreate(handle, size, properties, 0);
}

std::optional<int> VirtualMemory::device_of(Handle handle) {
  alignas(16) std::byte properties[kLargestProperties] = {};
  if (!succeeds(next::hipMemGetAllocationPropertiesFromHandle(properties, handle))) return std::nullopt;
  Location location{};
  const size_t place = newer_ ? offsetof(MemoryProperties, location) : offsetof(MemoryPropertiesOf52, location);
  std::memcpy(&location, properties + place, sizeof location);
  if (location.type != kLocationDevice) return std::nullopt;
  return location.id;
}

// Reserved addresses get some memory, and it is used. What the functions are called with is right for one release's
// structure only; in the other's, it says that the memory is of no kind.
VirtualMemory::Trial VirtualMemory::try_memory(uint64_t address, int device) {
  OnDevice there(device);
  for (bool newer : {true, false}) {
    newer_ = newer;
    Handle handle = nullptr;
    Status status = create(&handle, kGranularity, device);
    if (!succeeds(status)) {
      if (status == kOutOfMemory) return Trial::kNoMemory;
      continue;
    }
    const Access access{{kLocationDevice, device}, kReadWrite};
    bool mapped = succeeds(next::hipMemMap(pointer_to(address), kGranularity, 0, handle, 0));
    bool works = mapped && succeeds(next::hipMemSetAccess(pointer_to(address), kGranularity, &access, 1)) &&
                 succeeds(next::hipMemset(pointer_to(address), 0, kGranularity));
    const bool free = !mapped || succeeds(next::hipMemUnmap(pointer_to(address), kGranularity));
    succeeds(next::hipMemRelease(handle));
    if (!free) return Trial::kFails;  // nothing else can be put there
    if (works) return Trial::kWorks;
  }
  return Trial::kFails;
}

MemoryRange VirtualMemory::reserve(uint64_t base, uint64_t size, int device) {
  if (tried_ && !works_) return reserve_plain(size, device);
  void* got = nullptr;
  Status status = next::hipMemAddressReserve(&got, size, kGranularity, pointer_to(base), 0);
  if (status == kSuccess && got == pointer_to(base)) {
    Trial trial = runtime().is_stand_in() || tried_ ? Trial::kWorks : try_memory(base, device);
    if (trial == Trial::kWorks) tried_ = works_ = true;
    if (trial != Trial::kFails) return {base, size};
  }
  if (succeeds(status)) succeeds(next::hipMemAddressFree(got, size));
  if (status == kSuccess && got != pointer_to(base)) {
    throw mneme::Error::of(
        "the address range {:#x} to {:#x}, where device memory is recorded, is taken or too large in the application's "
        "process",
        base, base + size);
  }
  // The stand-in has these functions: what it refuses is the size, or there is something at that place.
  if (runtime().is_stand_in()) {
    throw mneme::Error::of(
        "the address range {:#x} to {:#x}, where device memory is recorded, is taken or too large in the application's "
        "process",
        base, base + size);
  }
  // A range may be too large for a runtime that has the functions; of the least size it is tried once more.
  constexpr uint64_t kSmallestRange = uint64_t{1} << 30;
  if (status != kSuccess && status != kNotSupported && size > kSmallestRange) {
    throw mneme::Error::of("the HIP runtime reserves no {} bytes of addresses: {}", size, runtime().error_text(status));
  }
  tried_ = true;
  return reserve_plain(size, device);
}

MemoryRange VirtualMemory::reserve_plain(uint64_t most, int device) {
  OnDevice there(device);
  size_t left = 0, total = 0;
  if (!succeeds(next::hipMemGetInfo(&left, &total))) left = kLeast;
  uint64_t size = std::min<uint64_t>(most, left > 2 * kForOthers ? left - std::max(kForOthers, left / 8) : left / 2);
  for (size = size / bundle::kBlockSize * bundle::kBlockSize; size >= kLeast;
       size = size / 2 / kGranularity * kGranularity) {
    void* whole = nullptr;
    if (!succeeds(next::hipMalloc(&whole, size)) || !whole) continue;
    auto begin = reinterpret_cast<uint64_t>(whole);
    const uint64_t aligned = (begin + bundle::kBlockSize - 1) / bundle::kBlockSize * bundle::kBlockSize;
    const uint64_t whole_blocks = (begin + size - aligned) / bundle::kBlockSize * bundle::kBlockSize;
    std::lock_guard lock(mutex_);
    plain_.push_back({whole, {aligned, whole_blocks}, device, 0});
    return plain_.back().blocks;
  }
  throw mneme::Error::of(
      "this HIP runtime lacks virtual memory functions that work (ROCm 6 has them), and gives no memory to record in "
      "their place: {} bytes are left of device {}",
      left, device);
}

VirtualMemory::Plain* VirtualMemory::plain_with(uint64_t address) {
  auto found = std::ranges::find_if(
      plain_, [&](const Plain& plain) { return address - plain.blocks.address < plain.blocks.size; });
  return found == plain_.end() ? nullptr : &*found;
}

void VirtualMemory::unreserve(uint64_t base, uint64_t size) {
  std::lock_guard lock(mutex_);
  if (Plain* plain = plain_with(base)) {
    succeeds(next::hipFree(plain->whole));
    plain_.erase(plain_.begin() + (plain - plain_.data()));
    return;
  }
  succeeds(next::hipMemAddressFree(pointer_to(base), size));
}

std::optional<Fd> VirtualMemory::back(uint64_t address, uint64_t size, int device) {
  {
    std::lock_guard lock(mutex_);
    if (Plain* plain = plain_with(address)) {
      plain->backed += size;
      return Fd();
    }
  }
  OnDevice there(device);
  Handle handle = nullptr;
  if (!succeeds(create(&handle, size, device))) return std::nullopt;
  const std::vector<Access> access = access_for(device);
  int descriptor = -1;
  bool mapped = succeeds(next::hipMemMap(pointer_to(address), size, 0, handle, 0));
  bool ready = mapped && succeeds(next::hipMemSetAccess(pointer_to(address), size, access.data(), access.size())) &&
               (!runtime().is_stand_in() ||
                succeeds(next::hipMemExportToShareableHandle(&descriptor, handle, kFileDescriptor, 0)));
  if (mapped && !ready) succeeds(next::hipMemUnmap(pointer_to(address), size));
  succeeds(next::hipMemRelease(handle));  // a mapping keeps the memory
  if (!ready) return std::nullopt;
  return descriptor >= 0 ? Fd(descriptor) : Fd();
}

void VirtualMemory::unback(uint64_t address, uint64_t size) {
  {
    std::lock_guard lock(mutex_);
    if (Plain* plain = plain_with(address)) {
      plain->backed -= std::min(size, plain->backed);
      return;
    }
  }
  succeeds(next::hipMemUnmap(pointer_to(address), size));
}

uint64_t VirtualMemory::taken_ahead(int device) {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const Plain& plain : plain_) {
    if (plain.device == device) bytes += plain.blocks.size - plain.backed;
  }
  return bytes;
}

}  // namespace mneme::record::hip
