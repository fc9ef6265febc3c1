// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/waiting.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "recorder/cuda/runtime.h"
#include "recorder/runtime/helping_threads.h"
#include "recorder/runtime/next.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constinit Next<Error()> next_device_synchronize(kLibrary, "cudaDeviceSynchronize");
// The driver's: the runtime's would make "not ready" the application's last error.
constinit Next<Result(Stream)> next_stream_query(kDriver, "cuStreamQuery");
constinit Next<Result(void**)> next_get_context(kDriver, "cuCtxGetCurrent");
constinit Next<Result(void*)> next_set_context(kDriver, "cuCtxSetCurrent");

// The runtime cannot be asked whether a device has anything left to do, and waits as long as it takes: so another
// thread waits, which outlives the call if need be.
struct Waiting {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Error status = kSuccess;
};

}  // namespace

Error wait_for(Stream stream, std::chrono::milliseconds patience) {
  constexpr std::chrono::microseconds kShortest{10}, kLongest{1000};
  const Clock::time_point end = Clock::now() + patience;
  for (std::chrono::microseconds pause = kShortest;; pause = std::min(2 * pause, kLongest)) {
    Error status = next_stream_query.call_or(kNotSupported, stream);
    if (status != kStillRunning || Clock::now() > end) return status;
    std::this_thread::sleep_for(pause);
  }
}

Error wait_for_device(std::chrono::milliseconds patience) {
  void* context = nullptr;
  next_get_context.call_or(kNotSupported, &context);
  auto waiting = std::make_shared<Waiting>();
  bool started = start_detached([waiting, context] {
    next_set_context.call_or(kNotSupported, context);
    Error status = next_device_synchronize.call_or(kNotSupported);
    std::lock_guard lock(waiting->mutex);
    waiting->done = true;
    waiting->status = status;
    waiting->ended.notify_all();
  });
  if (!started) return next_device_synchronize.call_or(kNotSupported);
  std::unique_lock lock(waiting->mutex);
  bool done = waiting->ended.wait_for(lock, patience, [&] { return waiting->done; });
  return done ? waiting->status : kStillRunning;
}

}  // namespace mneme::record::cuda
