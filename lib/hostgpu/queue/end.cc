// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All queues, from the first use to the end of the process; and what becomes of them in a child of it.
#include <pthread.h>

#include "hostgpu/api_call.h"
#include "hostgpu/errors.h"
#include "hostgpu/queue/queues.h"

namespace mneme::hostgpu {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);  // at exit, without anything getting done

// Operations that are left.
uint64_t left() {
  uint64_t left = 0;
  for (auto& [address, queue] : queues().all) left += is_mine(*queue) ? 0 : queue->operations.size();
  return left;
}

// The threads are the parent's, and so is what they had to do.
void after_fork_in_child() {
  Queues& all = queues();
  ++all.forks;
  for (auto& [address, queue] : all.all) {
    for (Operation& operation : queue->operations) {
      if (operation.ticket) operation.ticket->done = true;
    }
    // Abandoned as they are: destroying what another thread had in hand is not safe.
    new (&queue->operations) std::deque<Operation>;
    new (&queue->thread) memory::OwnThread;
    new (&queue->wake) std::condition_variable;
    queue->running = queue->armed = queue->has_thread = queue->awake = false;
  }
  new (&all.turn) std::mutex;
  new (&all.done) std::condition_variable;
  new (&all.let_go) std::condition_variable;
  all.holder = {};
  all.waiting = 0;
  all.starved = false;
}

// At once, since a recorder locks what is its own first, and unlocks it last.
[[gnu::constructor]] void watch_forks() { queues(); }

}  // namespace

Queues& queues() {
  static auto* all = [] {
    auto* made = new Queues;
    for (int device = 0; device < device_count(); ++device) {
      auto& legacy = made->legacy.emplace_back(std::make_shared<Queue>());
      legacy->legacy = true;
      legacy->device = device;
      made->all.emplace(legacy.get(), legacy);
    }
    ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
    return made;
  }();
  return *all;
}

// What waits for something that cannot come any more is left, and so is what other threads go on to launch.
void stop_threads() {
  Queues& all = queues();
  if (ApiCall::ends_interrupted()) return;  // other threads may wait for what that call has locked
  Lock lock;
  all.ending = true;
  all.let_go.notify_all();
  ++all.waiting;
  const uint64_t last = all.completed + left();
  bool moved = true;
  while (moved && left() > 0 && all.completed < last) {
    uint64_t before = all.completed;
    if (all.starved) run_here(lock);
    moved = all.done.wait_for(lock.to_wait(), kPatience, [&] { return all.completed != before; });
  }
  --all.waiting;
  all.stopped = true;
  std::vector<memory::OwnThread> threads;
  for (auto& [address, queue] : all.all) {
    queue->wake.notify_all();
    if (!queue->thread.joinable()) continue;
    bool leave = queue->running || queue->thread.is_this_thread();
    if (leave) {
      queue->thread.detach();
    } else {
      threads.push_back(std::move(queue->thread));
    }
  }
  lock.unlock();
  if (!moved) say("the process ends while work on a stream has not");
  for (memory::OwnThread& thread : threads) thread.join();
}

bool is_ending() { return queues().ending.load(); }

}  // namespace mneme::hostgpu
