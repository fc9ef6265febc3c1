// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/heap/gpu_heap.h"

#include <atomic>

namespace mneme::device::host {
namespace of_gpu {

using u32 = uint32_t;
using u64 = uint64_t;
#define DEVICE

inline u32 load(u32* word) { return std::atomic_ref(*word).load(std::memory_order_relaxed); }
inline u32 add(u32* word, u32 number) { return std::atomic_ref(*word).fetch_add(number, std::memory_order_relaxed); }
inline u32 set(u32* word, u32 bits) { return std::atomic_ref(*word).fetch_or(bits, std::memory_order_relaxed); }
inline u32 keep(u32* word, u32 bits) { return std::atomic_ref(*word).fetch_and(bits, std::memory_order_relaxed); }
inline bool swap(u32* word, u32 from, u32 to) {
  return std::atomic_ref(*word).compare_exchange_strong(from, to, std::memory_order_relaxed);
}
inline void fence() { std::atomic_thread_fence(std::memory_order_acq_rel); }

#include "device/heap/allocator.h"
#undef DEVICE

inline Heap heap_of(const objects::HeapVariable& variable) {
  return {reinterpret_cast<unsigned char*>(variable.base), variable.size};
}

}  // namespace of_gpu

void* gpu_heap_allocate(const objects::HeapVariable& heap, uint64_t size, const HeapUser& user) {
  return of_gpu::allocate(of_gpu::heap_of(heap), size, {user.group, user.groups, user.thread, user.threads});
}

bool gpu_heap_holds(const objects::HeapVariable& heap, const void* address) {
  return of_gpu::holds(of_gpu::heap_of(heap), static_cast<const unsigned char*>(address));
}

void gpu_heap_release(const objects::HeapVariable& heap, void* address) {
  of_gpu::release(of_gpu::heap_of(heap), static_cast<unsigned char*>(address));
}

}  // namespace mneme::device::host
