// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace mneme::bundle {

// A few threads for the time of one job. Plain threads that are joined when the job is done, not a library's pool that
// lives on: tools fork their workers between two jobs, and a fork copes ill with other threads.
class Workers {
 public:
  Workers() = default;
  ~Workers();  // tasks not begun are dropped
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  static unsigned count();  // threads that a job uses

  template <typename Function>
  auto submit(Function function) -> std::future<decltype(function())> {
    auto task = std::make_shared<std::packaged_task<decltype(function())()>>(std::move(function));
    auto result = task->get_future();
    push([task] { (*task)(); });
    return result;
  }

  // Runs function(i) for all i in [0, count), and returns when all are done. The first exception is thrown on.
  static void for_each(size_t count, const std::function<void(size_t)>& function);

 private:
  void push(std::function<void()> task);
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mneme::bundle
