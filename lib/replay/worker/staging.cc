// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/staging.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/error.h"

namespace mneme::run {

namespace {
constexpr uint64_t kSize = Staging::kSlots * Staging::kSlotSize;
}

Staging::Staging(bool reads_only) {
  Fd file = zeroed_memory_file("mneme staging", kSize);
  map(file.get(), PROT_READ | PROT_WRITE);
  if (reads_only) theirs_ = Fd(::open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (theirs_) {
    known_.resize(kSlots * kSlotBlocks);
  } else {
    theirs_ = std::move(file);
  }
}

Staging::Staging(Fd file) {
  const bool reads_only = (::fcntl(file.get(), F_GETFL) & O_ACCMODE) == O_RDONLY;
  map(file.get(), reads_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

Staging::~Staging() { ::munmap(memory_, kSize); }

void Staging::populate([[maybe_unused]] std::span<const std::byte> memory) {
#ifdef MADV_POPULATE_READ
  ::madvise(const_cast<std::byte*>(memory.data()), memory.size(), MADV_POPULATE_READ);
#endif
}

void Staging::map(int file, int protection) {
  void* memory = ::mmap(nullptr, kSize, protection, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw system_error("cannot share memory with the worker");
  memory_ = static_cast<std::byte*>(memory);
}

}  // namespace mneme::run
