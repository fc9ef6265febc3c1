// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/file.h"
#include "recorder/cuda_block_digests.h"
#include "recorder/cuda_staging.h"
#include "recorder/protocol.h"
#include "recorder/runtime.h"

namespace mneme::record::cuda {

// Copies of device memory, which the capture cannot reach, in memory that it shares. What has changed is found out by
// the device, and only that crosses the link. Thread-safe.
class Copies {
 public:
  // Of this memory of a device's, as zeros. nullopt: no memory is left.
  std::optional<Fd> make(MemoryRange range, int device);
  void drop(uint64_t address);
  // Brings them up to date in these ranges, which are in order. The digests of blocks that are known now. Throws Error.
  std::vector<Digests> refresh(const std::vector<MemoryRange>& ranges);
  uint64_t devices() const;  // that have copies: a bit each

 private:
  struct Copy {
    uint64_t size = 0;
    std::byte* mapped = nullptr;
    int device = 0;
    std::vector<Digest> blocks;  // of whole blocks in it, what the copy holds; empty ones: not known
  };
  using Place = std::map<uint64_t, Copy>::iterator;

  Place copy_of(uint64_t address);
  void refresh(Place place, MemoryRange range, bool by_digests, std::vector<Digests>& known);
  void fetch(Place place, uint64_t begin, uint64_t end);

  mutable std::mutex mutex_;
  std::map<uint64_t, Copy> copies_;  // by the device's address
  BlockDigests digests_;
  Staging staging_;
};

}  // namespace mneme::record::cuda
