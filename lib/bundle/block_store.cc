// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/block_store.h"

#include <sys/mman.h>

#include "base/error.h"

namespace mneme::bundle {
namespace {

constexpr size_t kSlabBlocks = 128;
constexpr size_t kSlabSize = kSlabBlocks * kBlockSize;
alignas(64) constexpr std::byte kZeros[kBlockSize]{};

}  // namespace

BlockPool::~BlockPool() {
  for (std::byte* slab : slabs_) ::munmap(slab, kSlabSize);
}

void BlockPool::add_slab() {
  if ((slabs_.size() + 1) * kSlabSize > limit_) {
    throw Error::of("the bundle's memory does not fit: an instance needs more than {} MiB", limit_ >> 20);
  }
  void* slab = ::mmap(nullptr, kSlabSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slab == MAP_FAILED) throw system_error("cannot allocate memory for an instance");
  // First touch of small pages is slower than decompressing into them.
  if (pages_ == Pages::kHuge) ::madvise(slab, kSlabSize, MADV_HUGEPAGE);
  slabs_.push_back(static_cast<std::byte*>(slab));
  for (size_t i = kSlabBlocks; i-- > 0;) bare_.push_back(slabs_.back() + i * kBlockSize);
}

std::byte* BlockPool::take() {
  std::unique_lock lock(mutex_);
  bool bare = idle_.empty();
  if (bare && bare_.empty()) add_slab();
  std::vector<std::byte*>& from = bare ? bare_ : idle_;
  std::byte* block = from.back();
  from.pop_back();
  lock.unlock();
  // To ask once takes less time than to touch page after page. A system that does not know this does nothing.
  if (bare && pages_ == Pages::kSmall) ::madvise(block, kBlockSize, MADV_POPULATE_WRITE);
  return block;
}

void BlockPool::give_back(std::byte* block) {
  std::lock_guard lock(mutex_);
  if (idle_.size() < most_idle_) return idle_.push_back(block);
  ::madvise(block, kBlockSize, MADV_DONTNEED);
  bare_.push_back(block);
}

uint64_t BlockPool::idle_bytes() const {
  std::lock_guard lock(mutex_);
  return idle_.size() * kBlockSize;
}

void BlockStore::add(const Digest& digest, std::byte* block) {
  if (!blocks_.try_emplace(digest, Entry{block, mark_}).second) pool_.give_back(block);
}

const std::byte* BlockStore::find(const Digest& digest) const {
  auto found = blocks_.find(digest);
  if (found != blocks_.end()) return found->second.bytes;
  return digest == zero_block_digest() ? kZeros : nullptr;
}

void BlockStore::keep_only(const State& first, const State& second) {
  ++mark_;
  for (const State* state : {&first, &second}) {
    for (const BlockReference& block : state->blocks) {
      auto found = blocks_.find(block.digest);
      if (found != blocks_.end()) found->second.mark = mark_;
    }
  }
  std::erase_if(blocks_, [&](const auto& entry) {
    if (entry.second.mark == mark_) return false;
    pool_.give_back(entry.second.bytes);
    return true;
  });
}

}  // namespace mneme::bundle
