// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device memory at addresses of ours, as the HIP runtime at hand can do it. By the virtual memory functions, whose
// structure for what memory is to be has one form in HIP 5.2 and another in later ones; or, where they do not work, in
// one large allocation that is made early. Which it is shows when it is tried.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "recorder/hip/devices.h"
#include "recorder/link/protocol.h"

namespace mneme::record::hip {

class VirtualMemory {
 public:
  // As Runtime has them; only the stand-in's memory has a descriptor.
  MemoryRange reserve(uint64_t base, uint64_t size, int device);
  void unreserve(uint64_t base, uint64_t size);
  std::optional<Fd> back(uint64_t address, uint64_t size, int device);
  void unback(uint64_t address, uint64_t size);
  uint64_t taken_ahead(int device);

  // The device of memory that the application made; nullopt: no device's, or the runtime does not say.
  std::optional<int> device_of(Handle handle);

 private:
  struct Plain {
    void* whole = nullptr;  // as the runtime gave it
    MemoryRange blocks;     // in it
    int device = 0;
    uint64_t backed = 0;  // bytes
  };

  enum class Trial { kWorks, kNoMemory, kFails };
  Trial try_memory(uint64_t address, int device);
  Status create(Handle* handle, uint64_t size, int device);
  MemoryRange reserve_plain(uint64_t most, int device);
  Plain* plain_with(uint64_t address);  // with the lock held

  std::mutex mutex_;
  std::vector<Plain> plain_;
  std::atomic<bool> tried_{false}, works_{false};
  std::atomic<bool> newer_{false};  // the structure's form
};

}  // namespace mneme::record::hip
