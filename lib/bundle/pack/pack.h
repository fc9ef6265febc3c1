// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// memory/<n>.pack: its index, and what encoding and decoding share.
#pragma once
#include <zstd.h>

#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "bundle/format.h"

namespace mneme::bundle {

struct PackEntry {
  Digest digest;
  Digest base;          // the block that it is stored as XOR with; empty: none
  uint32_t stride = 0;  // size of the elements whose bytes stand in planes; 0: bytes stand as they are
};

// The largest pack member that can be right.
uint64_t max_pack_size();
size_t pack_index_size(size_t entries);
void write_pack_index(std::byte* out, std::span<const PackEntry> entries);

// The index of a pack, checked: counts, strides, that no block occurs twice or has a base in the same pack that has one
// too. Throws Error naming `where`.
std::vector<PackEntry> parse_pack_index(Bytes pack, const std::string& where);

// The zstd frame behind the index of a pack of so many blocks. Throws Error unless it is exactly one frame that claims
// that size; what is in it is not looked at.
Bytes frame_of_pack(Bytes pack, size_t entries, const std::string& where);

// Fills `out`, which has the size that the frame claims. Throws Error.
void decompress_frame(ZSTD_DCtx* context, Bytes frame, std::span<std::byte> out, const std::string& where);

void xor_bytes(const std::byte* a, const std::byte* b, std::byte* out, size_t size);

}  // namespace mneme::bundle
