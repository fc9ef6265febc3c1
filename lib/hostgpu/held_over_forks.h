// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <mutex>

namespace mneme::hostgpu {

// What a lock must be able to do.
class ForkLock {
 public:
  virtual bool try_for_fork() = 0;
  virtual void release_after_fork() = 0;

 protected:
  ForkLock();
  ~ForkLock();
};

// A mutex of which no other thread has hold when the process forks, so that the child finds what it guards whole, and
// can lock it. All such mutexes are had at once, whatever the order in which threads lock them: nobody may hold one of
// them for long, or call fork() with it.
template <class Mutex>
class HeldOverForks final : public Mutex, private ForkLock {
 private:
  bool try_for_fork() override { return Mutex::try_lock(); }
  void release_after_fork() override { Mutex::unlock(); }
};

}  // namespace mneme::hostgpu
