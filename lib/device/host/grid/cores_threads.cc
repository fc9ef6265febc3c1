// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that stay, and take what is left of a job in pieces that become smaller: so nobody waits long for the last.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "device/host/grid/cores.h"
#include "memory/own_thread.h"

namespace mneme::device::host {
namespace {

// A thread that has nothing to do looks for the next job so long before it sleeps: to wake it takes longer than most
// kernels that follow each other.
constexpr auto kLook = std::chrono::microseconds(100);

// How many pieces are still to come for each thread, at the least, when one is taken.
constexpr uint64_t kPiecesLeft = 4;

struct Job {
  uint64_t last, threads;
  const std::atomic<bool>& stop;
  const std::function<void(uint64_t, uint64_t)>& handle;
  std::atomic<uint64_t> next;
  std::mutex mutex;
  std::exception_ptr trouble;

  Job(uint64_t first, uint64_t last_, uint64_t threads_, const std::atomic<bool>& stop_,
      const std::function<void(uint64_t, uint64_t)>& handle_)
      : last(last_), threads(threads_), stop(stop_), handle(handle_), next(first) {}

  void take_part() {
    try {
      uint64_t from = next;
      while (from < last && !stop) {
        uint64_t to = from + std::max<uint64_t>((last - from) / (threads * kPiecesLeft), 1);
        if (!next.compare_exchange_weak(from, to)) continue;
        handle(from, to);
        from = next;
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!trouble) trouble = std::current_exception();
      next = last;
    }
  }
};

class Threads {
 public:
  explicit Threads(uint64_t count) {
    try {
      for (uint64_t i = 0; i < count; i++) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      // No more are to be had: those do it that are there.
    }
  }
  ~Threads() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    called_.notify_all();
    for (memory::OwnThread& thread : threads_) thread.join();
  }

  // With as many helpers as the job has threads besides this one. While they help with another job, which may wait for
  // what this one does, without any.
  void run(Job& job) {
    bool alone = job.threads == 1;
    if (!alone) {
      std::lock_guard lock(mutex_);
      alone = job_ != nullptr;
      if (!alone) {
        job_ = &job;
        wanted_ = std::min<uint64_t>(job.threads - 1, threads_.size());
        offered_ = wanted_ > 0;
      }
    }
    if (alone) return job.take_part();
    called_.notify_all();
    job.take_part();
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // who has not come by now is not needed
    offered_ = false;
    done_.wait(lock, [this] { return busy_ == 0; });
    job_ = nullptr;
  }

 private:
  void serve() {
    while (!over_) {
      auto until = std::chrono::steady_clock::now() + kLook;
      while (!offered_ && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      std::unique_lock lock(mutex_);
      called_.wait(lock, [&] { return wanted_ > 0 || over_; });
      if (wanted_ == 0) continue;
      if (--wanted_ == 0) offered_ = false;
      busy_++;
      Job& job = *job_;
      lock.unlock();
      job.take_part();
      lock.lock();
      if (--busy_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable called_, done_;
  Job* job_ = nullptr;  // while it runs
  uint64_t wanted_ = 0, busy_ = 0;
  std::atomic<bool> offered_ = false;  // whether wanted_ > 0, to look at without the lock
  std::atomic<bool> over_ = false;
  std::vector<memory::OwnThread> threads_;
};

std::atomic<Threads*> made = nullptr;

// The child of a fork has none of the threads: it starts its own. Before handlers of the application's, which may run
// kernels.
[[gnu::constructor(103)]] void forget_in_children() {
  ::pthread_atfork(nullptr, nullptr, [] { made = nullptr; });
}

Threads& threads() {
  if (Threads* known = made) return *known;
  Threads *none = nullptr, *mine = new Threads(core_count() - 1);
  if (made.compare_exchange_strong(none, mine)) return *mine;
  delete mine;  // another thread was faster
  return *none;
}

}  // namespace

uint64_t core_count() {
  static constinit std::atomic<uint64_t> counted = 0;
  if (uint64_t known = counted) return known;
  cpu_set_t set;
  uint64_t count = ::sched_getaffinity(0, sizeof set, &set) == 0
                       ? std::max(CPU_COUNT(&set), 1)
                       : std::max<uint64_t>(std::thread::hardware_concurrency(), 1);
  uint64_t none = 0;
  return counted.compare_exchange_strong(none, count) ? count : none;
}

void start_cores() { threads(); }

void share_out(uint64_t first, uint64_t last, uint64_t most, const std::atomic<bool>& stop,
               const std::function<void(uint64_t, uint64_t)>& handle) {
  Job job(first, last, std::clamp<uint64_t>(most, 1, core_count()), stop, handle);
  threads().run(job);
  if (job.trouble) std::rethrow_exception(job.trouble);
}

}  // namespace mneme::device::host
