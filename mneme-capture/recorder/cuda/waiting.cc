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

CALL(Status, cudaDeviceSynchronize)
// The driver's: the runtime's would make "not ready" the application's last error.
CALL(Status, cuStreamQuery, void*)
CALL(Status, cuCtxGetCurrent, void**)
CALL(Status, cuCtxSetCurrent, void*)

namespace {

using Clock = std::chrono::steady_clock;

// The runtime cannot be asked whether a device has anything left to do, and waits as long as it takes: so another
// thread waits, which outlives the call if need be.
struct Waiting {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Status status = kSuccess;
};

}  // namespace

Status wait_for(void* stream, std::chrono::milliseconds patience) {
  constexpr std::chrono::microseconds kShortest{10}, kLongest{1000};
  const Clock::time_point end = Clock::now() + patience;
  for (std::chrono::microseconds pause = kShortest;; pause = std::min(2 * pause, kLongest)) {
    Status status = next::cuStreamQuery(stream);
    if (status != kStillRunning || Clock::now() > end) return status;
    std::this_thread::sleep_for(pause);
  }
}

Status wait_for_device(std::chrono::milliseconds patience) {
  void* context = nullptr;
  next::cuCtxGetCurrent(&context);
  auto waiting = std::make_shared<Waiting>();
  bool started = start_detached([waiting, context] {
    next::cuCtxSetCurrent(context);
    Status status = next::cudaDeviceSynchronize();
    std::lock_guard lock(waiting->mutex);
    waiting->done = true;
    waiting->status = status;
    waiting->ended.notify_all();
  });
  if (!started) return next::cudaDeviceSynchronize();
  std::unique_lock lock(waiting->mutex);
  bool done = waiting->ended.wait_for(lock, patience, [&] { return waiting->done; });
  return done ? waiting->status : kStillRunning;
}

}  // namespace mneme::record::cuda
