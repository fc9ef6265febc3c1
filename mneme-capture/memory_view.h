// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "base/digest.h"
#include "base/file.h"

namespace mneme::capture {

// The application's memory, as this process can read it.
class MemoryView {
 public:
  virtual ~MemoryView() = default;
  // Bytes at an address of the application: `size` of them, or fewer where what holds them ends; none where nothing
  // is. Safe to call from several threads.
  virtual Bytes at(uint64_t address, uint64_t size) const = 0;
  // Nobody has touched these bytes yet: they are zeros, and reading them would only cost memory.
  virtual bool untouched(uint64_t address, uint64_t size) const = 0;
};

// Chunks of memory that the recorder shared, mapped here at other addresses than there.
class SharedMemory final : public MemoryView {
 public:
  SharedMemory() = default;
  ~SharedMemory() override;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // The first `size` bytes of `memory` are what lies at `address`. Throws Error when they are not there, or overlap.
  void add(uint64_t address, uint64_t size, Fd memory);
  void remove(uint64_t address);
  void clear();

  Bytes at(uint64_t address, uint64_t size) const override;
  bool untouched(uint64_t address, uint64_t size) const override;

 private:
  struct Chunk {
    uint64_t size = 0;
    const std::byte* mapped = nullptr;
    Fd memory;
  };
  // The chunk that contains the address; end() if none does.
  std::map<uint64_t, Chunk>::const_iterator find(uint64_t address) const;

  std::map<uint64_t, Chunk> chunks_;  // by the application's address
};

}  // namespace mneme::capture
