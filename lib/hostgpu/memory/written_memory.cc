// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/memory/written_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "bundle/checks.h"
#include "hostgpu/compile/kernel_code.h"
#include "hostgpu/device/devices.h"
#include "hostgpu/held_over_forks.h"
#include "memory/arena.h"
#include "memory/own_region.h"

namespace mneme::hostgpu {
namespace {

using codegen::host::WrittenRange;

constexpr uint8_t kWritten = 0xff;
constexpr uint64_t kPage = 4096;

// Of size 0 where nothing is followed.
const WrittenRange& shadow() {
  static const WrittenRange range = []() -> WrittenRange {
    if (!bundle::has_check(wanted_checks(), "init")) return {};
    const uint64_t size = memory::device_base(device_count()) - memory::kDeviceBase;
    void* memory =
        memory::map_own(size + codegen::host::kMostWritten, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
    if (memory == MAP_FAILED) return {};  // a limit on address space: no finding
    return {memory::kDeviceBase, size, static_cast<uint8_t*>(memory)};
  }();
  return range;
}

uint8_t* shadow_of(const void* pointer, uint64_t size) {
  const WrittenRange& range = shadow();
  const uint64_t offset = reinterpret_cast<uint64_t>(pointer) - range.begin;
  return offset < range.size && size <= range.size - offset ? range.shadow + offset : nullptr;
}

// Large pieces are given back to the system.
void forget(uint64_t address, uint64_t size) {
  uint8_t* begin = shadow_of(reinterpret_cast<void*>(address), size);
  if (!begin) return;
  auto first = (reinterpret_cast<uint64_t>(begin) + kPage - 1) / kPage * kPage;
  auto last = (reinterpret_cast<uint64_t>(begin) + size) / kPage * kPage;
  if (first >= last) {
    std::memset(begin, 0, size);
    return;
  }
  std::memset(begin, 0, first - reinterpret_cast<uint64_t>(begin));
  std::memset(reinterpret_cast<void*>(last), 0, reinterpret_cast<uint64_t>(begin) + size - last);
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

void note_written(const void* to, size_t size) {
  if (uint8_t* bytes = shadow_of(to, size)) std::memset(bytes, kWritten, size);
}

void note_copied(const void* to, const void* from, size_t size) {
  uint8_t *bytes = shadow_of(to, size), *copied = shadow_of(from, size);
  if (!bytes) return;
  copied ? std::memmove(bytes, copied, size) : std::memset(bytes, kWritten, size);
}

WrittenRange follow_writes(const MemoryTable& table) {
  if (shadow().size == 0) return {};
  static auto* known = new std::map<uint64_t, uint64_t>;  // address → size, at the launch before
  static auto& mutex = *new HeldOverForks<std::mutex>;
  std::lock_guard lock(mutex);
  std::map<uint64_t, uint64_t> live;
  for (const device::host::KnownMemory& memory : table.live) {
    live.emplace(memory.address, memory.size);
    if (!memory.is_fresh) note_written(reinterpret_cast<void*>(memory.address), memory.size);
  }
  for (auto [address, size] : *known) {
    auto after = live.lower_bound(address + size);
    const bool is_used = after != live.begin() && std::prev(after)->first + std::prev(after)->second > address;
    if (!is_used) forget(address, size);
  }
  *known = std::move(live);
  return shadow();
}

}  // namespace mneme::hostgpu
