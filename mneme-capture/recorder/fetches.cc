// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/fetches.h"

#include "base/error.h"

namespace mneme::record {
namespace {

// Both vendors'.
constexpr int kNotThere = 801;
constexpr int kDeviceToHost = 2;
constexpr unsigned kNoTiming = 2;

}  // namespace

void Fetches::check(int status) const {
  if (devices_.succeeds(status)) return;
  const char* text = devices_.calls.error_string.call_or(nullptr, status);
  throw Error("device memory cannot be read: " + (text ? text : "error " + std::to_string(status)));
}

void* Fetches::take_event(int device) {
  std::vector<void*>& unused = unused_[device];
  void* event = nullptr;
  if (unused.empty()) {
    check(devices_.calls.create_event.call_or(kNotThere, &event, kNoTiming));
  } else {
    event = unused.back();
    unused.pop_back();
  }
  return event;
}

void Fetches::begin(const std::vector<Piece>& pieces, std::byte* to) {
  Marks marks;
  for (size_t i = 0; i < pieces.size();) {
    const int device = static_cast<int>(pieces[i].device);
    Entered there(devices_, device);
    marks.emplace_back(device, take_event(device));
    for (; i < pieces.size() && pieces[i].device == static_cast<uint32_t>(device); ++i) {
      const void* from = reinterpret_cast<const void*>(pieces[i].address);
      check(devices_.calls.copy_async.call_or(kNotThere, to, from, pieces[i].size, kDeviceToHost, nullptr));
      to += pieces[i].size;
    }
    check(devices_.calls.record_event.call_or(kNotThere, marks.back().second, nullptr));
  }
  under_way_.push_back(std::move(marks));
}

void Fetches::await() {
  if (under_way_.empty()) return;
  Marks marks = std::move(under_way_.front());
  under_way_.pop_front();
  for (auto [device, event] : marks) {
    Entered there(devices_, device);
    check(devices_.calls.synchronize_event.call_or(kNotThere, event));
    unused_[device].push_back(event);
  }
}

}  // namespace mneme::record
