// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/waiting.h"

#include <algorithm>
#include <thread>

#include "recorder/cuda/runtime.h"
#include "recorder/runtime/helping_threads.h"

namespace mneme::record::cuda {

CALL(Status, cuStreamQuery, void*)
CALL(Status, cuCtxSetCurrent, Context)

Status wait_for(void* stream, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kShortest{10}, kLongest{1000};
  const Clock::time_point end = Clock::now() + patience;
  for (std::chrono::microseconds pause = kShortest;; pause = std::min(2 * pause, kLongest)) {
    Status status = next::cuStreamQuery(stream);
    if (status != kStillRunning || Clock::now() > end) return status;
    std::this_thread::sleep_for(pause);
  }
}

// The driver cannot be asked whether a context has anything left to do, and waits as long as it takes.
Status wait_for_device(std::chrono::milliseconds patience) {
  const Context context = devices.context();
  return wait_within(patience, [context] { next::cuCtxSetCurrent(context); }, [] { return devices.synchronize(); });
}

}  // namespace mneme::record::cuda
