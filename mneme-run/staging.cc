// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "staging.h"

#include <sys/mman.h>

#include "base/error.h"

namespace mneme::run {

namespace {
constexpr uint64_t kSize = Staging::kSlots * Staging::kSlotSize;
}

Staging::Staging() : file_(zeroed_memory_file("mneme staging", kSize)) { map(file_.get()); }

Staging::Staging(Fd file) { map(file.get()); }

Staging::~Staging() { ::munmap(memory_, kSize); }

void Staging::map(int file) {
  void* memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw system_error("cannot share memory with the worker");
  memory_ = static_cast<std::byte*>(memory);
}

}  // namespace mneme::run
