// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The streams there are, and what has to come before what in and between them.
#include "hostgpu/queue/queue.h"

#include <array>

#include "hostgpu/api_call.h"
#include "hostgpu/errors.h"
#include "hostgpu/queue/queues.h"

namespace mneme::hostgpu {
namespace {

// A thread's own stream, as long as the thread lives; what is queued then will be done.
struct ThreadQueue {
  ~ThreadQueue() {
    gone = true;
    if (!queue || ApiCall::ends_interrupted()) return;
    Lock lock;
    queue->closed = true;
    if (queue->operations.empty()) queues().all.erase(queue.get());
  }
  std::shared_ptr<Queue> queue;
  static thread_local bool gone;
};
thread_local bool ThreadQueue::gone = false;

std::shared_ptr<Queue> queue_of_this_thread() {
  auto device = static_cast<size_t>(current_device());
  if (ThreadQueue::gone) return queues().legacy[device];
  thread_local std::array<ThreadQueue, kMostDevices> mine;
  if (!mine[device].queue) mine[device].queue = make_queue(hipStreamDefault, 0);
  return mine[device].queue;
}

}  // namespace

std::vector<TicketPtr> implicit_order(const Queue& queue) {
  std::vector<TicketPtr> after;
  auto add = [&](const Queue& other) {
    if (!other.operations.empty()) after.push_back(other.last);
  };
  if (queue.legacy) {
    for (auto& [address, other] : queues().all) {
      if (other->device == queue.device && !other->legacy && !(other->flags & hipStreamNonBlocking)) add(*other);
    }
  } else if (!(queue.flags & hipStreamNonBlocking)) {
    add(*queues().legacy[static_cast<size_t>(queue.device)]);
  }
  return after;
}

TicketPtr submit_locked(Lock& lock, const std::shared_ptr<Queue>& queue, Operation operation, Promptness promptness) {
  require(!queue->closed, hipErrorInvalidHandle);  // another thread destroyed it just now
  for (TicketPtr& ticket : implicit_order(*queue)) operation.after.push_back(std::move(ticket));
  auto ticket = std::make_shared<Ticket>();
  ticket->queue = queue.get();
  ticket->number = ++queue->queued;
  operation.ticket = ticket;
  queue->last = ticket;
  queue->operations.push_back(std::move(operation));
  if (queue->operations.size() > 1) return ticket;  // whoever does what is before it comes to it
  bool here = promptness != Promptness::kLater;
  bool all_woken = advance({queue}, here ? queue.get() : nullptr);
  if (promptness == Promptness::kLight && is_runnable(*queue)) {
    all_woken = run_first(lock, queue) && all_woken;
    if (is_runnable(*queue)) all_woken = wake(queue) && all_woken;
  }
  if (!all_woken) run_here(lock, ticket.get());
  return ticket;
}

std::shared_ptr<Queue> queue_of(hipStream_t stream, bool per_thread) {
  if (stream == hipStreamPerThread || (!stream && per_thread)) return queue_of_this_thread();
  Queues& all = queues();
  if (reinterpret_cast<uintptr_t>(stream) <= 1) return all.legacy[static_cast<size_t>(current_device())];
  Lock lock;
  auto found = all.all.find(stream);
  require(found != all.all.end() && !found->second->closed, hipErrorInvalidHandle);
  return found->second;
}

std::shared_ptr<Queue> make_queue(unsigned flags, int priority) {
  auto queue = std::make_shared<Queue>();
  queue->flags = flags;
  queue->attributes.priority = priority;
  queue->device = current_device();
  Lock lock;
  queues().all.emplace(queue.get(), queue);
  return queue;
}

TicketPtr submit(const std::shared_ptr<Queue>& queue, Operation operation, Promptness promptness) {
  Lock lock;
  wait_for_turn(lock);
  return submit_locked(lock, queue, std::move(operation), promptness);
}

void wait_for_turn(Lock& lock) {
  Queues& all = queues();
  auto ours = [&] { return all.holder == std::thread::id() || all.holder == std::this_thread::get_id(); };
  if (!is_in_operation()) all.let_go.wait(lock.to_wait(), [&] { return ours() || all.ending; });
}

void hold_others() {
  Lock lock;
  if (queues().holder == std::thread::id()) queues().holder = std::this_thread::get_id();
}

void let_others_go() {
  Lock lock;
  if (queues().holder != std::this_thread::get_id()) return;
  queues().holder = {};
  queues().let_go.notify_all();
}

bool is_idle(const std::shared_ptr<Queue>& queue) {
  Lock lock;
  return queue->operations.empty() && (!queue->legacy || implicit_order(*queue).empty());
}

}  // namespace mneme::hostgpu
