// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/file.h"

namespace mneme::capture {

// The application's memory, as this process can read it.
class MemoryView {
 public:
  virtual ~MemoryView() = default;
  // Bytes at an address of the application: `size` of them, or fewer where what holds them ends; none where nothing
  // is. They lie where this process has mapped them, or are read into `room`, which has `size` bytes. Throws Error
  // when the application is gone. Safe to call from several threads.
  virtual Bytes at(uint64_t address, uint64_t size, std::byte* room) const = 0;
  // Nobody has touched these bytes yet: they are zeros, and reading them would only cost memory.
  virtual bool untouched(uint64_t address, uint64_t size) const = 0;
  // The digest of the block at an address, if it is known without reading the block.
  virtual std::optional<Digest> known(uint64_t /*block*/) const { return std::nullopt; }
};

// What the recorder of one process told of: chunks of memory that it shared, mapped here at other addresses than there,
// and memory that is its own, which is read out of it.
class ApplicationMemory final : public MemoryView {
 public:
  // 0: a process that cannot be read.
  explicit ApplicationMemory(pid_t process = 0) : process_(process) {}
  ~ApplicationMemory() override;
  ApplicationMemory(const ApplicationMemory&) = delete;
  ApplicationMemory& operator=(const ApplicationMemory&) = delete;

  // The first `size` bytes of `memory` are what lies at `address`; without a descriptor they are the process's own.
  // Throws Error when they are not there, or overlap.
  void add(uint64_t address, uint64_t size, Fd memory);
  void remove(uint64_t address);
  void clear();

  // What known() knows: the digests of blocks, one behind the other. Until forget(), or told again.
  void tell(uint64_t address, std::vector<Digest> blocks) { known_.insert_or_assign(address, std::move(blocks)); }
  void forget() { known_.clear(); }

  Bytes at(uint64_t address, uint64_t size, std::byte* room) const override;
  bool untouched(uint64_t address, uint64_t size) const override;
  std::optional<Digest> known(uint64_t block) const override;

 private:
  struct Chunk {
    uint64_t size = 0;
    const std::byte* mapped = nullptr;  // null: the process's own
    Fd memory;
  };
  // The chunk that contains the address; end() if none does.
  std::map<uint64_t, Chunk>::const_iterator find(uint64_t address) const;

  const pid_t process_;
  std::map<uint64_t, Chunk> chunks_;               // by the application's address
  std::map<uint64_t, std::vector<Digest>> known_;  // by the address of the first
};

}  // namespace mneme::capture
