// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/held_over_forks.h"

#include <pthread.h>

#include <chrono>
#include <thread>
#include <vector>

namespace mneme::hostgpu {
namespace {

// A thread that has one of the mutexes for longer than this keeps it: a child that may wait for it is better than a
// process that cannot fork.
constexpr auto kPatience = std::chrono::seconds(5);

struct Locks {
  std::mutex mutex;
  std::vector<ForkLock*> all;
  std::vector<ForkLock*> held;  // during a fork
};

void before_fork();
void after_fork();

// Never destroyed: mutexes of static objects go after everything else.
Locks& locks() {
  static auto* made = [] {
    ::pthread_atfork(before_fork, after_fork, after_fork);
    return new Locks;
  }();
  return *made;
}

void release(std::vector<ForkLock*>& held) {
  for (ForkLock* lock : held) lock->release_after_fork();
  held.clear();
}

// While one is not to be had, none is held: whoever has it may be waiting for another.
void before_fork() {
  Locks& all = locks();
  all.mutex.lock();
  for (auto end = std::chrono::steady_clock::now() + kPatience;;) {
    bool last_time = std::chrono::steady_clock::now() > end;
    bool complete = true;
    for (ForkLock* lock : all.all) {
      if (lock->try_for_fork()) {
        all.held.push_back(lock);
      } else if (complete = false; !last_time) {
        break;
      }
    }
    if (complete || last_time) return;
    release(all.held);
    std::this_thread::yield();
  }
}

void after_fork() {
  Locks& all = locks();
  release(all.held);
  all.mutex.unlock();
}

}  // namespace

ForkLock::ForkLock() {
  Locks& all = locks();
  std::lock_guard lock(all.mutex);
  all.all.push_back(this);
}

ForkLock::~ForkLock() {
  Locks& all = locks();
  std::lock_guard lock(all.mutex);
  std::erase(all.all, this);
}

}  // namespace mneme::hostgpu
