// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/delivery.h"

#include <sys/mman.h>

#include "base/error.h"
#include "memory/own_region.h"

namespace mneme::record {

void Delivery::map(Fd memory, uint64_t size) {
  unmap();
  void* mapped = memory::map_own(size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get());
  if (mapped == MAP_FAILED) throw system_error("cannot share memory with mneme-capture");
  memory_ = static_cast<std::byte*>(mapped);
  size_ = size;
}

void Delivery::unmap() {
  while (under_way_ > 0) {
    try {
      finish();
    } catch (const Error&) {  // whoever waited for it has been told
    }
  }
  for (uint64_t at : pinned_) runtime_.disown_host(memory_ + at);
  leave_to_parent();
}

void Delivery::leave_to_parent() {
  under_way_ = 0;
  pinned_.clear();
  if (memory_) ::munmap(memory_, size_);
  memory_ = nullptr;
}

// Devices write into memory that they know at several times the speed. Where there is little to bring it would take
// longer than it saves.
void Delivery::pin(const Fetch& fetch) {
  uint64_t bytes = 0;
  for (const Piece& piece : fetch.pieces) bytes += piece.size;
  if (bytes > fetch.room) throw Error("mneme-capture wants more memory than it has room for");
  if ((bytes < fetch.room / 2 && !fetch.pieces.empty()) || pinned_.contains(fetch.at)) return;
  try {
    if (runtime_.adopt_host(memory_ + fetch.at, fetch.room)) pinned_.insert(fetch.at);
  } catch (const Error&) {  // kernels could not use it, who have nothing to do with this
  }
}

void Delivery::begin(const Fetch& fetch, Fd memory) {
  if (memory) map(std::move(memory), fetch.size);
  if (!memory_ || fetch.room > size_ || fetch.at > size_ - fetch.room) {
    throw Error("mneme-capture wants memory where there is no room for it");
  }
  pin(fetch);
  runtime_.fetch(fetch.pieces, memory_ + fetch.at, pinned_.contains(fetch.at));
  ++under_way_;
}

void Delivery::finish() {
  if (under_way_ == 0) return;
  --under_way_;
  runtime_.await_fetched();
}

}  // namespace mneme::record
