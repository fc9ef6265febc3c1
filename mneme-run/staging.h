// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/file.h"
#include "bundle/format.h"

namespace mneme::run {

// Memory of mneme-run and its worker both, through which blocks reach the worker: slots, each of which the worker has
// filled when it asks for that. mneme-run only writes there, so whatever a spoilt worker leaves there does not matter.
// Its size is settled: once the worker has closed its descriptor, nobody but mneme-run can change it.
class Staging {
 public:
  static constexpr uint32_t kSlots = 8;
  static constexpr size_t kSlotBlocks = 128;
  static constexpr size_t kSlotSize = kSlotBlocks * bundle::kBlockSize;

  Staging();                  // mneme-run's; throws Error
  explicit Staging(Fd file);  // the worker's, of what mneme-run's file() is; throws Error
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  int file() const { return file_.get(); }
  std::span<std::byte> slot(uint32_t number) const { return {memory_ + number * kSlotSize, kSlotSize}; }

 private:
  void map(int file);

  Fd file_;
  std::byte* memory_ = nullptr;
};

}  // namespace mneme::run
