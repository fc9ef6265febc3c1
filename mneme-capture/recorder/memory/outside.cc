// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/outside.h"

#include <algorithm>
#include <cstring>

namespace mneme::record {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);

// The last piece that begins at or before the address.
template <class Pieces>
auto at_or_before(const Pieces& pieces, uint64_t address) {
  auto after = std::ranges::upper_bound(pieces, address, {}, [](const auto& piece) { return piece.address; });
  return after == pieces.begin() ? pieces.end() : std::prev(after);
}

// Or right behind one: the end of a range is a pointer like others.
// `end`: so is the end of a segment, as a pointer behind an array's last element.
bool is_recorded(const std::vector<WireSegment>& segments, uint64_t address, bool end) {
  auto found = at_or_before(segments, address);
  if (found == segments.end()) return false;
  uint64_t offset = address - found->address;
  if (found->count > 1) offset -= std::min(offset / found->stride, found->count - 1) * found->stride;
  return offset < found->size || (end && offset == found->size);
}

}  // namespace

void Outside::add(uint64_t address, uint64_t size, std::string reason) {
  std::lock_guard lock(mutex_);
  pieces_.insert_or_assign(address, OutsideMemory{address, size, std::move(reason)});
}

void Outside::remove(uint64_t address) {
  std::lock_guard lock(mutex_);
  pieces_.erase(address);
}

void Outside::remove_all_in(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  pieces_.erase(pieces_.lower_bound(address), pieces_.lower_bound(address + size));
}

std::vector<OutsideMemory> Outside::list() const {
  std::lock_guard lock(mutex_);
  std::vector<OutsideMemory> list;
  for (const auto& [address, piece] : pieces_) list.push_back(piece);
  return list;
}

std::vector<std::string> missing_of(const bundle::KernelInfo& kernel, const std::string& arguments,
                                    const std::vector<WireSegment>& segments,
                                    const std::vector<OutsideMemory>& outside) {
  std::vector<std::string> missing;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const bundle::Argument& argument = kernel.arguments[i];
    if (argument.kind == "scalar" || uint64_t{argument.offset} + argument.size > arguments.size()) continue;
    for (uint64_t at = 0; at + kWord <= argument.size; at += kWord) {
      uint64_t address = 0;
      std::memcpy(&address, arguments.data() + argument.offset + at, kWord);
      auto piece = at_or_before(outside, address);
      if (piece == outside.end() || address - piece->address >= piece->size) continue;
      // Where other memory begins, hardly the end of what is in front of it is meant.
      if (is_recorded(segments, address, address != piece->address)) continue;
      const char* what = argument.kind == "pointer" ? "" : ", a structure,";
      missing.push_back(fmt::format("argument {}{} points to {:#x}, {}", i, what, address, piece->reason));
      break;
    }
  }
  return missing;
}

}  // namespace mneme::record
