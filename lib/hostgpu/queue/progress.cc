// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who does what is queued: the queue's thread, or one that waits for it; and how they tell each other.
#include <pthread.h>

#include <cstdlib>
#include <system_error>

#include "hostgpu/api_call.h"
#include "hostgpu/errors.h"
#include "hostgpu/queue/queues.h"

namespace mneme::hostgpu {
namespace {

constexpr auto kLinger = std::chrono::milliseconds(200);  // a thread without work stays so long

thread_local unsigned operations_under_way = 0;  // on this thread, one inside the other
thread_local bool has_turn = false;
std::atomic<uint64_t> operations_begun{0}, operations_ended{0};  // on all threads

bool is_ready(Operation& operation) {
  std::erase_if(operation.after, [](const TicketPtr& ticket) { return ticket->done.load(); });
  return operation.after.empty();
}

void run_thread(std::shared_ptr<Queue> queue) {
  ::pthread_setname_np(::pthread_self(), "mneme-stream");
  Queues& all = queues();
  Lock lock;
  const unsigned forks = all.forks;
  for (;;) {
    if (all.stopped) break;  // whatever other threads go on to queue
    if (is_runnable(*queue)) {
      bool all_woken = run_first(lock, queue);
      if (all.forks != forks) return;  // a child of what we did: the queue has no thread there
      if (!all_woken && !all.stopped) run_here(lock);
      continue;
    }
    if (lock.call_others()) continue;
    queue->awake = false;
    bool called = queue->wake.wait_for(lock.to_wait(), kLinger, [&] { return queue->awake || all.stopped; });
    if (!called) break;  // whoever needs it next starts another
    queue->awake = true;
  }
  if (queue->thread.joinable()) queue->thread.detach();
  queue->has_thread = queue->awake = false;
}

// One that is not joinable: no more threads are to be had.
memory::OwnThread start_thread(const std::shared_ptr<Queue>& queue) {
  static const int registered = std::atexit(stop_threads);
  static_cast<void>(registered);
  try {
    return memory::OwnThread([queue] { run_thread(queue); });
  } catch (const std::system_error&) {
    return {};
  }
}

// The first operation is done.
void complete(Queue& queue, std::vector<std::shared_ptr<Queue>>& to_advance) {
  TicketPtr ticket = std::move(queue.operations.front().ticket);
  queue.operations.pop_front();
  queue.armed = false;
  ticket->when = std::chrono::steady_clock::now();
  ticket->done.store(true);
  for (auto& dependent : ticket->dependents) to_advance.push_back(std::move(dependent));
  ticket->dependents.clear();
  ++queues().completed;
  if (queues().waiting) queues().done_called = true;
}

class Turn {
 public:
  explicit Turn(const Operation& operation) : takes_(operations_take_turns() && !operation.own_thread && !has_turn) {
    if (takes_) queues().turn.lock();
    has_turn |= takes_;
  }
  ~Turn() {
    if (!takes_) return;
    has_turn = false;
    queues().turn.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const bool takes_;
};

void run_work(Operation& operation, int device) {
  if (device_state(device) != hipSuccess && !operation.always) return;
  const Turn turn(operation);
  ++operations_under_way;
  ++operations_begun;
  ApiCall::Away away;
  try {
    operation.work->run();
  } catch (const HipError& error) {
    if (*error.what()) say(error.what());
    break_device(device, error.code());
  } catch (const std::exception& error) {
    say(error.what());
    break_device(device, hipErrorUnknown);
  }
  ++operations_ended;
  --operations_under_way;
}

}  // namespace

bool operations_take_turns() {
  static const bool take = [] {
    const char* undo = std::getenv("MNEME_APPLY_UNDO");
    return undo && undo == std::string_view("always");
  }();
  return take;
}

Activity current_activity() {
  const uint64_t ended = operations_ended;
  const uint64_t begun = operations_begun;
  return {begun, begun - ended};
}

void Lock::unlock() {
  std::shared_ptr<Queue> called = std::move(queues().called);
  bool done_called = std::exchange(queues().done_called, false);
  lock_.unlock();
  if (called) called->wake.notify_one();
  if (done_called) queues().done.notify_all();
}

bool Lock::call_others() {
  if (!queues().called && !queues().done_called) return false;
  unlock();
  lock();
  return true;
}

std::unique_lock<std::mutex>& Lock::to_wait() {
  if (std::shared_ptr<Queue> called = std::move(queues().called)) called->wake.notify_one();
  if (std::exchange(queues().done_called, false)) queues().done.notify_all();
  return lock_;
}

bool is_runnable(Queue& queue) {
  return !queue.running && !queue.operations.empty() && is_ready(queue.operations.front());
}

bool is_mine(const Queue& queue) { return queue.running && queue.runner == std::this_thread::get_id(); }

bool is_in_operation() { return operations_under_way != 0; }

bool wake(const std::shared_ptr<Queue>& queue) {
  if (queues().stopped) return false;
  if (queue->awake) return true;
  if (queue->has_thread) {
    if (queues().called) queues().called->wake.notify_one();
    queues().called = queue;
  } else {
    queue->thread = start_thread(queue);
    queues().starved = !queue->thread.joinable();
    if (queues().starved) return false;
    queue->has_thread = true;
  }
  queue->awake = true;
  return true;
}

bool advance(std::vector<std::shared_ptr<Queue>> to_advance, const Queue* mine) {
  bool all_woken = true;
  while (!to_advance.empty()) {
    std::shared_ptr<Queue> queue = std::move(to_advance.back());
    to_advance.pop_back();
    while (!queue->running && !queue->operations.empty()) {
      Operation& first = queue->operations.front();
      if (!is_ready(first)) {
        if (!std::exchange(queue->armed, true)) {
          for (const TicketPtr& ticket : first.after) ticket->dependents.push_back(queue);
        }
        break;
      }
      if (first.work) {
        if (queue.get() != mine) all_woken = wake(queue) && all_woken;
        break;
      }
      complete(*queue, to_advance);
    }
    if (queue->closed && queue->operations.empty()) queues().all.erase(queue.get());
  }
  return all_woken;
}

bool run_first(Lock& lock, const std::shared_ptr<Queue>& queue) {
  queue->running = true;
  queue->runner = std::this_thread::get_id();
  Operation& operation = queue->operations.front();  // stays where it is when others are added
  lock.unlock();
  run_work(operation, queue->device);
  operation.work.reset();
  lock.lock();
  if (!std::exchange(queue->running, false)) return true;  // the child of a fork inside
  std::vector<std::shared_ptr<Queue>> to_advance;
  complete(*queue, to_advance);
  to_advance.push_back(queue);
  return advance(std::move(to_advance), queue.get());
}

void run_here(Lock& lock, const Ticket* until) {
  auto is_over = [&] { return until && until->done; };
  std::vector<std::shared_ptr<Queue>> every;
  for (bool moved = true; moved && !is_over();) {
    moved = false;
    every.clear();
    for (auto& [address, queue] : queues().all) every.push_back(queue);
    for (auto& queue : every) {
      while (!is_over() && is_runnable(*queue)) {
        run_first(lock, queue);
        moved = true;
      }
    }
  }
  for (auto& queue : every) {
    if (is_runnable(*queue)) wake(queue);
  }
}

}  // namespace mneme::hostgpu
