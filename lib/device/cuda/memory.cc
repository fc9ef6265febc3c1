// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "bundle/format.h"
#include "memory/arena.h"

namespace mneme::device::cuda {
namespace {

// Reserved as a whole: the driver takes small requests' addresses for hints.
constexpr uint64_t kWindow = memory::kDefaultRangeSize;

MemoryProperties properties_of(int device) {
  MemoryProperties properties{};
  properties.type = kPinned;
  properties.location = {kLocationDevice, device};
  return properties;
}

Error taken(uint64_t begin, uint64_t end) {
  return Error::of("the recording's address range {:#x}-{:#x} is taken by something else in this process", begin, end);
}

// Calls `each` for the parts of [begin, end) that `pieces` do not cover.
template <class Each>
void for_gaps(const std::map<uint64_t, uint64_t>& pieces, uint64_t begin, uint64_t end, const Each& each) {
  auto piece = pieces.upper_bound(begin);
  if (piece != pieces.begin() && std::prev(piece)->first + std::prev(piece)->second > begin) --piece;
  std::map<uint64_t, uint64_t> gaps;  // since `each` adds to the pieces
  for (; begin < end; ++piece) {
    uint64_t next = piece == pieces.end() ? end : std::min(piece->first, end);
    if (begin < next) gaps.emplace(begin, next);
    if (piece == pieces.end()) break;
    begin = std::max(begin, piece->first + piece->second);
  }
  for (auto [from, to] : gaps) each(from, to);
}

}  // namespace

RecordedMemory::RecordedMemory(int device) : device_(device) {
  MemoryProperties properties = properties_of(device);
  size_t granularity = 0;
  check(driver().cuMemGetAllocationGranularity(&granularity, &properties, kMinimumGranularity),
        "asking for the granularity of device memory");
  granularity_ = std::max<uint64_t>(granularity, bundle::kBlockSize);
}

RecordedMemory::~RecordedMemory() {
  driver().cuCtxSynchronize();  // what is still to be done to it
  for (auto [address, size] : pieces_) {
    if (memory::is_device_memory(address)) {
      driver().cuMemUnmap(address, size);
    } else {
      driver().cuMemHostUnregister(reinterpret_cast<void*>(address));
      ::munmap(reinterpret_cast<void*>(address), size);
    }
  }
  for (auto [address, size] : windows_) driver().cuMemAddressFree(address, size);
}

void RecordedMemory::unmap() {
  known_.clear();
  while (!pieces_.empty()) {
    auto [address, size] = *pieces_.begin();
    if (memory::is_device_memory(address)) {
      check(driver().cuMemUnmap(address, size), "giving device memory back");
    } else {
      check(driver().cuMemHostUnregister(reinterpret_cast<void*>(address)), "giving host memory back");
      ::munmap(reinterpret_cast<void*>(address), size);
    }
    pieces_.erase(pieces_.begin());
  }
}

void RecordedMemory::reserve(uint64_t window) {
  if (windows_.contains(window)) return;
  Address got = 0;
  Result result = driver().cuMemAddressReserve(&got, kWindow, 0, window, 0);
  if (result == 0 && got != window) driver().cuMemAddressFree(got, kWindow);
  if (result != 0 || got != window) throw taken(window, window + kWindow);
  windows_.emplace(window, kWindow);
}

void RecordedMemory::back_device(uint64_t begin, uint64_t end) {
  MemoryProperties properties = properties_of(device_);
  Handle handle = 0;
  check(driver().cuMemCreate(&handle, end - begin, &properties, 0), "allocating device memory for the recording's");
  Result mapped = driver().cuMemMap(begin, end - begin, 0, handle, 0);
  driver().cuMemRelease(handle);  // the mapping keeps it
  check(mapped, "mapping device memory at a recorded address");
  pieces_.emplace(begin, end - begin);
  Access access{properties.location, kReadWrite};
  check(driver().cuMemSetAccess(begin, end - begin, &access, 1), "making device memory accessible");
  check(driver().cuMemsetD8_v2(begin, 0, end - begin), "zeroing device memory");
}

void RecordedMemory::back_host(uint64_t begin, uint64_t end) {
  void* want = reinterpret_cast<void*>(begin);
  void* got = ::mmap(want, end - begin, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED && errno != EEXIST) throw system_error("cannot map host memory at a recorded address");
  if (got != want) {
    if (got != MAP_FAILED) ::munmap(got, end - begin);
    throw taken(begin, end);
  }
  Result result = driver().cuMemHostRegister_v2(want, end - begin, kRegisterPortable | kRegisterMapped);
  if (result != 0) {
    ::munmap(want, end - begin);
    check(result, "making host memory known to the GPU");
  }
  pieces_.emplace(begin, end - begin);
  Address seen = 0;
  check(driver().cuMemHostGetDevicePointer_v2(&seen, want, 0), "asking where the GPU sees host memory");
  if (seen != begin) throw Error::of("the GPU sees the host memory at {:#x} elsewhere, at {:#x}", begin, seen);
}

void RecordedMemory::map(uint64_t address, uint64_t size) {
  if (size == 0) return;
  if (size % bundle::kBlockSize || address % bundle::kBlockSize || address + size < address) {
    throw Error::of("the address range {:#x}-{:#x} is not made of blocks", address, address + size);
  }
  uint64_t end = address + size;
  if (memory::is_device_memory(address)) {
    if (!memory::is_device_memory(end - 1))
      throw Error::of("the address range {:#x}-{:#x} is not device memory", address, end);
    for (uint64_t window = address / kWindow * kWindow; window < end; window += kWindow) reserve(window);
    // Memory comes in larger pieces than blocks; a window is a multiple of both.
    uint64_t first = address / granularity_ * granularity_;
    uint64_t last = (end + granularity_ - 1) / granularity_ * granularity_;
    for_gaps(pieces_, first, last, [&](uint64_t from, uint64_t to) {
      for (uint64_t next = from; from < to; from = next) {
        next = std::min(to, from / kWindow * kWindow + kWindow);
        back_device(from, next);
      }
    });
  } else {
    for_gaps(pieces_, address, end, [&](uint64_t from, uint64_t to) { back_host(from, to); });
  }
  auto next = known_.upper_bound(address);
  if (next != known_.begin() && std::prev(next)->second >= address) --next;
  while (next != known_.end() && next->first <= end) {
    address = std::min(address, next->first);
    end = std::max(end, next->second);
    next = known_.erase(next);
  }
  known_.emplace(address, end);
}

void RecordedMemory::check_mapped(uint64_t address, uint64_t size) const {
  if (size == 0) return;
  auto next = known_.upper_bound(address);
  if (next != known_.begin() && size <= std::prev(next)->second - std::min(address, std::prev(next)->second)) return;
  throw Error::of("the address range {:#x}-{:#x} is not mapped", address, address + size);
}

}  // namespace mneme::device::cuda
