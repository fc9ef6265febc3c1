// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <zstd.h>

#include <functional>
#include <memory>
#include <vector>

#include "bundle/pack/pack.h"

namespace mneme::bundle {

// contents(i, false) gives a block's kBlockSize bytes, contents(i, true) its base's. The bytes need to stay only until
// the next call of the same kind.
using PackSource = std::function<Bytes(size_t i, bool base)>;

// Makes packs, one at a time; one encoder a thread. What it makes depends on the contents alone.
class PackEncoder {
 public:
  PackEncoder();

  // Packs 1 to kBlocksPerPack blocks. Strides are chosen here, and bases dropped where they do not help. The result
  // stays until the next call.
  Bytes encode(std::vector<PackEntry> entries, const PackSource& contents);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
  std::unique_ptr<std::byte[]> blocks_, mixed_, out_;
};

}  // namespace mneme::bundle
