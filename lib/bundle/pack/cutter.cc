// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/cutter.h"

#include <cstring>
#include <new>

#include "bundle/pack/choice.h"

namespace mneme::bundle {

PackCutter::PackCutter() : blocks_(new std::byte[kBlocksPerPack * kBlockSize]), out_(new std::byte[max_pack_size()]) {
  if (!compressor_ || !decompressor_) throw std::bad_alloc();
}

Bytes PackCutter::cut(Bytes pack, const std::vector<PackEntry>& entries, const std::vector<size_t>& numbers,
                      const std::string& where) {
  decompress_frame(decompressor_.get(), frame_of_pack(pack, entries.size(), where),
                   {blocks_.get(), entries.size() * kBlockSize}, where);
  std::vector<PackEntry> chosen;
  for (size_t number : numbers) {
    std::byte* place = blocks_.get() + chosen.size() * kBlockSize;  // no block behind it has moved yet
    if (number != chosen.size()) std::memcpy(place, blocks_.get() + number * kBlockSize, kBlockSize);
    chosen.push_back(entries[number]);
  }
  Bytes blocks(blocks_.get(), chosen.size() * kBlockSize);
  Setting setting = choose_setting(chosen, blocks, compressor_.get());
  size_t index = pack_index_size(chosen.size());
  size_t frame = compress(compressor_.get(), setting, blocks, {out_.get() + index, max_pack_size() - index});
  write_pack_index(out_.get(), chosen);
  return {out_.get(), index + frame};
}

}  // namespace mneme::bundle
