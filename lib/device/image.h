// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <vector>

#include "base/digest.h"

namespace mneme::device {

struct BlockRange {
  uint64_t address = 0;  // multiples of kBlockSize, both
  uint64_t size = 0;
};

// What a block of memory differs in from what an image holds of it.
struct BlockChange {
  uint64_t address = 0;
  uint64_t bytes = 0;  // that differ, at least one
};

// A copy of mapped memory that stays on the device, so that the two are compared and memory is put back where it lies.
// All throw Error.
class Image {
 public:
  virtual ~Image() = default;
  virtual void take() = 0;                                 // holds what memory holds now
  virtual void write(uint64_t address, Bytes blocks) = 0;  // holds these at their place from now on
  virtual std::vector<BlockChange> changes() = 0;          // of memory, by address
  virtual void put_back(uint64_t address) = 0;             // a block of memory becomes what this holds
};

}  // namespace mneme::device
