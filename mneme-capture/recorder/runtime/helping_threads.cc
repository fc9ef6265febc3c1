// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/helping_threads.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "recorder/runtime/runtime.h"

namespace mneme::record {
void HelpingThreads::start(uint64_t count, uint64_t least, const std::function<void(uint64_t, uint64_t)>& work) {
  uint64_t processors = std::clamp<uint64_t>(std::thread::hardware_concurrency(), 1, kMost);
  uint64_t share = std::max((count + processors - 1) / processors, least);
  if (count <= share) return work(0, count);
  for (uint64_t begin = 0; begin < count; begin += share) {
    uint64_t end = std::min(count, begin + share);
    try {
      threads_.emplace_back([work, begin, end] { work(begin, end); });
    } catch (const std::system_error&) {
      work(begin, end);
    }
  }
}

bool start_detached(std::function<void()> work) {
  try {
    memory::OwnThread(std::move(work)).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void HelpingThreads::join() {
  for (memory::OwnThread& thread : threads_) thread.join();
  threads_.clear();
}

int wait_within(std::chrono::milliseconds patience, std::function<void()> enter, std::function<int()> wait) {
  struct Waiting {
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<int> status;
  };
  auto waiting = std::make_shared<Waiting>();
  const bool started = start_detached([waiting, enter, wait] {
    enter();
    const int status = wait();
    std::lock_guard lock(waiting->mutex);
    waiting->status = status;
    waiting->ended.notify_all();
  });
  if (!started) return wait();
  std::unique_lock lock(waiting->mutex);
  waiting->ended.wait_for(lock, patience, [&] { return waiting->status.has_value(); });
  return waiting->status.value_or(kStillRunning);
}

}  // namespace mneme::record
