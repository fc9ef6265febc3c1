// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.h"
#include "bundle/format.h"

namespace mneme::device {

class Code;

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
  virtual void take() = 0;                         // holds what memory holds now
  virtual void clear(const BlockRange&) = 0;       // holds zeros there from now on
  virtual std::vector<BlockChange> changes() = 0;  // of memory, by address
  virtual void put_back(const BlockRange&) = 0;    // that memory becomes what this holds
  // The same, from memory of the host's: slower, and of what lies in the device's cache it takes only the place of this
  // memory, not that of a copy of it.
  virtual void put_back_from_host(const BlockRange& range) { put_back(range); }
  virtual void read(uint64_t address, std::span<std::byte> bytes) = 0;  // what this holds
  // Holds these at their place from now on. `blocks` are left to it as those of Device::begin_write() are.
  virtual void write(uint64_t address, Bytes blocks) = 0;
  // Has a kernel compare this with so many bytes of memory. It takes where this holds what belongs at `address`, that
  // address, where its results are to be, which come back in `results`, and a number. So many groups of `group`
  // work-items.
  virtual void compare(Code& code, uint64_t address, uint64_t size, uint32_t groups, bundle::Dim3 group, double number,
                       std::span<std::byte> results) = 0;
};

}  // namespace mneme::device
