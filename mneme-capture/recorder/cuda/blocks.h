// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <span>

#include "base/digest.h"
#include "recorder/cuda/devices.h"
#include "recorder/link/protocol.h"

namespace mneme::record::cuda {

// What kernels of the recorder's own do with blocks of device memory that is at rest, in the calling thread's context.
// False of either: the device cannot do it, or it is not worth its while. Not thread-safe.
class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // The digests of as many blocks as there is room for, from `address` on, a multiple of a block.
  bool digest(uint64_t address, std::span<Digest> digests);
  // Begins to bring the pieces one behind the other, in the order of the default stream; `to` is pinned memory of the
  // host's. For many that are small and whole blocks: of larger ones copies are as quick.
  bool gather(std::span<const Piece> pieces, std::byte* to);
  // The context is gone, and all that was in it.
  void forget(Context context) { loaded_.erase(context); }

 private:
  struct Loaded {
    Function digest = nullptr, gather = nullptr;  // null: the device cannot do it
    Address keys = 0;                             // device memory
    Address out = 0;                              // the same, for so many digests
    uint64_t room = 0;
  };
  Loaded& loaded();
  static Loaded load();
  static bool make_room(Loaded& loaded, uint64_t count);

  std::map<Context, Loaded> loaded_;
};

}  // namespace mneme::record::cuda
