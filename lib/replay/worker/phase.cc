// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/phase.h"

#include <sys/mman.h>

#include "base/error.h"

namespace mneme::run {

namespace {
constexpr uint64_t kWordSize = sizeof(std::atomic<uint64_t>);
static_assert(std::atomic<uint64_t>::is_always_lock_free);  // processes share it
}  // namespace

Phase::Phase() : file_(zeroed_memory_file("mneme phase", kWordSize)) {
  map(file_.get());
  begin(false);
}

// Once its descriptor is closed, nobody but mneme-run can change the file's size.
Phase::Phase(Fd file) { map(file.get()); }

Phase::~Phase() { ::munmap(word_, kWordSize); }

void Phase::map(int file) {
  void* memory = ::mmap(nullptr, kWordSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw system_error("cannot share memory with the worker");
  word_ = static_cast<std::atomic<uint64_t>*>(memory);
}

void Phase::begin(bool foreign) {
  const std::chrono::nanoseconds now = Clock::now().time_since_epoch();
  word_->store(static_cast<uint64_t>(now.count()) << 1 | (foreign ? 1 : 0), std::memory_order_release);
}

Phase::State Phase::state() const {
  const uint64_t word = word_->load(std::memory_order_acquire);
  return {(word & 1) != 0, Clock::time_point(std::chrono::nanoseconds(word >> 1))};
}

}  // namespace mneme::run
