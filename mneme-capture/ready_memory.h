// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bundle/blocks/block_store.h"

namespace mneme::capture {

// Memory for the first snapshot of a GPU's, made ready while the application is not there yet: to get it from the
// system takes several times as long as to fill it. In the background, behind all that others want of the processors.
// Thread-safe.
class ReadyMemory {
 public:
  // At most `most` bytes.
  ReadyMemory(std::shared_ptr<bundle::BlockPool> pool, uint64_t most) : pool_(std::move(pool)), most_(most) {}
  ~ReadyMemory();
  ReadyMemory(const ReadyMemory&) = delete;
  ReadyMemory& operator=(const ReadyMemory&) = delete;

  void want(uint64_t bytes);  // besides what was wanted before
  void want_less(uint64_t bytes);
  // No more from now on: the application waits for who takes it, and the background is in its way.
  void enough();

 private:
  static constexpr uint64_t kWorthwhile = 64 << 20;  // bytes
  // Of what is wanted, besides it: what the first launches change is kept beside what was there before.
  static constexpr uint64_t kOneMoreOf = 16;

  void work();
  bool is_wanted() const { return !enough_ && pool_->bytes() < std::min(wanted_ + wanted_ / kOneMoreOf, most_); }

  const std::shared_ptr<bundle::BlockPool> pool_;
  const uint64_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t wanted_ = 0;
  bool enough_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mneme::capture
