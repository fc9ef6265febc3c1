// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/queue/streams.h"

#include <algorithm>
#include <atomic>

#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/queue/queues.h"

namespace mneme::hostgpu {
namespace {

constexpr int kLowestPriority = 1, kHighestPriority = -1;  // as AMD's devices have them

// How long mneme_hostgpu_settle waits for the application, in milliseconds. It may be called for launch after launch.
constexpr int kMostPatience = 1000, kLeastPatience = 10;
std::atomic<int> patience_left{kMostPatience};

int within_range(int priority) { return std::clamp(priority, kHighestPriority, kLowestPriority); }

hipError_t create(hipStream_t* stream, unsigned flags, int priority) {
  return answer_on_device([&] {
    require(stream && (flags == hipStreamDefault || flags == hipStreamNonBlocking));
    *stream = make_queue(flags, within_range(priority)).get();
  });
}

void check_working(int device = current_device()) {
  if (device_state(device) != hipSuccess) throw HipError(device_state(device));
}

hipError_t synchronize(hipStream_t stream, bool per_thread) {
  return answer_on_device([&] {
    auto queue = queue_of(stream, per_thread);
    check_not_captured(queue);
    wait_for(queue);
    check_working(queue->device);
  });
}

hipError_t query(hipStream_t stream, bool per_thread) {
  return answer_on_device([&] {
    auto queue = queue_of(stream, per_thread);
    check_not_captured(queue);
    require(is_idle(queue), hipErrorNotReady);
    check_working(queue->device);
  });
}

hipError_t flags_of(hipStream_t stream, unsigned* flags, bool per_thread) {
  return answer([&] {
    require(flags);
    *flags = queue_of(stream, per_thread)->flags;
  });
}

hipError_t priority_of(hipStream_t stream, int* priority, bool per_thread) {
  return answer([&] {
    require(priority);
    auto queue = queue_of(stream, per_thread);
    Lock lock;
    *priority = queue->attributes.priority;
  });
}

}  // namespace

hipError_t check_stream(hipStream_t stream) {
  return answer([&] { queue_of(stream); });
}

void synchronize_device() {
  check_unsafe_call();
  wait_for_device();
  check_working();
}

void synchronize_devices() {
  check_unsafe_call();
  wait_for_devices();
  check_working();
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipStreamCreate(hipStream_t* stream) { return create(stream, hipStreamDefault, 0); }
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) { return create(stream, flags, 0); }
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}
hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t size, const uint32_t* mask) {
  return size && mask ? create(stream, hipStreamDefault, 0) : note_error(hipErrorInvalidValue);
}

// Waits, as AMD's runtime does, unless a callback of the stream itself calls it.
hipError_t hipStreamDestroy(hipStream_t stream) {
  return answer([&] {
    require(stream && stream != hipStreamPerThread, hipErrorInvalidHandle);
    destroy_queue(stream);
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) { return synchronize(stream, false); }
hipError_t hipStreamSynchronize_spt(hipStream_t stream) { return synchronize(stream, true); }
hipError_t hipStreamQuery(hipStream_t stream) { return query(stream, false); }
hipError_t hipStreamQuery_spt(hipStream_t stream) { return query(stream, true); }

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) { return flags_of(stream, flags, false); }
hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned* flags) { return flags_of(stream, flags, true); }
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) { return priority_of(stream, priority, false); }
hipError_t hipStreamGetPriority_spt(hipStream_t stream, int* priority) { return priority_of(stream, priority, true); }

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = kLowestPriority;
  if (greatest) *greatest = kHighestPriority;
  return hipSuccess;
}

int hipGetStreamDeviceId(hipStream_t stream) {
  try {
    return queue_of(stream)->device;
  } catch (const HipError&) {
    return -1;
  }
}

__attribute__((visibility("default"))) int mneme_hostgpu_stream_id(hipStream_t stream, unsigned long long* id) {
  return answer([&] {
    require(id);
    *id = queue_of(stream)->id;
  });
}

__attribute__((visibility("default"))) int mneme_hostgpu_get_attributes(hipStream_t stream,
                                                                        StreamAttributes* attributes) {
  return answer([&] {
    auto queue = queue_of(stream);
    Lock lock;
    *attributes = queue->attributes;
  });
}

__attribute__((visibility("default"))) int mneme_hostgpu_set_attributes(hipStream_t stream,
                                                                        const StreamAttributes* attributes) {
  return answer([&] {
    auto queue = queue_of(stream);
    Lock lock;
    queue->attributes = *attributes;
    queue->attributes.priority = within_range(attributes->priority);
  });
}

hipError_t hipDeviceSynchronize() {
  return answer_on_device([] { synchronize_device(); });
}

__attribute__((visibility("default"))) int mneme_hostgpu_settle(unsigned milliseconds) {
  return answer_on_device([&] {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    int patience = patience_left.load();
    bool done = wait_for_device_until(end, std::chrono::milliseconds(patience));
    patience_left.store(done ? kMostPatience : std::max(patience / 2, kLeastPatience));
    require(done, hipErrorNotReady);
    check_working();
  });
}

__attribute__((visibility("default"))) void mneme_hostgpu_hold() { hold_others(); }
__attribute__((visibility("default"))) void mneme_hostgpu_let_go() { let_others_go(); }

}  // extern "C"
