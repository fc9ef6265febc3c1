// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams as queues. What is queued is done in order, on the queue's own thread, which starts with the first thing that
// needs it and leaves when it has had nothing to do for a while; or on the thread of an application that waits for it.
// The legacy stream (null) begins what it is given after everything that blocking streams were given before, and they
// begin what they are given later after it.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "hostgpu/extensions.h"
#include "hostgpu/hip.h"
#include "memory/own_thread.h"

namespace mneme::hostgpu {

using Queue = ihipStream_t;

// One queued thing: whether it has been done, and when.
struct Ticket {
  std::atomic<bool> done{false};
  const Queue* queue = nullptr;                    // until it is done
  uint64_t number = 0;                             // of those of its queue, in order
  std::chrono::steady_clock::time_point when;      // once done
  std::vector<std::shared_ptr<Queue>> dependents;  // their first operation waits for this; under the queues' lock
};
using TicketPtr = std::shared_ptr<Ticket>;

class Work {
 public:
  virtual ~Work() = default;
  virtual void run() = 0;  // HipError breaks the device
};
template <typename Body>
std::unique_ptr<Work> make_work(Body body) {
  struct Made final : Work {
    explicit Made(Body b) : body(std::move(b)) {}
    void run() override { body(); }
    Body body;
  };
  return std::make_unique<Made>(std::move(body));
}

struct Operation {
  std::unique_ptr<Work> work;    // null: it only has its place in the order
  bool own_thread = false;       // the application's code, or something that waits for it: on the queue's thread only
  bool always = false;           // done even when the device is broken
  std::vector<TicketPtr> after;  // of other queues, before it begins
  TicketPtr ticket;
};

enum class Promptness {
  kLater,   // on the queue's thread
  kLight,   // on this thread, before submit() returns, if nothing is before it: it is short and waits for nobody
  kWaited,  // the caller waits for it at once
};

// Null is the legacy stream, or the thread's own where a per-thread entry point was called. Throws
// HipError(hipErrorInvalidHandle) for what is no stream.
std::shared_ptr<Queue> queue_of(hipStream_t stream, bool per_thread = false);
std::shared_ptr<Queue> make_queue(unsigned flags, int priority);
// The handle is no stream any more; what is queued will be done, and is waited for unless it would wait for what this
// thread is in the middle of (a callback). Throws HipError(hipErrorInvalidHandle).
void destroy_queue(hipStream_t stream);

TicketPtr submit(const std::shared_ptr<Queue>& queue, Operation operation, Promptness promptness = Promptness::kLater);
// Returns once it is done. `queue` is where it was queued, and this thread may do what is before it there. This and the
// other waits throw HipError when they are called by what they would have to wait for (a callback).
void wait(const TicketPtr& ticket, const std::shared_ptr<Queue>& queue);
// For all that the stream has been given so far; the legacy stream's wait is for the blocking streams too.
void wait_for(const std::shared_ptr<Queue>& queue);
bool is_idle(const std::shared_ptr<Queue>& queue);
// For all streams of the thread's device, or of all devices, except one whose callback calls this.
void wait_for_device();
void wait_for_devices();
// For all devices, only as long as that, and without doing anything on this thread; and only for so long without a
// break in which nothing goes on but the application's own functions and waits for words that it may have to write.
// False: not all has been done.
bool wait_for_device_until(std::chrono::steady_clock::time_point end, std::chrono::milliseconds patience);
// Returns once the work, in its place in the queue, is done; by this thread, if nothing else is before it. When this
// throws, the work is not queued.
void run_in_order(const std::shared_ptr<Queue>& queue, std::unique_ptr<Work> work);

// Until this thread lets go, what others submit waits before it is queued, unless a queue's operation does it. Does
// nothing while another thread holds.
void hold_others();
void let_others_go();

// Of the operations of all queues.
struct Activity {
  uint64_t begun = 0;    // ever
  uint64_t running = 0;  // now
};
Activity current_activity();

// MNEME_APPLY_UNDO=always (kApplyUndoVariable of the recorder's): operations take turns, but for the application's own
// functions and waits for words, so that memory can be put back as it was before one of them.
bool operations_take_turns();

// For work that waits for the application: whether it should give up, because the process ends.
bool is_ending();

}  // namespace mneme::hostgpu

struct ihipStream_t {
  unsigned flags = 0;
  int device = 0;
  bool legacy = false;
  const uint64_t id = next_id();  // of its own

  static uint64_t next_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  // Under the queues' lock.
  mneme::hostgpu::StreamAttributes attributes;
  std::deque<mneme::hostgpu::Operation> operations;  // the first is under way when `running`
  bool running = false;
  std::thread::id runner;          // while running
  bool armed = false;              // the first one's dependencies know of us
  mneme::hostgpu::TicketPtr last;  // of what was queued last; may be done
  uint64_t queued = 0;             // so many, ever
  bool closed = false;
  mneme::memory::OwnThread thread;
  bool has_thread = false;
  bool awake = false;  // the thread is, or has been told to be
  std::condition_variable wake;
};
