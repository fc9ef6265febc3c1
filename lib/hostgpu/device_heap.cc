// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/device_heap.h"

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

constexpr size_t kDefaultMebibytes = 16, kMostMebibytes = 32 * 1024;

std::atomic<DeviceHeap*> heap{nullptr};  // never goes: kernels may run while the process ends

}  // namespace

size_t device_heap_size() {
  static const size_t size = [] {
    const char* text = std::getenv("MNEME_HOST_HEAP");
    unsigned long long mebibytes = text ? std::strtoull(text, nullptr, 10) : 0;
    return (mebibytes > 0 && mebibytes <= kMostMebibytes ? mebibytes : kDefaultMebibytes) << 20;
  }();
  return size;
}

DeviceHeap& make_device_heap() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!heap.load()) {
    void* memory = nullptr;
    require(hipMalloc(&memory, device_heap_size()) == hipSuccess, hipErrorOutOfMemory);
    std::memset(memory, 0, kCleared);
    heap.store(new DeviceHeap({static_cast<std::byte*>(memory), device_heap_size()}), std::memory_order_release);
  }
  return *heap;
}

DeviceHeap* device_heap() { return heap.load(std::memory_order_acquire); }

}  // namespace mneme::hostgpu
