// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <zstd.h>

#include <memory>
#include <string>
#include <vector>

#include "bundle/pack/pack.h"

namespace mneme::bundle {

// Makes a smaller pack of some of a pack's blocks, one at a time; one cutter a thread. Blocks stay encoded as they are,
// with the bases that they have: only the frame around them is made anew, so that no block is needed but those.
class PackCutter {
 public:
  PackCutter();

  // Of a pack with this index, the blocks with these numbers, ascending. The result stays until the next call. Throws
  // Error naming `where` on a damaged frame.
  Bytes cut(Bytes pack, const std::vector<PackEntry>& entries, const std::vector<size_t>& numbers,
            const std::string& where);

 private:
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> compressor_{ZSTD_createCCtx(), &ZSTD_freeCCtx};
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> decompressor_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
  std::unique_ptr<std::byte[]> blocks_, out_;
};

}  // namespace mneme::bundle
