// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/device_heap.h"

#include "objects/device_heap.h"

namespace mneme::record {

void DeviceHeaps::give(const Stub& stub, int device) {
  if (!stub.info || !uses(*stub.info, objects::kHeapVariable)) return;
  std::lock_guard lock(mutex_);
  auto [given, fresh] = given_.try_emplace({stub.code.handle, device}, false);
  if (!fresh) return;
  const MemoryRange heap = heap_of(device);
  if (heap.size == 0) return;
  given->second = runtime_.point_to_heap(stub.code, objects::kHeapVariable, {heap.address, heap.size}, device);
}

MemoryRange DeviceHeaps::heap_of(int device) {
  auto [known, fresh] = heaps_.try_emplace(device);
  if (!fresh) return known->second;
  std::optional<uint64_t> limit = runtime_.heap_limit(device);
  if (!limit) return {};
  const uint64_t size = objects::heap_bytes(*limit);
  void* memory = allocations_.allocate(Space::kDevice, size, 0, device);
  if (!memory) return {};
  const auto address = reinterpret_cast<uint64_t>(memory);
  if (!runtime_.zero({address, size}, device)) {
    allocations_.release(memory);
    return {};
  }
  any_ = true;
  return known->second = {address, size};
}

bool DeviceHeaps::serves(const Stub& stub, int device) const {
  std::lock_guard lock(mutex_);
  auto given = given_.find({stub.code.handle, device});
  return given != given_.end() && given->second;
}

void DeviceHeaps::forget(void* code) {
  std::lock_guard lock(mutex_);
  std::erase_if(given_, [&](const auto& entry) { return entry.first.first == code; });
}

}  // namespace mneme::record
