// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/fibers/stacks.h"

#include <sys/mman.h>

#include <fstream>

#include "base/error.h"
#include "memory/own_region.h"

namespace mneme::device::host {
namespace {

constexpr uint64_t kPage = 4096;
// Code for fibers touches each page of what it takes (codegen/host/forms/fiber_form.cc), but the system's libraries do
// not.
constexpr uint64_t kGuard = 4 * kPage;

}  // namespace

Stacks::Stacks(uint32_t most, uint64_t size) : most_(most), size_(size) {
  void* memory = memory::map_own(most * stride(), PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
  if (memory == MAP_FAILED) throw system_error("cannot reserve room for the stacks of work-items");
  memory_ = static_cast<std::byte*>(memory);
}

Stacks::~Stacks() { ::munmap(memory_, most_ * stride()); }

uint64_t Stacks::stride() const { return kGuard + size_; }

std::span<std::byte> Stacks::operator[](uint32_t number) {
  for (; opened_ <= number; ++opened_) {
    if (::mprotect(memory_ + opened_ * stride() + kGuard, size_, PROT_READ | PROT_WRITE) != 0) {
      throw system_error("cannot map a stack for a work-item");
    }
  }
  // At the same place of a page, the stacks of all fibers would compete for the same few lines of the cache.
  uint64_t shift = number * uint64_t{192} % kPage;
  return {memory_ + number * stride() + kGuard, size_ - shift};
}

bool Stacks::guards(const void* address) const {
  auto distance = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(memory_);
  return distance < most_ * stride() && distance % stride() < kGuard;
}

uint64_t Stacks::limit() {
  static const uint64_t kLimit = [] {
    uint64_t mappings = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
    return mappings / 4;  // half of them
  }();
  return kLimit;
}

}  // namespace mneme::device::host
