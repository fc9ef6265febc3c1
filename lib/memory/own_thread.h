// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <memory>

namespace mneme::memory {

// A thread of Mneme's in an application's process, as std::thread, but that it changes nothing of where the
// application's memory lies: its stack is Mneme's (own_region.h), and one thread of Mneme's starts and joins all
// others, so that what the C library allocates for a thread is not in the heap of the application's. It gets no
// signals, which are the application's, but those of faults in what it does.
class OwnThread {
 public:
  OwnThread() = default;
  explicit OwnThread(std::function<void()> work);  // throws std::system_error: it cannot be started
  OwnThread(OwnThread&& other) noexcept = default;
  OwnThread& operator=(OwnThread&& other) noexcept;
  ~OwnThread();  // one that is still to be joined ends the process, as std::thread's

  bool joinable() const { return thread_ != nullptr; }
  bool is_this_thread() const;
  void join();
  void detach();  // its stack is used again once it has ended

  struct Thread;

 private:
  std::shared_ptr<Thread> thread_;
};

}  // namespace mneme::memory
