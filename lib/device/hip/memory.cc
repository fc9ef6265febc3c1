// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "bundle/format.h"
#include "memory/arena.h"

namespace mneme::device::hip {
namespace {

// Reserved as a whole, as the recorder reserves it.
constexpr uint64_t kWindow = memory::kDefaultRangeSize;
constexpr uint64_t kGranularity = uint64_t{2} << 20;
constexpr uint64_t kLeast = uint64_t{64} << 20;       // of memory that is worth a plain allocation
constexpr uint64_t kForOthers = uint64_t{512} << 20;  // that the runtime needs itself
constexpr size_t kLargestProperties = 128;            // bytes, of any release so far and some more

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

RecordedMemory::RecordedMemory() {
  virtual_ = runtime().has_virtual_memory && try_virtual_memory();
  if (!virtual_) take_plain();
}

RecordedMemory::~RecordedMemory() {
  runtime().hipDeviceSynchronize();  // what is still to be done to it
  for (auto [address, size] : pieces_) give_back(address, size);
  for (auto [address, size] : windows_) runtime().hipMemAddressFree(pointer_to(address), size);
  if (plain_) runtime().hipFree(plain_);
}

Result RecordedMemory::create(Allocation** allocation, uint64_t size) const {
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
bool RecordedMemory::try_virtual_memory() {
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
void RecordedMemory::take_plain() {
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

bool RecordedMemory::give_back(uint64_t address, uint64_t size) {
  if (is_plain(address)) return true;
  if (is_device(address)) return succeeds(runtime().hipMemUnmap(pointer_to(address), size));
  if (!succeeds(runtime().hipHostUnregister(pointer_to(address)))) return false;
  ::munmap(pointer_to(address), size);
  return true;
}

void RecordedMemory::unmap() {
  known_.clear();
  while (!pieces_.empty()) {
    auto [address, size] = *pieces_.begin();
    if (!give_back(address, size)) throw Error::of("the HIP runtime does not take back its memory at {:#x}", address);
    pieces_.erase(pieces_.begin());
  }
}

void RecordedMemory::expect(std::span<const BlockRange> ranges) {
  for (const BlockRange& range : ranges) {
    if (memory::is_device_memory(range.address) || range.size == 0 || range.address + range.size < range.address)
      continue;
    const uint64_t first = range.address / kGranularity * kGranularity;
    const uint64_t last = (range.address + range.size - 1) / kGranularity * kGranularity;
    elsewhere_[first] = std::max(elsewhere_[first], last - first + kGranularity);
  }
}

bool RecordedMemory::is_device(uint64_t address) const {
  auto next = elsewhere_.upper_bound(address);
  return memory::is_device_memory(address) ||
         (next != elsewhere_.begin() && address - std::prev(next)->first < std::prev(next)->second);
}

void RecordedMemory::reserve(uint64_t address, uint64_t end) {
  if (!memory::is_device_memory(address)) {
    auto [begin, size] = *std::prev(elsewhere_.upper_bound(address));
    return reserve_window(begin, size);
  }
  for (uint64_t window = address / kWindow * kWindow; window < end; window += kWindow) reserve_window(window, kWindow);
}

void RecordedMemory::reserve_window(uint64_t window, uint64_t size) {
  if (windows_.contains(window)) return;
  void* got = nullptr;
  const bool done = succeeds(runtime().hipMemAddressReserve(&got, size, kGranularity, pointer_to(window), 0));
  if (done && got != pointer_to(window)) runtime().hipMemAddressFree(got, size);
  if (!done || got != pointer_to(window)) throw taken(window, window + size);
  windows_.emplace(window, size);
}

void RecordedMemory::back_device(uint64_t begin, uint64_t end) {
  Allocation* allocation = nullptr;
  check(create(&allocation, end - begin), "allocating device memory for the recording's");
  const Result mapped = runtime().hipMemMap(pointer_to(begin), end - begin, 0, allocation, 0);
  runtime().hipMemRelease(allocation);  // the mapping keeps it
  check(mapped, "mapping device memory at a recorded address");
  pieces_.emplace(begin, end - begin);
  const Access access{{kLocationDevice, 0}, kReadWrite};
  check(runtime().hipMemSetAccess(pointer_to(begin), end - begin, &access, 1), "making device memory accessible");
  check(runtime().hipMemset(pointer_to(begin), 0, end - begin), "zeroing device memory");
}

void RecordedMemory::back_host(uint64_t begin, uint64_t end) {
  void* want = pointer_to(begin);
  void* got = ::mmap(want, end - begin, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED && errno != EEXIST) throw system_error("cannot map host memory at a recorded address");
  if (got != want) {
    if (got != MAP_FAILED) ::munmap(got, end - begin);
    throw taken(begin, end);
  }
  const Result result = runtime().hipHostRegister(want, end - begin, kRegisterPortable | kRegisterMapped);
  if (result != 0) {
    ::munmap(want, end - begin);
    check(result, "making host memory known to the GPU");
  }
  pieces_.emplace(begin, end - begin);
  void* seen = nullptr;
  check(runtime().hipHostGetDevicePointer(&seen, want, 0), "asking where the GPU sees host memory");
  if (seen != want) {
    throw Error::of("the GPU sees the host memory at {:#x} elsewhere, at {:#x}", begin,
                    reinterpret_cast<uint64_t>(seen));
  }
}

void RecordedMemory::map(uint64_t address, uint64_t size) {
  if (size == 0) return;
  if (size % bundle::kBlockSize || address % bundle::kBlockSize || address + size < address) {
    throw Error::of("the address range {:#x}-{:#x} is not made of blocks", address, address + size);
  }
  uint64_t end = address + size;
  if (is_plain(address)) {
    if (end > plain_end_) {
      throw Error::of(
          "the recorded device memory at {:#x}-{:#x} is not all in what the HIP runtime allocated, {:#x}-{:#x}",
          address, end, plain_begin_, plain_end_);
    }
    for_gaps(pieces_, address, end, [&](uint64_t from, uint64_t to) {
      check(runtime().hipMemset(pointer_to(from), 0, to - from), "zeroing device memory");
      pieces_.emplace(from, to - from);
    });
  } else if (is_device(address)) {
    if (!is_device(end - 1)) throw Error::of("the address range {:#x}-{:#x} is not device memory", address, end);
    if (!virtual_) {
      throw Error::of(
          "the recorded device memory at {:#x} cannot be there: the virtual memory functions of this HIP runtime do "
          "not "
          "work, and its allocation in their place is at {:#x}-{:#x}; ROCm 6 has them",
          address, plain_begin_, plain_end_);
    }
    reserve(address, end);
    // Memory comes in larger pieces than blocks; a window is a multiple of both.
    const uint64_t first = address / kGranularity * kGranularity;
    const uint64_t last = (end + kGranularity - 1) / kGranularity * kGranularity;
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

}  // namespace mneme::device::hip
