// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/own_heap.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <new>

#include "memory/own_region.h"

namespace mneme::memory {
namespace {

// Throws std::bad_alloc.
std::byte* map(size_t size) {
  void* got = map_own(size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  if (got == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(got);
}

// Larger alignments than a page's are hardly ever asked for: the memory before the block is not used.
std::byte* map_aligned(size_t size, size_t align) {
  constexpr size_t kPage = 4096;
  if (align <= kPage) return map(size);
  auto address = reinterpret_cast<uintptr_t>(map(size + align));
  return reinterpret_cast<std::byte*>((address + align - 1) / align * align);
}

// The pool asks for blocks of every size: small ones come out of slabs, which stay.
class Pages final : public std::pmr::memory_resource {
 private:
  static constexpr size_t kSlab = 1 << 20;
  static constexpr size_t kAlone = kSlab / 4;  // bytes from which on a block is mapped by itself

  void* do_allocate(size_t size, size_t align) override {
    if (size >= kAlone || align > kAlone) return map_aligned(size, align);
    auto aligned = [&] { return (reinterpret_cast<uintptr_t>(next_) + align - 1) / align * align; };
    if (!next_ || aligned() + size > reinterpret_cast<uintptr_t>(end_)) {
      next_ = map(kSlab);
      end_ = next_ + kSlab;
    }
    auto* block = reinterpret_cast<std::byte*>(aligned());
    next_ = block + size;
    return block;
  }
  void do_deallocate(void* block, size_t size, size_t align) override {
    if (size >= kAlone || align > kAlone) ::munmap(block, size);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::byte *next_ = nullptr, *end_ = nullptr;
};

struct Heap {
  // The thread that forks has it, and may go on to allocate before it does.
  std::recursive_mutex mutex;
  Pages pages;
  std::pmr::unsynchronized_pool_resource pool{{.max_blocks_per_chunk = 0, .largest_required_pool_block = 1 << 16},
                                              &pages};
};

// Nobody has it for longer than it takes to find a block: to sleep and be woken takes many times as long.
class Hold {
 public:
  explicit Hold(std::recursive_mutex& mutex) : mutex_(mutex) {
    held_ = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    constexpr int kTries = 200;
    for (int i = 0; i < kTries; ++i) {
      if (mutex_.try_lock()) return;
      __builtin_ia32_pause();
    }
    mutex_.lock();
  }
  ~Hold() {
    mutex_.unlock();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    held_ = false;
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // By a signal, whose handler this thread is in: the heap is in the middle of something.
  static bool is_interrupted() { return held_; }

 private:
  static inline constinit thread_local volatile bool held_ = false;
  std::recursive_mutex& mutex_;
};

// Never destroyed: static objects release their memory after it would be.
Heap& heap() {
  alignas(Heap) static std::byte room[sizeof(Heap)];
  static Heap* made = new (room) Heap;
  return *made;
}

// Before everything else of this library, so that its lock is the last to be taken for a fork: those who hold it wait
// for no other.
[[gnu::constructor(101)]] void hold_over_forks() {
  heap();  // a fork while another thread makes it would leave a child that waits for it
  ::pthread_atfork([] { heap().mutex.lock(); }, [] { heap().mutex.unlock(); },
                   // A child's thread is another than the one that has locked it.
                   [] { new (&heap().mutex) std::recursive_mutex; });
}

// libstdc++'s pools hand out blocks that are only aligned as their size is (bug 118681): so it has to be a multiple of
// 16, or, for larger alignments, a power of two.
size_t pooled_size(size_t size, size_t align) {
  constexpr size_t kUsual = alignof(std::max_align_t);
  return align > kUsual ? std::bit_ceil(std::max(size, align)) : (size + kUsual - 1) / kUsual * kUsual;
}

// Before each allocation.
struct Header {
  size_t size, align;  // of all; size 0: not the pool's, and it stays
};
constexpr size_t kHeader = sizeof(Header);

}  // namespace

void* allocate_own(size_t size, size_t align) {
  align = std::max(align, alignof(std::max_align_t));
  size_t before = std::max(kHeader, align);
  if (size > SIZE_MAX / 4 || before > SIZE_MAX / 4) return nullptr;
  size_t all = pooled_size(before + size, align);
  std::byte* block = nullptr;
  const bool alone = Hold::is_interrupted();
  try {
    if (alone) {
      block = map_aligned(all, align);
    } else {
      Heap& own = heap();
      Hold hold(own.mutex);
      block = static_cast<std::byte*>(own.pool.allocate(all, align));
    }
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  new (block + before - kHeader) Header{alone ? 0 : all, align};
  return block + before;
}

void release_own(void* memory) noexcept {
  if (!memory) return;
  auto* address = static_cast<std::byte*>(memory);
  Header header = *std::launder(reinterpret_cast<Header*>(address - kHeader));
  if (header.size == 0 || Hold::is_interrupted()) return;
  Heap& own = heap();
  Hold hold(own.mutex);
  own.pool.deallocate(address - std::max(kHeader, header.align), header.size, header.align);
}

}  // namespace mneme::memory
