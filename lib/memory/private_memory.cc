// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/private_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "memory/own_region.h"

namespace mneme::memory {
namespace {

constexpr uint64_t kPage = 4096;

bool is_zero(const std::byte* bytes, uint64_t size) {
  return bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

bool copy_in_place(void* address, uint64_t size, int protection) {
  if (!(protection & PROT_READ) && ::mprotect(address, size, protection | PROT_READ) != 0) return false;
  void* copy = map_own(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
  if (copy == MAP_FAILED) return false;
  copy_sparse(copy, address, size);
  if (::mprotect(copy, size, protection) == 0 &&
      ::mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address) == address) {
    return true;
  }
  ::munmap(copy, size);
  return false;
}

}  // namespace

void copy_sparse(void* to, const void* from, uint64_t size) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  for (uint64_t done = 0; done < size;) {
    uint64_t page = reinterpret_cast<uint64_t>(out + done) % kPage;
    uint64_t piece = std::min(size - done, kPage - page);
    if (!is_zero(in + done, piece)) std::memcpy(out + done, in + done, piece);
    done += piece;
  }
}

bool make_private(void* address, uint64_t size, int protection, int file, int64_t offset) {
  if (file < 0) return copy_in_place(address, size, protection);
  // Should this fail, what was mapped there is there still.
  return ::mmap(address, size, protection, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, offset) == address;
}

}  // namespace mneme::memory
