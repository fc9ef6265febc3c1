// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waiting for what is queued. Who waits lends a hand: what is first in the queue, unless it is for the queue's own
// thread, is done by the thread that waits.
#include <algorithm>
#include <map>
#include <utility>

#include "hostgpu/errors.h"
#include "hostgpu/kernels/run_kernel.h"
#include "hostgpu/queue/queues.h"

namespace mneme::hostgpu {
namespace {

// Where a stream stands: what was queued last, and where.
struct Place {
  TicketPtr ticket;
  std::shared_ptr<Queue> queue;
};

bool waits_for_us(std::vector<TicketPtr> tickets) {
  std::map<const Queue*, size_t> seen;  // so many of their operations
  while (!tickets.empty()) {
    TicketPtr ticket = std::move(tickets.back());
    tickets.pop_back();
    if (ticket->done) continue;
    const Queue& queue = *ticket->queue;
    if (is_mine(queue)) return true;
    size_t& next = seen[&queue];
    for (; next < queue.operations.size() && queue.operations[next].ticket->number <= ticket->number; ++next) {
      const auto& after = queue.operations[next].after;
      tickets.insert(tickets.end(), after.begin(), after.end());
    }
  }
  return false;
}

// Another thread is in the middle of an operation.
bool others_run() {
  return std::ranges::any_of(queues().all, [](const auto& entry) {
    const Queue& queue = *entry.second;
    return queue.running && !is_mine(queue);
  });
}

// The ticket is of that queue.
void wait_locked(Lock& lock, const TicketPtr& ticket, const std::shared_ptr<Queue>& queue) {
  Queues& all = queues();
  if (is_in_operation()) check_not_waiting_for_us({ticket});
  while (!ticket->done) {
    if (is_runnable(*queue) && (all.stopped || !queue->operations.front().own_thread)) {
      run_first(lock, queue);
      continue;
    }
    if (all.stopped || all.starved) run_here(lock, ticket.get());
    if (ticket->done) return;
    if (all.stopped && !others_run()) return;  // it waits for something that will not come any more
    if (is_runnable(*queue)) wake(queue);      // what is not for this thread to do
    ++all.waiting;
    all.done.wait(lock.to_wait());
    --all.waiting;
  }
  if (is_runnable(*queue)) wake(queue);  // we came past what is left
}

// Of all queues that are wanted and are not empty.
template <typename Wanted>
std::vector<Place> places(const Wanted& wanted) {
  std::vector<Place> found;
  for (auto& [address, queue] : queues().all) {
    if (!queue->operations.empty() && wanted(*queue)) found.push_back({queue->last, queue});
  }
  return found;
}

// Some queue does, or can begin, what is neither the application's code nor a wait for it, or for what it writes.
bool goes_on_by_itself() {
  int running = 0;
  for (const auto& [address, queue] : queues().all) {
    if (queue->operations.empty() || is_mine(*queue)) continue;
    if (!queue->running && is_runnable(*queue)) return true;
    if (queue->running && !queue->operations.front().own_thread) ++running;
  }
  return running > waiting_kernels();
}

}  // namespace

void check_not_waiting_for_us(const std::vector<TicketPtr>& tickets) {
  if (waits_for_us(tickets))
    throw HipError(hipErrorNotSupported, "a stream's callback cannot wait for work that waits for the callback");
}

void wait(const TicketPtr& ticket, const std::shared_ptr<Queue>& queue) {
  if (ticket->done.load()) return;
  Lock lock;
  wait_locked(lock, ticket, queue);
}

void wait_for(const std::shared_ptr<Queue>& queue) {
  Lock lock;
  if (!queue->legacy) {
    if (!queue->operations.empty()) wait_locked(lock, TicketPtr(queue->last), queue);
    return;
  }
  // Nothing is queued for it: streams that are given something meanwhile need not wait for this.
  for (auto& [ticket, other] : places([&](const Queue& q) {
         return q.device == queue->device && (q.legacy || !(q.flags & hipStreamNonBlocking));
       })) {
    wait_locked(lock, ticket, other);
  }
}

void wait_for_device() {
  Lock lock;
  const int device = current_device();
  for (auto& [ticket, queue] : places([=](const Queue& q) { return q.device == device && !is_mine(q); })) {
    wait_locked(lock, ticket, queue);
  }
}

void wait_for_devices() {
  Lock lock;
  for (auto& [ticket, queue] : places([](const Queue& q) { return !is_mine(q); })) wait_locked(lock, ticket, queue);
}

bool wait_for_device_until(std::chrono::steady_clock::time_point end, std::chrono::milliseconds patience) {
  Queues& all = queues();
  Lock lock;
  auto last_progress = std::chrono::steady_clock::now();
  uint64_t completed = all.completed;
  for (auto& [ticket, queue] : places([](const Queue& q) { return !is_mine(q); })) {
    if (all.stopped || all.starved) run_here(lock, ticket.get());
    while (!ticket->done) {
      auto now = std::chrono::steady_clock::now();
      if (std::exchange(completed, all.completed) != all.completed || goes_on_by_itself()) last_progress = now;
      auto until = std::min(end, last_progress + patience);
      if (now >= until) return false;
      ++all.waiting;
      all.done.wait_until(lock.to_wait(), until);
      --all.waiting;
    }
  }
  return true;
}

void run_in_order(const std::shared_ptr<Queue>& queue, std::unique_ptr<Work> work) {
  Lock lock;
  wait_for_turn(lock);
  if (is_in_operation()) {
    std::vector<TicketPtr> before = implicit_order(*queue);
    if (!queue->operations.empty()) before.push_back(queue->last);
    check_not_waiting_for_us(before);
  }
  Operation operation;
  operation.work = std::move(work);
  TicketPtr ticket = submit_locked(lock, queue, std::move(operation), Promptness::kWaited);
  wait_locked(lock, ticket, queue);
}

void destroy_queue(hipStream_t stream) {
  Queues& all = queues();
  Lock lock;
  auto found = all.all.find(stream);
  require(found != all.all.end() && !found->second->closed && !found->second->legacy, hipErrorInvalidHandle);
  std::shared_ptr<Queue> queue = found->second;
  queue->closed = true;
  if (queue->operations.empty()) {
    all.all.erase(found);
    return;
  }
  TicketPtr last = queue->last;
  if (!is_in_operation() || !waits_for_us({last})) wait_locked(lock, last, queue);
}

}  // namespace mneme::hostgpu
