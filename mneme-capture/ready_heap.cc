// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ready_heap.h"

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "bundle/format.h"

namespace mneme::capture {
namespace {

constexpr uint64_t kOfBlock = 256;     // bytes: digests, as they come and in two states, and where its contents are
constexpr uint64_t kMost = 64 << 20;   // bytes that are kept
constexpr uint64_t kPiece = 16 << 20;  // larger ones than twice that are never the heap's own
constexpr uint64_t kPageSize = 4 << 10;

}  // namespace

void make_heap_ready(uint64_t bytes) {
  ::mallopt(M_MMAP_THRESHOLD, 2 * kPiece);
  ::mallopt(M_TRIM_THRESHOLD, kMost);
  try {
    std::vector<std::unique_ptr<char[]>> pieces;
    for (uint64_t left = std::min(bytes / bundle::kBlockSize * kOfBlock, kMost); left > 0;) {
      const uint64_t size = std::min(left, kPiece);
      pieces.push_back(std::make_unique_for_overwrite<char[]>(size));
      volatile char* touched = pieces.back().get();
      for (uint64_t at = 0; at < size; at += kPageSize) touched[at] = 0;
      left -= size;
    }
  } catch (const std::bad_alloc&) {  // whoever needs it is told
  }
}

}  // namespace mneme::capture
