// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace mneme::record {

// How much of each of the runtime's memory pools is in use: of memory that the recorder gave out in a pool's stead the
// runtime knows nothing. A pool is its handle. Thread-safe.
class PoolUse {
 public:
  struct Sums {
    uint64_t now = 0, most = 0;  // bytes
  };

  void add(void* pool, uint64_t address, uint64_t size);
  void remove(uint64_t address);  // memory of no pool, too
  Sums of(void* pool) const;
  void forget_most(void* pool);  // it is what is in use now
  // Its memory stays until it is released.
  void destroyed(void* pool);

  // Whose memory it gives out; nullopt: nobody said.
  void set_device(void* pool, int device);
  std::optional<int> device_of(void* pool) const;

  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  struct Piece {
    void* pool = nullptr;
    uint64_t size = 0;
  };

  mutable std::mutex mutex_;
  std::map<void*, Sums> sums_;
  std::map<void*, int> devices_;
  std::map<uint64_t, Piece> pieces_;  // by address
};

}  // namespace mneme::record
