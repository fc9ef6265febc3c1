// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/recorded_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "bundle/format.h"

namespace mneme::device::gpu {
namespace {

Error taken(uint64_t begin, uint64_t end) {
  return Error::of(
      "the recording's address range {:#x}-{:#x} is taken by something else in this process: run it without preloaded "
      "libraries and sanitizers",
      begin, end);
}

}  // namespace

void RecordedMemory::give_back(uint64_t address, uint64_t size) {
  if (is_device(address)) return give_device_back(address, size);
  unregister_host(reinterpret_cast<void*>(address));
  ::munmap(reinterpret_cast<void*>(address), size);
}

void RecordedMemory::give_all_back() {
  for (auto [address, size] : pieces_) {
    try {
      give_back(address, size);
    } catch (const Error&) {  // of a GPU that is broken
    }
  }
  for (auto [address, size] : windows_) free_addresses(address, size);
}

void RecordedMemory::unmap() {
  known_.clear();
  while (!pieces_.empty()) {
    auto [address, size] = *pieces_.begin();
    give_back(address, size);
    pieces_.erase(pieces_.begin());
  }
}

void RecordedMemory::reserve_window(uint64_t window, uint64_t size) {
  if (windows_.contains(window)) return;
  const uint64_t got = reserve_at(window, size);
  if (got != 0 && got != window) free_addresses(got, size);
  if (got != window) throw taken(window, window + size);
  windows_.emplace(window, size);
}

void RecordedMemory::reserve(uint64_t address, uint64_t end) {
  for (uint64_t window = address / kWindow * kWindow; window < end; window += kWindow) reserve_window(window, kWindow);
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
  try {
    register_host(want, end - begin);
  } catch (const Error&) {
    ::munmap(want, end - begin);
    throw;
  }
  pieces_.emplace(begin, end - begin);
  const uint64_t seen = seen_by_gpu(want);
  if (seen != begin) throw Error::of("the GPU sees the host memory at {:#x} elsewhere, at {:#x}", begin, seen);
}

void RecordedMemory::for_gaps(uint64_t begin, uint64_t end, const std::function<void(uint64_t, uint64_t)>& each) const {
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin() && std::prev(piece)->first + std::prev(piece)->second > begin) --piece;
  std::map<uint64_t, uint64_t> gaps;  // since `each` adds to the pieces
  for (; begin < end; ++piece) {
    uint64_t next = piece == pieces_.end() ? end : std::min(piece->first, end);
    if (begin < next) gaps.emplace(begin, next);
    if (piece == pieces_.end()) break;
    begin = std::max(begin, piece->first + piece->second);
  }
  for (auto [from, to] : gaps) each(from, to);
}

void RecordedMemory::map_device(uint64_t address, uint64_t end) {
  if (!is_device(end - 1)) throw Error::of("the address range {:#x}-{:#x} is not device memory", address, end);
  reserve(address, end);
  // Memory comes in larger pieces than blocks; a window is a multiple of both.
  const uint64_t piece = granularity();
  for_gaps(address / piece * piece, (end + piece - 1) / piece * piece, [&](uint64_t from, uint64_t to) {
    for (uint64_t next = from; from < to; from = next) {
      next = std::min(to, from / kWindow * kWindow + kWindow);
      back_device(from, next - from);
    }
  });
}

void RecordedMemory::map(uint64_t address, uint64_t size) {
  if (size == 0) return;
  if (size % bundle::kBlockSize || address % bundle::kBlockSize || address + size < address) {
    throw Error::of("the address range {:#x}-{:#x} is not made of blocks", address, address + size);
  }
  uint64_t end = address + size;
  if (is_device(address)) {
    map_device(address, end);
  } else {
    for_gaps(address, end, [&](uint64_t from, uint64_t to) { back_host(from, to); });
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

}  // namespace mneme::device::gpu
