// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/fetches.h"

#include <algorithm>

#include "base/error.h"

namespace mneme::record {
namespace {

// Both vendors'.
constexpr unsigned kNoTiming = 2;

}  // namespace

void Fetches::check(int status) const {
  if (devices_.succeeds(status)) return;
  const char* text = devices_.calls.error_string(status);
  throw Error("device memory cannot be read: " + (text ? text : "error " + std::to_string(status)));
}

void* Fetches::take_event(int device) {
  std::vector<void*>& unused = unused_[device];
  void* event = nullptr;
  if (unused.empty()) {
    check(devices_.calls.create_event(&event, kNoTiming));
  } else {
    event = unused.back();
    unused.pop_back();
  }
  return event;
}

void Fetches::copy(std::span<const Piece> pieces, std::byte* to) const {
  for (const Piece& piece : pieces) {
    const void* from = reinterpret_cast<const void*>(piece.address);
    check(devices_.calls.copy_async(to, from, piece.size, kDeviceToHost, nullptr));
    to += piece.size;
  }
}

void Fetches::begin(const std::vector<Piece>& pieces, std::byte* to, const Gather& gather) {
  Marks marks;
  for (auto first = pieces.begin(); first != pieces.end();) {
    const auto last =
        std::find_if(first, pieces.end(), [&](const Piece& piece) { return piece.device != first->device; });
    const std::span<const Piece> some(first, last);
    const int device = static_cast<int>(first->device);
    Entered there(devices_, device);
    marks.emplace_back(device, take_event(device));
    if (!gather || !gather(some, to)) copy(some, to);
    for (const Piece& piece : some) to += piece.size;
    first = last;
    check(devices_.calls.record_event(marks.back().second, nullptr));
  }
  under_way_.push_back(std::move(marks));
}

void Fetches::await() {
  if (under_way_.empty()) return;
  Marks marks = std::move(under_way_.front());
  under_way_.pop_front();
  for (auto [device, event] : marks) {
    Entered there(devices_, device);
    check(devices_.calls.synchronize_event(event));
    unused_[device].push_back(event);
  }
}

}  // namespace mneme::record
