// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/waiting.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "recorder/hip/devices.h"
#include "recorder/hip/runtime.h"
#include "recorder/runtime/helping_threads.h"

namespace mneme::record::hip {

CALL(Status, hipDeviceSynchronize)
CALL(Status, hipStreamSynchronize, void*)
CALL(Status, hipEventCreateWithFlags, Event*, unsigned)
CALL(Status, hipEventRecord, Event, void*)
CALL(Status, hipEventSynchronize, Event)
CALL(Status, hipEventDestroy, Event)
CALL(Status, hipSetDevice, int)

namespace {

// Between the thread that waits as long as it takes, and the one that does not.
struct Waiting {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Status status = kSuccess;
};

Status within(std::chrono::milliseconds patience, int device, const std::function<Status()>& wait) {
  auto waiting = std::make_shared<Waiting>();
  bool started = start_detached([waiting, device, wait] {
    next::hipSetDevice(device);
    Status status = wait();
    std::lock_guard lock(waiting->mutex);
    waiting->done = true;
    waiting->status = status;
    waiting->ended.notify_all();
  });
  if (!started) {
    OnDevice there(device);
    return wait();
  }
  std::unique_lock lock(waiting->mutex);
  return waiting->ended.wait_for(lock, patience, [&] { return waiting->done; }) ? waiting->status : kStillRunning;
}

// What is another stream to each thread is waited for by an event in this one's.
Status wait_for_own(int device, std::chrono::milliseconds patience) {
  Event event = nullptr;
  Status status = next::hipEventCreateWithFlags(&event, kNoTiming);
  if (status != kSuccess) return status;
  status = next::hipEventRecord(event, reinterpret_cast<void*>(kPerThreadStream));
  if (status != kSuccess) {
    next::hipEventDestroy(event);
    return status;
  }
  return within(patience, device, [event] {
    Status ended = next::hipEventSynchronize(event);
    next::hipEventDestroy(event);
    return ended;
  });
}

}  // namespace

Status wait_for_device(int device, std::chrono::milliseconds patience) {
  return within(patience, device, [] { return next::hipDeviceSynchronize(); });
}

Status wait_for(void* stream, int device, std::chrono::milliseconds patience) {
  if (reinterpret_cast<uintptr_t>(stream) == kPerThreadStream) return wait_for_own(device, patience);
  return within(patience, device, [stream] { return next::hipStreamSynchronize(stream); });
}

}  // namespace mneme::record::hip
