// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/segment_list.h"

#include <algorithm>
#include <utility>

namespace mneme::record {
namespace {

// Pieces further apart may have memory of other kinds between them.
constexpr uint64_t kMostStride = uint64_t{1} << 30;

}  // namespace

SegmentList::SegmentList(std::vector<uint64_t> special) : special_(std::move(special)) { std::ranges::sort(special_); }

bool SegmentList::is_special(MemoryRange piece) const {
  auto next = std::ranges::lower_bound(special_, piece.address);
  return next != special_.end() && *next - piece.address < piece.size;
}

void SegmentList::add(MemoryRange piece, bundle::SegmentKind kind, uint32_t device) {
  auto [address, size] = piece;
  if (is_special(piece)) {
    open_ = false;
    return add_apart(piece, kind, device);
  }
  auto number = static_cast<uint32_t>(kind);
  if (open_) {
    WireSegment& run = runs_.back();
    if (run.count == 1) run.stride = address - run.address;
    bool goes_on = run.size == size && run.kind == number && run.device == device && run.stride <= kMostStride &&
                   address == run.address + run.count * run.stride;
    if (goes_on) {
      ++run.count;
      return;
    }
  }
  runs_.push_back({address, size, number, {}, {}, device});
  open_ = true;
}

void SegmentList::add_apart(MemoryRange piece, bundle::SegmentKind kind, uint32_t device) {
  apart_[piece.address] = {piece.address, piece.size, static_cast<uint32_t>(kind), {}, {}, device};
}

WireSegment* SegmentList::holder(uint64_t address) {
  auto after = apart_.upper_bound(address);
  if (after == apart_.begin()) return nullptr;
  WireSegment& segment = std::prev(after)->second;
  return address - segment.address < segment.size ? &segment : nullptr;
}

// Cuts the segment that contains `address` in two; the second begins there.
WireSegment* SegmentList::split(uint64_t address) {
  WireSegment* whole = holder(address);
  if (!whole || whole->address == address) return whole;
  uint64_t offset = address - whole->address;
  WireSegment rest = *whole;
  rest.address = address;
  rest.size -= offset;
  whole->size = offset;
  return &apart_.emplace(address, std::move(rest)).first->second;
}

void SegmentList::name(MemoryRange variable, const std::string& symbol) {
  if (variable.size == 0) return;
  WireSegment* segment = split(variable.address);
  if (!segment) return;
  if (variable.size < segment->size) split(variable.address + variable.size);
  segment->kind = static_cast<uint32_t>(bundle::SegmentKind::kGlobal);
  segment->symbol = symbol;
}

void SegmentList::annotate(uint64_t address, const std::string& json) {
  WireSegment* segment = holder(address);
  if (!segment) return;
  if (!segment->symbol.empty() && segment->address != address) {
    if (!json.empty() || !segment->annotation.empty()) annotated_in_part_.insert(segment->symbol);
    segment->annotation.clear();
    return;
  }
  if (segment->symbol.empty()) segment = split(address);
  segment->annotation = json;
}

std::vector<WireSegment> SegmentList::take() {
  std::vector<WireSegment> list = std::move(runs_);
  for (auto& [address, segment] : apart_) list.push_back(std::move(segment));
  std::ranges::sort(list, {}, &WireSegment::address);
  for (WireSegment& segment : list) {
    if (segment.count == 1) segment.stride = 0;
  }
  return list;
}

}  // namespace mneme::record
