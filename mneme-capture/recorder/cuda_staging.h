// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/helping_threads.h"

namespace mneme::record::cuda {

// Brings device memory to the host by way of two pieces of pinned memory: while the link fills one, threads empty the
// other. Not thread-safe.
class Staging {
 public:
  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // `to` holds what lies at `from` on the device once finish() has returned. The device is at rest. Throws Error.
  void fetch(std::byte* to, uint64_t from, uint64_t size, int device);
  void finish();

 private:
  struct Piece {
    std::byte* to;
    uint64_t at, size;  // in the slot
  };
  struct Slot {
    std::byte* memory = nullptr;  // pinned
    uint64_t used = 0;
    std::vector<Piece> pieces;
    HelpingThreads emptying;
  };

  bool make_slots();
  void arrive();  // the slot in use has its bytes, and is being emptied; the other is in use
  static void empty(Slot& slot);
  static void join(Slot& slot);

  Slot slots_[2];
  int current_ = 0;
  int device_ = 0;       // whose bytes the slot in use gets
  bool direct_ = false;  // no pinned memory is to be had
};

}  // namespace mneme::record::cuda
