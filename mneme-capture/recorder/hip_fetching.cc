// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-capture gets of an AMD GPU's memory: all of the bytes, which it has no digests of.
#include "base/error.h"
#include "recorder/hip_devices.h"
#include "recorder/hip_runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy(kLibrary, "hipMemcpyAsync");
constinit Next<Error(Event*, unsigned)> next_make_event(kLibrary, "hipEventCreateWithFlags");
constinit Next<Error(Event, Stream)> next_record_event(kLibrary, "hipEventRecord");
constinit Next<Error(Event)> next_await_event(kLibrary, "hipEventSynchronize");

void check(Error status) {
  if (!succeeds(status)) throw mneme::Error("device memory cannot be read: " + runtime().error_text(status));
}

}  // namespace

void HipRuntime::fetch(const std::vector<Piece>& pieces, std::byte* to) {
  Marks& marks = fetched_.emplace_back();
  for (size_t i = 0; i < pieces.size();) {
    const int device = static_cast<int>(pieces[i].device);
    OnDevice there(device);
    std::vector<Event>& unused = unused_events_[device];
    Event event = nullptr;
    if (unused.empty()) {
      check(next_make_event.call_or(kNotSupported, &event, kNoTiming));
    } else {
      event = unused.back();
      unused.pop_back();
    }
    marks.emplace_back(device, event);
    for (; i < pieces.size() && pieces[i].device == static_cast<uint32_t>(device); ++i) {
      const void* from = reinterpret_cast<const void*>(pieces[i].address);
      check(next_copy.call_or(kNotSupported, to, from, pieces[i].size, kDeviceToHost, nullptr));
      to += pieces[i].size;
    }
    check(next_record_event.call_or(kNotSupported, event, nullptr));
  }
}

void HipRuntime::await_fetched() {
  if (fetched_.empty()) return;
  Marks marks = std::move(fetched_.front());
  fetched_.pop_front();
  for (auto [device, event] : marks) {
    OnDevice there(device);
    check(next_await_event.call_or(kNotSupported, event));
    unused_events_[device].push_back(event);
  }
}

}  // namespace mneme::record::hip
