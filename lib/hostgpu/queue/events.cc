// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events: the ticket of a place in a stream, whose time is that at which everything before it was done.
#include "hostgpu/queue/events.h"

#include <mutex>
#include <unordered_map>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/held_over_forks.h"

struct ihipEvent_t {
  unsigned flags = 0;
};

namespace mneme::hostgpu {
namespace {

struct Recorded {
  TicketPtr ticket;  // null: it never was, or in a capture
  std::shared_ptr<Queue> queue;
  CapturedMoment moment;
};

struct Events {
  HeldOverForks<std::mutex> mutex;
  std::unordered_map<hipEvent_t, Recorded> live;
};

// Never destroyed: applications destroy events from destructors that run last.
Events& events() {
  static auto* all = new Events;
  return *all;
}

// As it is now. Throws HipError for what is no event.
Recorded find(hipEvent_t event) {
  std::lock_guard lock(events().mutex);
  auto found = events().live.find(event);
  require(found != events().live.end(), hipErrorInvalidHandle);
  return found->second;
}

hipError_t create(hipEvent_t* event, unsigned flags) {
  constexpr unsigned kKnown = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                              hipEventReleaseToDevice | hipEventReleaseToSystem;
  return answer_on_device([&] {
    require(event && (flags & ~kKnown) == 0);
    auto* made = new ihipEvent_t{flags};
    std::lock_guard lock(events().mutex);
    events().live[made];
    *event = made;
  });
}

hipError_t record(hipEvent_t event, hipStream_t stream, bool per_thread) {
  return answer_on_device([&] { record_event(event, queue_of(stream, per_thread)); });
}

hipError_t stream_wait(hipStream_t stream, hipEvent_t event, bool per_thread) {
  return answer_on_device([&] { wait_for_event(queue_of(stream, per_thread), event); });
}

void check_working(const Recorded& recorded) {
  int device = recorded.queue ? recorded.queue->device : current_device();
  if (device_state(device) != hipSuccess) throw HipError(device_state(device));
}

}  // namespace

void check_event(hipEvent_t event) { find(event); }

void record_event(hipEvent_t event, const std::shared_ptr<Queue>& queue) {
  find(event);
  check_legacy(queue);
  Recorded now;
  now.moment = moment_of(queue);
  if (!now.moment.capture) {
    now.queue = queue;
    Operation operation;
    operation.always = true;
    now.ticket = submit(queue, std::move(operation));
  }
  std::lock_guard lock(events().mutex);
  auto found = events().live.find(event);
  require(found != events().live.end(), hipErrorInvalidHandle);
  found->second = std::move(now);
}

void wait_for_event(const std::shared_ptr<Queue>& queue, hipEvent_t event) {
  Recorded recorded = find(event);
  check_legacy(queue);
  if (recorded.moment.capture) {
    join_capture(queue, recorded.moment);
    return;
  }
  if (is_captured(queue)) {
    if (!recorded.ticket) return;
    invalidate_capture(queue);
    throw HipError(hipErrorStreamCaptureIsolation);
  }
  if (!recorded.ticket || recorded.ticket->done.load()) return;
  Operation operation;
  operation.always = true;
  operation.after.push_back(recorded.ticket);
  submit(queue, std::move(operation));
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

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) { return record(event, stream, false); }
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  return stream_wait(stream, event, false);
}
hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned) {
  return stream_wait(stream, event, true);
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return answer_on_device([&] {
    Recorded recorded = find(event);
    check_moment(recorded.moment);
    if (recorded.ticket) wait(recorded.ticket, recorded.queue);
    check_working(recorded);
  });
}

// An event that was never recorded has nothing left to wait for.
hipError_t hipEventQuery(hipEvent_t event) {
  return answer_on_device([&] {
    Recorded recorded = find(event);
    check_moment(recorded.moment);
    require(!recorded.ticket || recorded.ticket->done.load(), hipErrorNotReady);
    check_working(recorded);
  });
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return answer([&] {
    require(milliseconds);
    Recorded first = find(start), last = find(stop);
    check_moment(first.moment);
    check_moment(last.moment);
    bool timed = !((start->flags | stop->flags) & hipEventDisableTiming);
    require(timed && first.ticket && last.ticket, hipErrorInvalidHandle);
    require(first.ticket->done.load() && last.ticket->done.load(), hipErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(last.ticket->when - first.ticket->when).count();
  });
}

}  // extern "C"
