// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/own_region.h"

#include <sys/mman.h>

#include <atomic>

extern "C" {
[[gnu::weak]] void __tsan_init();
[[gnu::weak]] void __msan_init();
}

namespace mneme::memory {
namespace {

constexpr uint64_t kPage = 4096;

// Taken by mapping its first page, which can be done once in a process: what else is linked with this code takes
// another. 0: none is left.
uint64_t take_region() {
  if (is_layout_taken()) return 0;
  for (int number = 0; number < kMostOwnRegions; ++number) {
    uint64_t base = kOwnBase + static_cast<uint64_t>(number) * kOwnRegionSize;
    void* want = reinterpret_cast<void*>(base);
    void* got =
        ::mmap(want, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == want) return base;
    if (got != MAP_FAILED) ::munmap(got, kPage);  // a kernel that does not know the flag
  }
  return 0;
}

}  // namespace

bool is_layout_taken() { return __tsan_init || __msan_init; }

void* map_own(uint64_t size, int protection, int flags, int file) {
  static const uint64_t kBase = take_region();
  static std::atomic<uint64_t> used{kPage};
  if (file < 0) flags |= MAP_ANONYMOUS;
  // With a page between them that nobody has.
  uint64_t room = (size + kPage - 1) / kPage * kPage + kPage;
  void* want = nullptr;
  if (kBase && room < kOwnRegionSize) {
    uint64_t offset = used.fetch_add(room);
    if (offset + room <= kOwnRegionSize) {
      want = reinterpret_cast<void*>(kBase + offset);
    } else {
      used.fetch_sub(room);
    }
  }
  // The kernel takes the address if it is free.
  return ::mmap(want, size, protection, flags, file, 0);
}

}  // namespace mneme::memory
