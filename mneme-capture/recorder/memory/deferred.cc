// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/deferred.h"

#include <algorithm>

namespace mneme::record {
namespace {

// A handle that stands for another stream in each thread.
bool is_per_thread(void* stream) { return reinterpret_cast<uintptr_t>(stream) == 2; }

}  // namespace

void Deferred::add(uint64_t address, uint64_t size, int device, void* stream) {
  pieces_.push_back({next_++, address, size, device, stream, is_per_thread(stream)});
  bytes_ += size;
}

bool Deferred::contains(uint64_t address) const {
  return std::ranges::find(pieces_, address, &Piece::address) != pieces_.end();
}

std::optional<uint64_t> Deferred::reuse(uint64_t size, int device, void* stream) {
  auto found = std::ranges::find_if(pieces_, [&](const Piece& piece) {
    return piece.size == size && piece.device == device && piece.stream == stream && !piece.destroyed;
  });
  if (found == pieces_.end()) return std::nullopt;
  uint64_t address = found->address;
  bytes_ -= size;
  pieces_.erase(found);
  return address;
}

void Deferred::forget_stream(void* stream) {
  for (Piece& piece : pieces_) piece.destroyed |= piece.stream == stream;
}

template <class Done>
std::vector<uint64_t> Deferred::take_those(const Done& done) {
  std::vector<uint64_t> addresses;
  std::erase_if(pieces_, [&](const Piece& piece) {
    if (!done(piece)) return false;
    addresses.push_back(piece.address);
    bytes_ -= piece.size;
    return true;
  });
  return addresses;
}

std::vector<uint64_t> Deferred::take(uint64_t mark) {
  return take_those([&](const Piece& piece) { return piece.number < mark; });
}

std::vector<uint64_t> Deferred::take(uint64_t mark, void* stream) {
  return take_those(
      [&](const Piece& piece) { return piece.number < mark && piece.stream == stream && !piece.destroyed; });
}

}  // namespace mneme::record
