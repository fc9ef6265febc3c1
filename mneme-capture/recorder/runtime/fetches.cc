// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/fetches.h"

#include <algorithm>

#include "base/error.h"
#include "recorder/runtime/next.h"

namespace mneme::record {

void Fetches::check(int status) const {
  if (devices_.succeeds(status)) return;
  const char* text = devices_.error_string(status);
  throw Error("device memory cannot be read: " + (text ? text : "error " + std::to_string(status)));
}

void Fetches::copy(std::span<const Piece> pieces, std::byte* to) const {
  for (const Piece& piece : pieces) {
    const void* from = reinterpret_cast<const void*>(piece.address);
    check(devices_.copy_async(to, from, piece.size, kDeviceToHost, nullptr));
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
    void* event = nullptr;
    check(devices_.create_event(&event, kNoTiming));
    marks.push_back({device, Event(event, {&devices_})});
    if (!gather || !gather(some, to)) copy(some, to);
    for (const Piece& piece : some) to += piece.size;
    first = last;
    check(devices_.record_event(event, nullptr));
  }
  under_way_.push_back(std::move(marks));
}

void Fetches::await() {
  if (under_way_.empty()) return;
  Marks marks = std::move(under_way_.front());
  under_way_.pop_front();
  for (const Mark& mark : marks) {
    Entered there(devices_, mark.device);
    check(devices_.synchronize_event(mark.event.get()));
  }
}

}  // namespace mneme::record
