// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/counters.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "memory/own_region.h"

namespace mneme::record {
namespace {

constexpr size_t kBytes = Counters::kSlots * sizeof(uint64_t);

}  // namespace

Fd Counters::make() { return zeroed_memory_file("mneme-counters", kBytes); }

Counters::Counters(const Fd& memory) {
  void* address = memory::map_own(kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get());
  if (address == MAP_FAILED) throw system_error("cannot map the counters");
  slots_ = static_cast<std::atomic<uint64_t>*>(address);
}

Counters::~Counters() { ::munmap(slots_, kBytes); }

}  // namespace mneme::record
