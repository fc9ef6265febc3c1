// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/gathering.h"

#include "bundle/format.h"

namespace mneme::record {
namespace {

using bundle::kBlockSize;

constexpr size_t kFewCalls = 8;
constexpr uint64_t kLargePiece = 8 * kBlockSize;  // on the average: a copy of more takes much longer than to ask for it

}  // namespace

std::vector<uint64_t> blocks_to_gather(std::span<const Piece> pieces) {
  std::vector<uint64_t> blocks;
  if (pieces.size() < kFewCalls) return blocks;
  for (const Piece& piece : pieces) {
    if (piece.address % kBlockSize != 0 || piece.size % kBlockSize != 0) return {};
    for (uint64_t at = 0; at < piece.size; at += kBlockSize) blocks.push_back(piece.address + at);
  }
  if (blocks.size() * kBlockSize > pieces.size() * kLargePiece) return {};
  return blocks;
}

}  // namespace mneme::record
