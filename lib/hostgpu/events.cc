// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events: the steady clock at the moment they are recorded, since all work before has been done by then.
#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "hostgpu/errors.h"
#include "hostgpu/streams.h"

struct ihipEvent_t {
  unsigned flags = 0;
  std::optional<std::chrono::steady_clock::time_point> recorded;
};

namespace mneme::hostgpu {
namespace {

struct Events {
  std::mutex mutex;
  std::unordered_set<hipEvent_t> live;
};

// Never destroyed: applications destroy events from destructors that run last.
Events& events() {
  static auto* all = new Events;
  return *all;
}

// With the lock held. Throws HipError for what is no event.
ihipEvent_t& checked(hipEvent_t event) {
  require(event && events().live.contains(event), hipErrorInvalidHandle);
  return *event;
}

hipError_t create(hipEvent_t* event, unsigned flags) {
  constexpr unsigned kKnown = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                              hipEventReleaseToDevice | hipEventReleaseToSystem;
  return answer_on_device([&] {
    require(event && (flags & ~kKnown) == 0);
    auto* made = new ihipEvent_t{flags, {}};
    std::lock_guard lock(events().mutex);
    events().live.insert(made);
    *event = made;
  });
}

hipError_t happened(hipEvent_t event) {
  return answer_on_device([&] {
    std::lock_guard lock(events().mutex);
    checked(event);
  });
}

}  // namespace

void record_event(hipEvent_t event) {
  std::lock_guard lock(events().mutex);
  checked(event).recorded = std::chrono::steady_clock::now();
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipEventCreate(hipEvent_t* event) { return create(event, hipEventDefault); }
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) { return create(event, flags); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return answer([&] {
    std::lock_guard lock(events().mutex);
    require(events().live.erase(event) == 1, hipErrorInvalidHandle);
    delete event;
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  return answer_on_device([&] { record_event(event); });
}

hipError_t hipEventSynchronize(hipEvent_t event) { return happened(event); }
hipError_t hipEventQuery(hipEvent_t event) { return happened(event); }

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return answer([&] {
    require(milliseconds);
    std::lock_guard lock(events().mutex);
    const ihipEvent_t &first = checked(start), &last = checked(stop);
    bool timed = !((first.flags | last.flags) & hipEventDisableTiming);
    require(timed && first.recorded && last.recorded, hipErrorInvalidHandle);
    *milliseconds = std::chrono::duration<float, std::milli>(*last.recorded - *first.recorded).count();
  });
}

}  // extern "C"
