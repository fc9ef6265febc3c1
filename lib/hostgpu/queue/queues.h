// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of the queues share. All but queues() and stop_threads() is called with the queues' lock held.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "hostgpu/held_over_forks.h"
#include "hostgpu/queue/queue.h"

namespace mneme::hostgpu {

// One lock for all: it is held for moments, never while something runs.
struct Queues {
  HeldOverForks<std::mutex> mutex;
  std::mutex turn;               // an operation's, where they take turns
  std::condition_variable done;  // something was, while `waiting` is not 0
  unsigned waiting = 0;
  uint64_t completed = 0;
  std::unordered_map<Queue*, std::shared_ptr<Queue>> all;  // closed ones until they are empty
  std::vector<std::shared_ptr<Queue>> legacy;              // by device
  unsigned forks = 0;                                      // of this process from its ancestors
  std::atomic<bool> ending{false};                         // the process ends
  bool stopped = false;    // there are no threads any more: whoever queues something does it
  std::thread::id holder;  // whose work only is queued; nobody's: everyone's
  std::condition_variable let_go;
  bool starved = false;  // the system gave no thread: whoever is there does what is to be done
  // Whom to call when the lock is opened.
  std::shared_ptr<Queue> called;  // its thread
  bool done_called = false;       // who waits for `done`
};

// Never destroyed: applications launch kernels from destructors that run last.
Queues& queues();

// The queues' lock. Other threads are called once it is open: called before, they would run into it, and be put to
// sleep again.
class Lock {
 public:
  Lock() : lock_(queues().mutex) {}
  ~Lock() {
    if (lock_.owns_lock()) unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() { lock_.lock(); }
  void unlock();
  // Opens the lock for a moment if somebody is to be called. Returns whether it did.
  bool call_others();
  // For a condition variable, which opens it by itself: calls others at once.
  std::unique_lock<std::mutex>& to_wait();

 private:
  std::unique_lock<std::mutex> lock_;
};

// As the process ends: what a device would complete is completed; then the threads go.
void stop_threads();

// ---- progress -----------------------------------------------------------------------------------------------------
// What holds whenever the lock is free: when a queue's first operation can run and does not, its thread is awake.
// (Or there are no threads.) Whoever ends an operation on a thread that is not the queue's passes this on.

// The first operation can begin.
bool is_runnable(Queue& queue);
// This thread is in the middle of its first operation.
bool is_mine(const Queue& queue);
// This thread is in the middle of some operation.
bool is_in_operation();

// False: it has no thread and can have none.
bool wake(const std::shared_ptr<Queue>& queue);
// Does what needs no work, and wakes the threads of what does, except `mine`, whose next operation is the caller's
// business. False: something has to be done by this thread, for want of others.
bool advance(std::vector<std::shared_ptr<Queue>> to_advance, const Queue* mine = nullptr);
// Does the first operation of a runnable queue, with the lock open meanwhile. The next is the caller's business. What
// it returns is as for advance().
bool run_first(Lock& lock, const std::shared_ptr<Queue>& queue);
// Does all that can be done without other threads, wherever it is queued; or until the ticket is done.
void run_here(Lock& lock, const Ticket* until = nullptr);

// ---- order --------------------------------------------------------------------------------------------------------

// What anything queued now has to wait for in other queues.
std::vector<TicketPtr> implicit_order(const Queue& queue);
// Throws HipError when one of them waits, over whatever other queues, for what this thread is in the middle of.
void check_not_waiting_for_us(const std::vector<TicketPtr>& tickets);

// Returns once this thread may queue something.
void wait_for_turn(Lock& lock);
TicketPtr submit_locked(Lock& lock, const std::shared_ptr<Queue>& queue, Operation operation, Promptness promptness);

}  // namespace mneme::hostgpu
