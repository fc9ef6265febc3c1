// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/waiting.h"

#include "recorder/hip/runtime.h"
#include "recorder/runtime/helping_threads.h"

namespace mneme::record::hip {
namespace {

Status within(std::chrono::milliseconds patience, int device, const std::function<Status()>& wait) {
  OnDevice there(device);
  return wait_within(patience, [device] { devices.set(device); }, wait);
}

// What is another stream to each thread is waited for by an event in this one's.
Status wait_for_own(int device, std::chrono::milliseconds patience) {
  Event event = nullptr;
  Status status = devices.create_event(&event, kNoTiming);
  if (status != kSuccess) return status;
  status = devices.record_event(event, reinterpret_cast<void*>(kPerThreadStream));
  if (status != kSuccess) {
    devices.destroy_event(event);
    return status;
  }
  return within(patience, device, [event] {
    Status ended = devices.synchronize_event(event);
    devices.destroy_event(event);
    return ended;
  });
}

}  // namespace

Status wait_for_device(int device, std::chrono::milliseconds patience) {
  return within(patience, device, [] { return devices.synchronize(); });
}

Status wait_for(void* stream, int device, std::chrono::milliseconds patience) {
  if (reinterpret_cast<uintptr_t>(stream) == kPerThreadStream) return wait_for_own(device, patience);
  return within(patience, device, [stream] { return devices.synchronize_stream(stream); });
}

}  // namespace mneme::record::hip
