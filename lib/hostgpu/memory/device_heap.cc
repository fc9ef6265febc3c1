// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/memory/device_heap.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "hostgpu/errors.h"

namespace mneme::hostgpu {
namespace {

using device::host::DeviceHeap;

// More than the heap's own state, which must begin as zeros; what it gives out need not.
constexpr size_t kCleared = 64 * 1024;

constexpr size_t kMebibyte = 1 << 20, kDefaultMebibytes = 16, kMostMebibytes = 32 * 1024;

std::atomic<DeviceHeap*> heap{nullptr};  // never goes: kernels may run while the process ends
std::mutex mutex;

size_t& size() {
  static size_t bytes = [] {
    const char* text = std::getenv("MNEME_HOST_HEAP");
    unsigned long long mebibytes = text ? std::strtoull(text, nullptr, 10) : 0;
    return (mebibytes > 0 && mebibytes <= kMostMebibytes ? mebibytes : kDefaultMebibytes) * kMebibyte;
  }();
  return bytes;
}

}  // namespace

size_t device_heap_size() {
  std::lock_guard lock(mutex);
  return size();
}

bool ask_device_heap(size_t bytes) {
  std::lock_guard lock(mutex);
  if (bytes <= size()) return true;
  if (heap.load() || bytes > kMostMebibytes << 20) return false;
  size() = (bytes + kMebibyte - 1) / kMebibyte * kMebibyte;
  return true;
}

DeviceHeap& make_device_heap() {
  std::lock_guard lock(mutex);
  if (!heap.load()) {
    void* memory = nullptr;
    require(hipMalloc(&memory, size()) == hipSuccess, hipErrorOutOfMemory);
    std::memset(memory, 0, kCleared);
    heap.store(new DeviceHeap({static_cast<std::byte*>(memory), size()}), std::memory_order_release);
  }
  return *heap;
}

DeviceHeap* device_heap() { return heap.load(std::memory_order_acquire); }

}  // namespace mneme::hostgpu
