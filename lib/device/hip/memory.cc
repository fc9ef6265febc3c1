// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/memory.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bundle/format.h"

namespace mneme::device::hip {
namespace {

constexpr uint64_t kLeast = uint64_t{64} << 20;       // of memory that is worth a plain allocation
constexpr uint64_t kForOthers = uint64_t{512} << 20;  // that the runtime needs itself
constexpr size_t kLargestProperties = 128;            // bytes, of any release so far and some more

}  // namespace

HipMemory::HipMemory() {
  virtual_ = runtime().has_virtual_memory() && try_virtual_memory();
  if (!virtual_) take_plain();
}

HipMemory::~HipMemory() {
  runtime().hipDeviceSynchronize();  // what is still to be done to it
  give_all_back();
  if (plain_) runtime().hipFree(plain_);
}

Result HipMemory::create(Allocation** allocation, uint64_t size) const {
  // A release that takes this for a larger structure finds zeros behind it.
  alignas(16) std::byte properties[kLargestProperties] = {};
  if (newer_) {
    MemoryProperties now{};
    now.type = kPinned;
    now.location = {kLocationDevice, 0};
    std::memcpy(properties, &now, sizeof now);
  } else {
    MemoryPropertiesOf52 of_5_2{};
    of_5_2.type = kPinned;
    of_5_2.location = {kLocationDevice, 0};
    std::memcpy(properties, &of_5_2, sizeof of_5_2);
  }
  return runtime().hipMemCreate(allocation, size, properties, 0);
}

// Some memory is put where the first device's was recorded, and used. What the functions are called with is right for
// one form of their structure only; in the other, it says that the memory is of no kind.
bool HipMemory::try_virtual_memory() {
  const uint64_t window = memory::kDeviceBase;
  void* got = nullptr;
  if (!succeeds(runtime().hipMemAddressReserve(&got, kWindow, kGranularity, pointer_to(window), 0))) return false;
  if (got != pointer_to(window)) {
    runtime().hipMemAddressFree(got, kWindow);
    return false;
  }
  windows_.emplace(window, kWindow);
  for (bool newer : {true, false}) {
    newer_ = newer;
    Allocation* allocation = nullptr;
    const Result status = create(&allocation, kGranularity);
    if (status == kOutOfMemory) {
      runtime().hipMemAddressFree(got, kWindow);  // nobody else will
      check(status, "trying the HIP runtime's virtual memory functions");
    }
    if (!succeeds(status)) continue;
    const bool mapped = succeeds(runtime().hipMemMap(got, kGranularity, 0, allocation, 0));
    const Access access{{kLocationDevice, 0}, kReadWrite};
    const bool works = mapped && succeeds(runtime().hipMemSetAccess(got, kGranularity, &access, 1)) &&
                       succeeds(runtime().hipMemset(got, 0, kGranularity)) &&
                       succeeds(runtime().hipDeviceSynchronize());
    const bool free = !mapped || succeeds(runtime().hipMemUnmap(got, kGranularity));
    succeeds(runtime().hipMemRelease(allocation));
    if (!free) break;  // nothing else can be put there
    if (works) return true;
  }
  runtime().hipMemAddressFree(got, kWindow);
  windows_.clear();
  return false;
}

// Of the size that the recorder's has: nothing else says where an allocation will lie.
void HipMemory::take_plain() {
  size_t left = 0, total = 0;
  check(runtime().hipMemGetInfo(&left, &total), "asking how much device memory is left");
  uint64_t size =
      std::min<uint64_t>(kWindow, left > 2 * kForOthers ? left - std::max<uint64_t>(kForOthers, left / 8) : left / 2);
  for (size = size / bundle::kBlockSize * bundle::kBlockSize; size >= kLeast;
       size = size / 2 / kGranularity * kGranularity) {
    if (!succeeds(runtime().hipMalloc(&plain_, size)) || !plain_) continue;
    const auto begin = reinterpret_cast<uint64_t>(plain_);
    plain_begin_ = (begin + bundle::kBlockSize - 1) / bundle::kBlockSize * bundle::kBlockSize;
    plain_end_ = (begin + size) / bundle::kBlockSize * bundle::kBlockSize;
    return;
  }
  throw Error::of(
      "this HIP runtime lacks virtual memory functions that work (ROCm 6 has them), and gives no memory in their "
      "place: "
      "{} bytes are left",
      left);
}

void HipMemory::expect(std::span<const BlockRange> ranges) {
  for (const BlockRange& range : ranges) {
    if (memory::is_device_memory(range.address) || range.size == 0 || range.address + range.size < range.address)
      continue;
    const uint64_t first = range.address / kGranularity * kGranularity;
    const uint64_t last = (range.address + range.size - 1) / kGranularity * kGranularity;
    elsewhere_[first] = std::max(elsewhere_[first], last - first + kGranularity);
  }
}

bool HipMemory::is_device(uint64_t address) const {
  auto next = elsewhere_.upper_bound(address);
  return memory::is_device_memory(address) || is_plain(address) ||
         (next != elsewhere_.begin() && address - std::prev(next)->first < std::prev(next)->second);
}

void HipMemory::map_device(uint64_t address, uint64_t end) {
  if (is_plain(address)) {
    if (end > plain_end_) {
      throw Error::of(
          "the recorded device memory at {:#x}-{:#x} is not within the HIP runtime's allocation, {:#x}-{:#x}", address,
          end, plain_begin_, plain_end_);
    }
    for_gaps(address, end, [&](uint64_t from, uint64_t to) {
      check(runtime().hipMemset(pointer_to(from), 0, to - from), "zeroing device memory");
      pieces_.emplace(from, to - from);
    });
    return;
  }
  if (is_device(end - 1) && !virtual_) {
    throw Error::of(
        "the recorded device memory at {:#x} cannot be there: the virtual memory functions of this HIP runtime do not "
        "work, and its allocation in their place is at {:#x}-{:#x}; ROCm 6 has them",
        address, plain_begin_, plain_end_);
  }
  RecordedMemory::map_device(address, end);
}

void HipMemory::reserve(uint64_t address, uint64_t end) {
  if (memory::is_device_memory(address)) return RecordedMemory::reserve(address, end);
  auto [begin, size] = *std::prev(elsewhere_.upper_bound(address));
  reserve_window(begin, size);
}

uint64_t HipMemory::reserve_at(uint64_t window, uint64_t size) {
  void* got = nullptr;
  const bool done = succeeds(runtime().hipMemAddressReserve(&got, size, kGranularity, pointer_to(window), 0));
  return done ? reinterpret_cast<uint64_t>(got) : 0;
}

void HipMemory::free_addresses(uint64_t window, uint64_t size) {
  runtime().hipMemAddressFree(pointer_to(window), size);
}

void HipMemory::back_device(uint64_t begin, uint64_t size) {
  Allocation* allocation = nullptr;
  check(create(&allocation, size), "allocating device memory for the recording's");
  const Result mapped = runtime().hipMemMap(pointer_to(begin), size, 0, allocation, 0);
  runtime().hipMemRelease(allocation);  // the mapping keeps it
  check(mapped, "mapping device memory at a recorded address");
  pieces_.emplace(begin, size);
  const Access access{{kLocationDevice, 0}, kReadWrite};
  check(runtime().hipMemSetAccess(pointer_to(begin), size, &access, 1), "making device memory accessible");
  check(runtime().hipMemset(pointer_to(begin), 0, size), "zeroing device memory");
}

void HipMemory::give_device_back(uint64_t address, uint64_t size) {
  if (!is_plain(address)) check(runtime().hipMemUnmap(pointer_to(address), size), "giving device memory back");
}

void HipMemory::register_host(void* memory, uint64_t size) {
  check(runtime().hipHostRegister(memory, size, kRegisterPortable | kRegisterMapped),
        "making host memory known to the GPU");
}

uint64_t HipMemory::seen_by_gpu(void* memory) {
  void* seen = nullptr;
  check(runtime().hipHostGetDevicePointer(&seen, memory, 0), "asking where the GPU sees host memory");
  return reinterpret_cast<uint64_t>(seen);
}

void HipMemory::unregister_host(void* memory) { check(runtime().hipHostUnregister(memory), "giving host memory back"); }

}  // namespace mneme::device::hip
