// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/queue.h"

#include <pthread.h>

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <unordered_map>

#include "hostgpu/errors.h"

namespace mneme::hostgpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLinger = std::chrono::milliseconds(200);  // a thread without work stays so long
constexpr auto kPatience = std::chrono::seconds(10);      // at exit, without anything getting done

// One lock for all: it is held for moments, never while something runs.
struct Queues {
  std::mutex mutex;
  std::condition_variable done;  // something was, while `waiting` is not 0
  unsigned waiting = 0;
  uint64_t completed = 0;
  std::unordered_map<Queue*, std::shared_ptr<Queue>> all;  // closed ones until they are empty
  std::shared_ptr<Queue> legacy;
  std::atomic<bool> ending{false};  // the process ends
  bool stopped = false;             // there are no threads any more: whoever queues something does it
  bool starved = false;             // the system gave no thread: whoever waits does what is to be done
};

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// Never destroyed: applications launch kernels from destructors that run last.
Queues& queues() {
  static auto* all = [] {
    auto* made = new Queues;
    made->legacy = std::make_shared<Queue>();
    made->legacy->legacy = true;
    made->all.emplace(made->legacy.get(), made->legacy);
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return made;
  }();
  return *all;
}

using Lock = std::unique_lock<std::mutex>;

bool is_ready(Operation& operation) {
  std::erase_if(operation.after, [](const TicketPtr& ticket) { return ticket->done.load(); });
  return operation.after.empty();
}

bool is_runnable(Queue& queue) {
  return !queue.running && !queue.operations.empty() && is_ready(queue.operations.front());
}

void run_thread(std::shared_ptr<Queue> queue);

void stop_threads();

