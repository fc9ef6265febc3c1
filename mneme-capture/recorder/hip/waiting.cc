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
namespace {

constinit Next<Error()> next_device_synchronize(kLibrary, "hipDeviceSynchronize");
constinit Next<Error(Stream)> next_stream_synchronize(kLibrary, "hipStreamSynchronize");
constinit Next<Error(Event*, unsigned)> next_make_event(kLibrary, "hipEventCreateWithFlags");
constinit Next<Error(Event, Stream)> next_record_event(kLibrary, "hipEventRecord");
constinit Next<Error(Event)> next_await_event(kLibrary, "hipEventSynchronize");
constinit Next<Error(Event)> next_destroy_event(kLibrary, "hipEventDestroy");
constinit Next<Error(int)> next_set_device(kLibrary, "hipSetDevice");

// Between the thread that waits as long as it takes, and the one that does not.
struct Waiting {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Error status = kSuccess;
};

Error within(std::chrono::milliseconds patience, int device, const std::function<Error()>& wait) {
  auto waiting = std::make_shared<Waiting>();
  bool started = start_detached([waiting, device, wait] {
    next_set_device.call_or(kNotSupported, device);
    Error status = wait();
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
Error wait_for_own(int device, std::chrono::milliseconds patience) {
  Event event = nullptr;
  Error status = next_make_event.call_or(kNotSupported, &event, kNoTiming);
  if (status != kSuccess) return status;
  status = next_record_event.call_or(kNotSupported, event, reinterpret_cast<Stream>(kPerThread));
  if (status != kSuccess) {
    next_destroy_event.call_or(kNotSupported, event);
    return status;
  }
  return within(patience, device, [event] {
    Error ended = next_await_event.call_or(kNotSupported, event);
    next_destroy_event.call_or(kNotSupported, event);
    return ended;
  });
}

}  // namespace

Error wait_for_device(int device, std::chrono::milliseconds patience) {
  return within(patience, device, [] { return next_device_synchronize.call_or(kNotSupported); });
}

Error wait_for(Stream stream, int device, std::chrono::milliseconds patience) {
  if (reinterpret_cast<uintptr_t>(stream) == kPerThread) return wait_for_own(device, patience);
  return within(patience, device, [stream] { return next_stream_synchronize.call_or(kNotSupported, stream); });
}

}  // namespace mneme::record::hip
