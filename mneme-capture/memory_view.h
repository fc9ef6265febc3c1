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
#include "fetching.h"

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
  // Of memory that is out of this process's reach, so that at() has none of it: what lies at an address, so many bytes
  // or fewer where what holds them ends.
  virtual std::optional<record::Piece> distant(uint64_t /*address*/, uint64_t /*size*/) const { return std::nullopt; }
  // Has it brought (fetching.h).
  virtual void fetch(const Fetching::Next&, const Fetching::Take&) const {}
  // The digest of the block at an address, if it is known without reading the block.
  virtual std::optional<Digest> known(uint64_t /*block*/) const { return std::nullopt; }
  // All of the block at an address is as it was when the last snapshot was taken.
  virtual bool unwritten(uint64_t /*block*/) const { return false; }
};

// Memory at [address, address + size) of the application is the file's first `size` bytes.
struct SharedChunk {
  uint64_t address = 0;
  uint64_t size = 0;
  int file = -1;  // borrowed
};

// What the recorder of one process told of: chunks of memory that it shared, mapped here at other addresses than there;
// memory that is its own, which is read out of it; and a device's, which it is asked for.
class ApplicationMemory final : public MemoryView {
 public:
  // 0: a process that cannot be read. `socket`: its recorder's; -1: it cannot be asked for memory.
  explicit ApplicationMemory(pid_t process = 0, int socket = -1) : process_(process), fetching_(socket) {}
  ~ApplicationMemory() override;
  ApplicationMemory(const ApplicationMemory&) = delete;
  ApplicationMemory& operator=(const ApplicationMemory&) = delete;

  // The first `size` bytes of `memory` are what lies at `address`; without a descriptor they are the process's own.
  // Throws Error when they are not there, or overlap.
  void add(uint64_t address, uint64_t size, Fd memory);
  // They are a device's.
  void add_distant(const record::Piece& piece);
  void remove(uint64_t address);
  void clear();

  // What known() knows: the digests of blocks, one behind the other. Until forget(), or told again.
  void tell(uint64_t address, std::vector<Digest> blocks) { known_.insert_or_assign(address, std::move(blocks)); }
  // By address; what unwritten() knows.
  void tell_unwritten(std::vector<record::MemoryRange> runs) { unwritten_ = std::move(runs); }
  void forget() {
    known_.clear();
    unwritten_.clear();
  }

  Bytes at(uint64_t address, uint64_t size, std::byte* room) const override;
  bool untouched(uint64_t address, uint64_t size) const override;
  std::optional<Digest> known(uint64_t block) const override;
  bool unwritten(uint64_t block) const override;
  std::optional<record::Piece> distant(uint64_t address, uint64_t size) const override;
  void fetch(const Fetching::Next& next, const Fetching::Take& take) const override { fetching_.fetch(next, take); }
  Fetching& fetching() { return fetching_; }
  // Those of which there is a file, by address.
  std::vector<SharedChunk> shared() const;

 private:
  struct Chunk {
    uint64_t size = 0;
    const std::byte* mapped = nullptr;  // null: the process's own, or a device's
    Fd memory;
    std::optional<uint32_t> device;
  };
  void check_free(uint64_t address, uint64_t size) const;
  // The chunk that contains the address; end() if none does.
  std::map<uint64_t, Chunk>::const_iterator find(uint64_t address) const;

  const pid_t process_;
  mutable Fetching fetching_;
  std::map<uint64_t, Chunk> chunks_;               // by the application's address
  std::map<uint64_t, std::vector<Digest>> known_;  // by the address of the first
  std::vector<record::MemoryRange> unwritten_;
};

}  // namespace mneme::capture