// Its thread is not to receive the application's signals; those of faults in kernels it must.
std::thread start_thread(const std::shared_ptr<Queue>& queue) {
  static const int registered = std::atexit(stop_threads);
  static_cast<void>(registered);
  sigset_t blocked, before;
  ::sigfillset(&blocked);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) ::sigdelset(&blocked, signal);
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  std::thread thread;
  try {
    thread = std::thread(run_thread, queue);
  } catch (const std::system_error&) {
    // No more threads are to be had.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

// False: it has no thread and can have none.
bool wake(const std::shared_ptr<Queue>& queue) {
  if (queues().stopped) return false;
  if (queue->awake) return true;
  if (queue->has_thread) {
    queue->wake.notify_one();
  } else {
    queue->thread = start_thread(queue);
    queues().starved = !queue->thread.joinable();
    if (queues().starved) return false;
    queue->has_thread = true;
  }
  queue->awake = true;
  return true;
}

// The first operation is done.
void complete(Queue& queue, std::vector<std::shared_ptr<Queue>>& to_advance) {
  TicketPtr ticket = std::move(queue.operations.front().ticket);
  queue.operations.pop_front();
  queue.armed = false;
  ticket->when = Clock::now();
  ticket->done.store(true);
  for (auto& dependent : ticket->dependents) to_advance.push_back(std::move(dependent));
  ticket->dependents.clear();
  ++queues().completed;
  if (queues().waiting) queues().done.notify_all();
}

// Does what needs no work, and wakes the threads of what does, except `mine`, whose next operation is the caller's
// business. False: something has to be done by this thread, for want of others.
bool advance(std::vector<std::shared_ptr<Queue>> to_advance, const Queue* mine = nullptr) {
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

void run_work(Operation& operation) {
  if (device_state() != hipSuccess && !operation.always) return;
  try {
    operation.work->run();
  } catch (const HipError& error) {
    if (*error.what()) say(error.what());
    break_device(error.code());
  } catch (const std::exception& error) {
    say(error.what());
    break_device(hipErrorUnknown);
  }
}

// Does the first operation, with the lock open meanwhile. The queue is runnable.
void run_first(Lock& lock, const std::shared_ptr<Queue>& queue) {
  queue->running = true;
  queue->runner = std::this_thread::get_id();
  Operation& operation = queue->operations.front();  // stays where it is when others are added
  lock.unlock();
  run_work(operation);
  operation.work.reset();
  lock.lock();
  if (!std::exchange(queue->running, false)) return;  // the child of a fork inside
  std::vector<std::shared_ptr<Queue>> to_advance;
  complete(*queue, to_advance);
  to_advance.push_back(queue);
  advance(std::move(to_advance), queue.get());
}

void run_thread(std::shared_ptr<Queue> queue) {
  ::pthread_setname_np(::pthread_self(), "mneme-stream");
  Queues& all = queues();
  Lock lock(all.mutex);
  for (;;) {
    if (is_runnable(*queue)) {
      run_first(lock, queue);
      continue;
    }
    if (all.stopped) break;
    queue->awake = false;
    bool called = queue->wake.wait_for(lock, kLinger, [&] { return queue->awake || all.stopped; });
    if (!called) break;  // whoever needs it next starts another
    queue->awake = true;
  }
  if (queue->thread.joinable()) queue->thread.detach();
  queue->has_thread = queue->awake = false;
}

// Does everything that is before the ticket, wherever it is queued, and it.
void run_here(Lock& lock, const TicketPtr& ticket) {
  for (bool moved = true; moved && !ticket->done;) {
    moved = false;
    std::vector<std::shared_ptr<Queue>> every;
    for (auto& [address, queue] : queues().all) every.push_back(queue);
    for (auto& queue : every) {
      while (!ticket->done && is_runnable(*queue)) {
        run_first(lock, queue);
        moved = true;
      }
    }
  }
}

bool is_mine(const Queue& queue) { return queue.running && queue.runner == std::this_thread::get_id(); }

void wait_locked(Lock& lock, const TicketPtr& ticket, const std::shared_ptr<Queue>& queue) {
  Queues& all = queues();
  while (!ticket->done) {
    if (is_mine(*queue)) throw HipError(hipErrorNotSupported, "a stream's callback cannot wait for its own stream");
    if (is_runnable(*queue) && (all.stopped || !queue->operations.front().own_thread)) {
      run_first(lock, queue);
      continue;
    }
    if (all.stopped || all.starved) run_here(lock, ticket);
    if (ticket->done) return;
    if (all.stopped) return;               // it waits for something that will not come any more
    if (is_runnable(*queue)) wake(queue);  // what is not for this thread to do
    ++all.waiting;
    all.done.wait(lock);
    --all.waiting;
  }
  if (is_runnable(*queue)) wake(queue);
}

// Of what every queue has been given so far, as far as it is not done.
std::vector<std::pair<TicketPtr, std::shared_ptr<Queue>>> last_tickets() {
  std::vector<std::pair<TicketPtr, std::shared_ptr<Queue>>> last;
  for (auto& [address, queue] : queues().all) {
    if (!queue->operations.empty() && !is_mine(*queue)) last.emplace_back(queue->last, queue);
  }
  return last;
}

// What something added to the queue has to wait for in others.
void add_implicit(Queue& queue, std::vector<TicketPtr>& after) {
  auto add = [&](const Queue& other) {
    if (!other.operations.empty()) after.push_back(other.last);
  };
  if (queue.legacy) {
    for (auto& [address, other] : queues().all) {
      if (!other->legacy && !(other->flags & hipStreamNonBlocking)) add(*other);
    }
  } else if (!(queue.flags & hipStreamNonBlocking)) {
    add(*queues().legacy);
  }
}

TicketPtr submit_locked(Lock& lock, const std::shared_ptr<Queue>& queue, Operation operation, Promptness promptness) {
  add_implicit(*queue, operation.after);
  auto ticket = std::make_shared<Ticket>();
  operation.ticket = ticket;
  queue->last = ticket;
  queue->operations.push_back(std::move(operation));
  if (queue->operations.size() > 1) return ticket;  // whoever does what is before it comes to it
  bool here = promptness != Promptness::kLater;
  bool all_woken = advance({queue}, here ? queue.get() : nullptr);
  if (promptness == Promptness::kLight && is_runnable(*queue)) {
    run_first(lock, queue);
    if (is_runnable(*queue)) all_woken = wake(queue) && all_woken;
  }
  if (!all_woken) run_here(lock, ticket);
  return ticket;
}

// A thread's own stream, as long as the thread lives.
struct ThreadQueue {
  ~ThreadQueue() {
    gone = true;
    if (queue) close_queue(queue.get());
  }
  std::shared_ptr<Queue> queue;
  static thread_local bool gone;
};
thread_local bool ThreadQueue::gone = false;

std::shared_ptr<Queue> queue_of_this_thread() {
  if (ThreadQueue::gone) return queues().legacy;
  thread_local ThreadQueue mine;
  if (!mine.queue) mine.queue = make_queue(hipStreamDefault, 0);
  return mine.queue;
}

// ---- the end, and fork --------------------------------------------------------------------------------------------

bool all_idle() {
  for (auto& [address, queue] : queues().all) {
    if (!queue->operations.empty() && !is_mine(*queue)) return false;
  }
  return true;
}

// What a device would complete is completed; what waits for something that cannot come any more is left.
void stop_threads() {
  Queues& all = queues();
  Lock lock(all.mutex);
  all.ending = true;
  ++all.waiting;
  bool idle = all_idle();
  while (!idle) {
    uint64_t before = all.completed;
    bool moved = all.done.wait_for(lock, kPatience, [&] { return all.completed != before; });
    idle = all_idle();
    if (!moved) break;
  }
  --all.waiting;
  all.stopped = true;
  std::vector<std::thread> threads;
  for (auto& [address, queue] : all.all) {
    queue->wake.notify_all();
    if (!queue->thread.joinable()) continue;
    bool leave = queue->running || queue->thread.get_id() == std::this_thread::get_id();
    if (leave) {
      queue->thread.detach();
    } else {
      threads.push_back(std::move(queue->thread));
    }
  }
  lock.unlock();
  if (!idle) say("the process ends while work on a stream has not");
  for (std::thread& thread : threads) thread.join();
}

void before_fork() { queues().mutex.lock(); }
void after_fork_in_parent() { queues().mutex.unlock(); }

// The threads are the parent's, and so is what they had to do.
void after_fork_in_child() {
  Queues& all = queues();
  for (auto& [address, queue] : all.all) {
    for (Operation& operation : queue->operations) {
      if (operation.ticket) operation.ticket->done = true;
    }
    // Abandoned as they are: destroying what another thread had in hand is not safe.
    new (&queue->operations) std::deque<Operation>;
    new (&queue->thread) std::thread;
    new (&queue->wake) std::condition_variable;
    queue->running = queue->armed = queue->has_thread = queue->awake = false;
  }
  new (&all.done) std::condition_variable;
  all.waiting = 0;
  all.mutex.unlock();
}

}  // namespace

std::shared_ptr<Queue> queue_of(hipStream_t stream, bool per_thread) {
  if (stream == hipStreamPerThread || (!stream && per_thread)) return queue_of_this_thread();
  Queues& all = queues();
  if (reinterpret_cast<uintptr_t>(stream) <= 1) return all.legacy;
  Lock lock(all.mutex);
  auto found = all.all.find(stream);
  require(found != all.all.end() && !found->second->closed, hipErrorInvalidHandle);
  return found->second;
}

std::shared_ptr<Queue> make_queue(unsigned flags, int priority) {
  auto queue = std::make_shared<Queue>();
  queue->flags = flags;
  queue->priority = priority;
  Lock lock(queues().mutex);
  queues().all.emplace(queue.get(), queue);
  return queue;
}

std::shared_ptr<Queue> close_queue(hipStream_t stream) {
  Queues& all = queues();
  Lock lock(all.mutex);
  auto found = all.all.find(stream);
  require(found != all.all.end() && !found->second->closed && !found->second->legacy, hipErrorInvalidHandle);
  std::shared_ptr<Queue> queue = found->second;
  queue->closed = true;
  if (queue->operations.empty()) all.all.erase(found);
  return queue;
}

TicketPtr submit(const std::shared_ptr<Queue>& queue, Operation operation, Promptness promptness) {
  Lock lock(queues().mutex);
  return submit_locked(lock, queue, std::move(operation), promptness);
}

void wait(const TicketPtr& ticket, const std::shared_ptr<Queue>& queue) {
  if (ticket->done.load()) return;
  Lock lock(queues().mutex);
  wait_locked(lock, ticket, queue);
}

void wait_for(const std::shared_ptr<Queue>& queue) {
  Lock lock(queues().mutex);
  if (!queue->legacy) {
    if (!queue->operations.empty()) wait_locked(lock, TicketPtr(queue->last), queue);
    return;
  }
  TicketPtr ticket = submit_locked(lock, queue, {}, Promptness::kWaited);
  wait_locked(lock, ticket, queue);
}

bool is_idle(const std::shared_ptr<Queue>& queue) {
  Lock lock(queues().mutex);
  std::vector<TicketPtr> after;
  add_implicit(*queue, after);
  return queue->operations.empty() && (!queue->legacy || after.empty());
}

void wait_for_device() {
  Lock lock(queues().mutex);
  for (auto& [ticket, queue] : last_tickets()) wait_locked(lock, ticket, queue);
}

bool wait_for_device_until(std::chrono::steady_clock::time_point end) {
  Queues& all = queues();
  Lock lock(all.mutex);
  bool done = true;
  for (auto& [ticket, queue] : last_tickets()) {
    if (all.stopped || all.starved) run_here(lock, ticket);
    ++all.waiting;
    done = all.done.wait_until(lock, end, [&] { return ticket->done.load(); }) && done;
    --all.waiting;
  }
  return done;
}

void run_in_order(const std::shared_ptr<Queue>& queue, std::unique_ptr<Work> work) {
  Lock lock(queues().mutex);
  Operation operation;
  operation.work = std::move(work);
  TicketPtr ticket = submit_locked(lock, queue, std::move(operation), Promptness::kWaited);
  wait_locked(lock, ticket, queue);
}

bool is_ending() { return queues().ending.load(); }

}  // namespace mneme::hostgpu
