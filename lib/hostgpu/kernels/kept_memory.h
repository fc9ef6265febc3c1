// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel may write, as it was before a launch, to be put back where that fails.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hostgpu/kernels/program.h"
#include "hostgpu/queue/queue.h"

namespace mneme::hostgpu {

// Keeping the memory of a variant's launches takes 2 ms, and a twentieth of the time that they take themselves: all
// launches are kept where that is cheap, else the first, and others now and then. Where launches are timed, the 2 ms
// are none. Where operations take turns, memory is kept whatever it costs. Thread-safe.
class KeepingCost {
 public:
  bool allows() const { return operations_take_turns() || kept_ns_ <= at_first_ + ran_ns_ / kShare; }
  void add(uint64_t kept_ns, uint64_t ran_ns) {
    kept_ns_ += kept_ns;
    ran_ns_ += ran_ns;
  }

 private:
  static constexpr uint64_t kShare = 20;
  static uint64_t at_first();  // ns

  const uint64_t at_first_ = at_first();
  std::atomic<uint64_t> kept_ns_{0}, ran_ns_{0};
};

class KeptMemory {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  // By the operation of a queue that is about to launch the kernel. Copies nothing where `is_worth_it` is false.
  KeptMemory(const Kernel& kernel, Bytes arguments, bool is_worth_it);
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  // Why it cannot be put back; empty: it can. Other work would lose what it has written meanwhile.
  std::string why_not() const;
  void put_back() const;

 private:
  using Pieces = std::vector<std::span<std::byte>>;
  // Throws Error with why that cannot be known.
  static Pieces written_by(const Kernel& kernel, Bytes arguments);
  void copy(const Pieces& pieces);

  Pieces pieces_;
  std::unique_ptr<std::byte[]> copy_;
  uint64_t capacity_ = 0;  // of the copy, bytes
  const char* why_not_ = nullptr;
  std::string error_;   // likewise
  uint64_t begun_ = 0;  // operations, when the memory was copied
};

}  // namespace mneme::hostgpu
