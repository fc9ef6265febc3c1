// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/file.h"
#include "bundle/format.h"

namespace mneme::run {

// Memory of mneme-run and its worker both, through which blocks reach the worker: slots, each of which the worker has
// filled when it asks for that, or finds filled. mneme-run only writes there, so whatever a spoilt worker leaves there
// does not matter; one that runs kernels itself cannot write there, so mneme-run knows what each slot holds. Its size
// is settled: once the worker has closed its descriptor, nobody but mneme-run can change it.
class Staging {
 public:
  static constexpr uint32_t kSlots = 8;
  static constexpr uint32_t kMostHeld = kSlots / 2;  // by one instance, for as long as it is in hand
  static constexpr size_t kSlotBlocks = 128;
  static constexpr size_t kSlotSize = kSlotBlocks * bundle::kBlockSize;

  // mneme-run's. `reads_only`: the worker cannot write there. Throws Error.
  explicit Staging(bool reads_only);
  explicit Staging(Fd file);  // the worker's, of what mneme-run's file() is; throws Error
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int file() const { return theirs_.get(); }
  // mneme-run's, for what it has written: of the blocks in a slot, which they are. Empty: it is not known for long.
  std::span<Digest> known(uint32_t number) {
    return known_.empty() ? std::span<Digest>() : std::span(known_).subspan(number * kSlotBlocks, kSlotBlocks);
  }
  std::span<std::byte> slot(uint32_t number) const { return {memory_ + number * kSlotSize, kSlotSize}; }
  // Maps what will be read soon at once, in a process that has not read it yet: a page fault for every few pages takes
  // longer.
  static void populate(std::span<const std::byte> memory);

 private:
  void map(int file, int protection);

  Fd theirs_;
  std::vector<Digest> known_;
  std::byte* memory_ = nullptr;
};

}  // namespace mneme::run
