// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <span>

#include "base/digest.h"
#include "recorder/cuda_api.h"

namespace mneme::record::cuda {

// Digests of device memory, by a kernel. Not thread-safe.
class BlockDigests {
 public:
  BlockDigests() = default;
  BlockDigests(const BlockDigests&) = delete;
  BlockDigests& operator=(const BlockDigests&) = delete;

  // Of as many blocks as `digests` has room for, from `address` on, a multiple of a block, of the calling thread's
  // device, which is at rest. False: the device cannot do it.
  bool of(int device, uint64_t address, std::span<Digest> digests);

 private:
  struct Loaded {
    Function kernel = nullptr;  // null: the device cannot do it
    void* keys = nullptr;       // device memory
    void* out = nullptr;        // the same, for so many digests
    uint64_t room = 0;
  };
  static Loaded load();
  static bool make_room(Loaded& loaded, uint64_t count);

  std::map<int, Loaded> loaded_;  // by device
};

}  // namespace mneme::record::cuda
