// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/heap/device_heap.h"

#include <iterator>
#include <mutex>

namespace mneme::device::host {
namespace {

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

HeapPiece piece_of(const std::pair<const uint64_t, uint64_t>& entry) { return {entry.first, entry.second}; }

std::optional<HeapPiece> holder(const std::map<uint64_t, uint64_t>& pieces, uint64_t address) {
  auto after = pieces.upper_bound(address);
  if (after == pieces.begin()) return std::nullopt;
  HeapPiece piece = piece_of(*std::prev(after));
  return address - piece.address < piece.size ? std::optional(piece) : std::nullopt;
}

// A work-item whose stack ends here faults here, where it holds nothing.
[[gnu::noinline]] void need_stack() {
  constexpr size_t kPage = 4096;
  volatile char room[2 * kPage];
  for (size_t i = sizeof room; i > 0; i -= kPage) room[i - 1] = 0;
}

}  // namespace

HeapAnswer DeviceHeap::allocate(uint64_t size) {
  need_stack();
  std::lock_guard lock(mutex_);
  HeapAnswer answer = heap_allocate(memory_, size);
  if (is_known_ && answer.address) gave({number(answer.address), size});
  return answer;
}

HeapTrouble DeviceHeap::release(void* address) {
  need_stack();
  std::lock_guard lock(mutex_);
  HeapTrouble trouble = heap_release(memory_, address);
  if (trouble != HeapTrouble::kNone || !is_known_) return trouble;
  if (auto piece = used_.extract(number(address))) released_.insert(std::move(piece));
  turn_.fetch_add(1, std::memory_order_release);
  return trouble;
}

std::optional<HeapPiece> DeviceHeap::piece_at(uint64_t address) {
  auto lock = known();
  return holder(used_, address);
}

std::optional<HeapPiece> DeviceHeap::released_at(uint64_t address) {
  auto lock = known();
  return holder(released_, address);
}

std::optional<HeapPiece> DeviceHeap::nearest_to(uint64_t address) {
  auto lock = known();
  auto after = used_.upper_bound(address);
  if (after == used_.begin()) return after == used_.end() ? std::nullopt : std::optional(piece_of(*after));
  HeapPiece before = piece_of(*std::prev(after));
  uint64_t end = before.address + before.size;
  bool is_nearer = after == used_.end() || address < end || address - end <= after->first - address;
  return is_nearer ? before : piece_of(*after);
}

bool DeviceHeap::is_unknown_at(uint64_t address) {
  auto lock = known();
  return address >= damaged_from_;
}

std::shared_lock<std::shared_mutex> DeviceHeap::known() {
  need_stack();
  std::shared_lock lock(mutex_);
  while (!is_known_) {
    lock.unlock();
    {
      std::lock_guard alone(mutex_);
      if (!is_known_) learn();
    }
    lock.lock();
  }
  return lock;
}

void DeviceHeap::learn() {
  auto take = [this](const HeapPiece& piece, bool in_use) {
    Pieces& pieces = in_use ? used_ : released_;
    pieces.emplace_hint(pieces.end(), piece.address, piece.size);
  };
  damaged_from_ = heap_walk(memory_, take).value_or(UINT64_MAX);
  is_known_ = true;
}

// What was released in its place is no more.
void DeviceHeap::gave(HeapPiece piece) {
  auto first = released_.upper_bound(piece.address);
  if (first != released_.begin() && std::prev(first)->first + std::prev(first)->second > piece.address) --first;
  released_.erase(first, released_.lower_bound(piece.address + piece.size));
  used_[piece.address] = piece.size;
}

}  // namespace mneme::device::host
