// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <mutex>
#include <optional>

#include "memory/arena.h"

namespace mneme::record {

// What the application does with the vendor's virtual memory calls: the addresses that it reserves, which are to be the
// same in every process, and which of the memory that it maps there has another address already. Thread-safe.
class MappedMemory {
 public:
  MappedMemory();

  // Where to ask for a reservation; nullopt: no matter where. For release(), even if it was then made elsewhere.
  std::optional<uint64_t> propose(uint64_t size, uint64_t align);
  void release(uint64_t address);

  // The memory behind the descriptor was mapped. False: so it is at another address, too.
  bool add(uint64_t address, int descriptor);
  // What begins in [address, address + size).
  void remove(uint64_t address, uint64_t size);

 private:
  std::mutex mutex_;
  memory::Arena arena_;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> files_;  // device and inode of what is mapped, by address
};

}  // namespace mneme::record
