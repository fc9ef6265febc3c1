// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_staging.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "recorder/cuda_devices.h"
#include "recorder/cuda_runtime.h"
#include "recorder/next.h"

namespace mneme::record::cuda {
namespace {

constexpr uint64_t kSlot = 32 << 20;  // bytes
constexpr uint64_t kShare = 1 << 20;  // bytes that are worth a thread

constinit Next<Error(void**, size_t, unsigned)> next_host_alloc(kLibrary, "cudaHostAlloc");
constinit Next<Error(void*)> next_host_free(kLibrary, "cudaFreeHost");
constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy(kLibrary, "cudaMemcpyAsync");
constinit Next<Error(Stream)> next_synchronize(kLibrary, "cudaStreamSynchronize");
constinit Next<Error()> next_last_error(kLibrary, "cudaGetLastError");

void check(Error status) {
  if (status != kSuccess) throw mneme::Error("device memory cannot be read: " + runtime().error_text(status));
}

}  // namespace

Staging::~Staging() {
  for (Slot& slot : slots_) {
    join(slot);
    if (slot.memory) next_host_free.call_or(kNotSupported, slot.memory);
  }
}

bool Staging::make_slots() {
  if (slots_[0].memory || direct_) return !direct_;
  for (Slot& slot : slots_) {
    void* memory = nullptr;
    if (next_host_alloc.call_or(kNotSupported, &memory, kSlot, kRegisterPortable) != kSuccess) {
      next_last_error.call_or(kNotSupported);  // our attempt, not the application's error
      direct_ = true;
      return false;
    }
    slot.memory = static_cast<std::byte*>(memory);
  }
  return true;
}

void Staging::fetch(std::byte* to, uint64_t from, uint64_t size, int device) {
  bool staged = make_slots();
  while (size > 0) {
    Slot& slot = slots_[current_];
    bool fits = slot.used < kSlot && (slot.pieces.empty() || device == device_);
    if (staged && !fits) {
      arrive();
      continue;
    }
    device_ = device;
    OnDevice there(device);
    uint64_t piece = staged ? std::min(size, kSlot - slot.used) : size;
    std::byte* through = staged ? slot.memory + slot.used : to;
    check(
        next_copy.call_or(kNotSupported, through, reinterpret_cast<const void*>(from), piece, kDeviceToHost, nullptr));
    if (staged) {
      slot.pieces.push_back({to, slot.used, piece});
      slot.used += piece;
    } else {
      check(next_synchronize.call_or(kNotSupported, nullptr));
    }
    to += piece;
    from += piece;
    size -= piece;
  }
}

void Staging::arrive() {
  Slot& slot = slots_[current_];
  {
    OnDevice there(device_);
    check(next_synchronize.call_or(kNotSupported, nullptr));
  }
  empty(slot);
  current_ ^= 1;
  join(slots_[current_]);
}

// By several threads: memory that was never touched takes one of them longer than the link takes.
void Staging::empty(Slot& slot) {
  slot.emptying.start(slot.used, kShare, [&slot](uint64_t begin, uint64_t end) {
    for (const Piece& piece : slot.pieces) {
      uint64_t from = std::max(begin, piece.at), to = std::min(end, piece.at + piece.size);
      if (from < to) std::memcpy(piece.to + (from - piece.at), slot.memory + from, to - from);
    }
  });
}

void Staging::join(Slot& slot) {
  slot.emptying.join();
  slot.pieces.clear();
  slot.used = 0;
}

void Staging::finish() {
  if (!slots_[current_].pieces.empty()) arrive();
  join(slots_[current_ ^ 1]);
}

}  // namespace mneme::record::cuda
