// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/blocks/block_store.h"

#include <sys/mman.h>

#include <chrono>

#include "base/error.h"

namespace mneme::bundle {
namespace {

// Memory comes in huge pages, each touched at once and by one thread: several of them get memory at several times the
// speed of small pages, for which they wait for each other.
constexpr size_t kPageSize = 2 << 20;
constexpr size_t kPageBlocks = kPageSize / kBlockSize;
constexpr size_t kSlabSize = 32 * kPageSize;  // addresses, a whole number of pages from the first that is aligned

// A virtual machine that is given its memory as it touches it has small pages at hand, of programs that ended, and
// takes this long for a huge one.
constexpr auto kSlow = std::chrono::milliseconds(5);
constexpr int kPatience = 4;

alignas(64) constexpr std::byte kZeros[kBlockSize]{};

}  // namespace

BlockPool::~BlockPool() {
  for (std::byte* slab : slabs_) ::munmap(slab, kSlabSize + kPageSize);
}

std::byte* BlockPool::new_page() {
  if ((pages_ + 1) * kPageSize > limit_) {
    throw Error::of("the bundle's memory does not fit: an instance needs more than {} MiB", limit_ >> 20);
  }
  if (pages_ == slabs_.size() * (kSlabSize / kPageSize)) {
    void* slab = ::mmap(nullptr, kSlabSize + kPageSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) throw system_error("cannot allocate memory for an instance");
    slabs_.push_back(static_cast<std::byte*>(slab));
    // Of all of it: each call of this kind keeps all others waiting that are about memory.
    huge_ = slow_ < kPatience && ::madvise(slab, kSlabSize + kPageSize, MADV_HUGEPAGE) == 0;
  }
  auto first = (reinterpret_cast<uintptr_t>(slabs_.back()) + kPageSize - 1) / kPageSize * kPageSize;
  return reinterpret_cast<std::byte*>(first) + pages_++ % (kSlabSize / kPageSize) * kPageSize;
}

// To ask once takes less time than to touch one after the other; a system that cannot be asked does nothing.
void BlockPool::populate(std::byte* page, bool huge) {
  auto begin = std::chrono::steady_clock::now();
  ::madvise(page, kPageSize, MADV_POPULATE_WRITE);
  if (!huge) return;
  bool slow = std::chrono::steady_clock::now() - begin > kSlow;
  if (slow || slow_ > 0) slow_ += slow ? 1 : -1;
}

std::byte* BlockPool::take() {
  std::unique_lock lock(mutex_);
  if (idle_.empty() && fresh_.empty() && bare_.empty()) {
    std::byte* page = new_page();
    const bool huge = huge_;
    if (huge) {
      lock.unlock();
      populate(page, true);
      lock.lock();
    }
    std::vector<std::byte*>& list = huge ? fresh_ : bare_;
    for (size_t i = kPageBlocks; i-- > 0;) list.push_back(page + i * kBlockSize);
  }
  bool bare = idle_.empty() && fresh_.empty();
  std::vector<std::byte*>& from = !idle_.empty() ? idle_ : bare ? bare_ : fresh_;
  std::byte* block = from.back();
  from.pop_back();
  lock.unlock();
  if (bare) ::madvise(block, kBlockSize, MADV_POPULATE_WRITE);
  return block;
}

void BlockPool::give_back(std::byte* block) {
  std::lock_guard lock(mutex_);
  if (idle_.size() < most_idle_) return idle_.push_back(block);
  ::madvise(block, kBlockSize, MADV_DONTNEED);
  bare_.push_back(block);
}

void BlockPool::prepare() {
  std::unique_lock lock(mutex_);
  std::byte* page = new_page();
  const bool huge = huge_;
  lock.unlock();
  populate(page, huge);
  lock.lock();
  for (size_t i = kPageBlocks; i-- > 0;) fresh_.push_back(page + i * kBlockSize);
}

uint64_t BlockPool::bytes() const {
  std::lock_guard lock(mutex_);
  return pages_ * kPageSize;
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

void BlockStore::keep_only(std::span<const Digest> kept) {
  ++mark_;
  for (const Digest& digest : kept) {
    auto found = blocks_.find(digest);
    if (found != blocks_.end()) found->second.mark = mark_;
  }
  std::erase_if(blocks_, [&](const auto& entry) {
    if (entry.second.mark == mark_) return false;
    pool_.give_back(entry.second.bytes);
    return true;
  });
}

}  // namespace mneme::bundle
