// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What becomes of the recorder in the child of a fork.
#include <unistd.h>

#include <cstdio>
#include <new>

#include "recorder/core/core.h"

namespace mneme::record {

void Core::before_fork() noexcept {
  joining_.lock();
  mutex_.lock();
  kernels_.before_fork();
  outside_.before_fork();
  pools_.before_fork();
  allocations_.before_fork();
  forking_ = ::getpid();
  if (state_ != State::kEnded && connection_->welcome().children) {
    try {
      // Here, since mneme-capture takes nobody any more when the process that it started has ended.
      childs_ = Connection::connect();
    } catch (const std::exception&) {  // said when it matters
    }
  }
  kept::before_fork();
}

void Core::after_fork_in_parent() noexcept {
  kept::after_fork(false);
  childs_.reset();
  allocations_.after_fork_in_parent();
  pools_.after_fork();
  outside_.after_fork();
  kernels_.after_fork();
  mutex_.unlock();
  joining_.unlock();
}

void Core::after_fork_in_child() noexcept {
  kept::after_fork(true);
  next_ = std::move(childs_);
  allocations_.after_fork_in_child();
  delivery_.leave_to_parent();
  pools_.after_fork();
  outside_.after_fork();
  kernels_.after_fork();
  mutex_.unlock();
  joining_.unlock();
  if (applier_) applier_->after_fork_in_child();
  // Other threads may have held it, and are not here to let go.
  new (&launches_) FairSharedMutex;
  Nested::leave();
  connection_->leave_to_parent();
  bool may_join = state_ != State::kEnded && connection_->welcome().children;
  forked_.store(true);
  state_.store(may_join ? State::kForked : State::kEnded);
  if (!next_) return;
  try {
    next_->greet(runtime_.fetches(), forking_);
  } catch (const std::exception&) {
    next_.reset();
  }
}

bool Core::join() noexcept {
  std::lock_guard joining(joining_);
  if (state_ != State::kForked) return state_ == State::kRecording;
  try {
    if (!next_ && (next_ = Connection::connect())) next_->greet(runtime_.fetches());
    if (!next_ || !next_->enter()) {
      next_.reset();
      state_.store(State::kEnded);
      return false;
    }
    connection_ = std::move(next_);
    forked_.store(false);
    kernels_.begin_again();
    codes_sent_.clear();
    passed_.clear();
    settled_.forget();
    next_slot_ = Counters::kFirstFree;
    for (const MemoryRange& mapped : allocations_.share_again()) {
      outside_.add(mapped.address, mapped.size, "memory that hipMemMap mapped before the process was forked");
    }
    state_.store(State::kRecording, std::memory_order_release);
    return true;
  } catch (const std::exception& error) {
    if (forked_) {
      std::fprintf(stderr, "mneme-capture: warning: a process that was forked is not recorded: %s\n", error.what());
      state_.store(State::kEnded);
    } else {  // mneme-capture knows this process already, and says why
      state_.store(State::kRecording);
      stop();
    }
    return false;
  }
}

}  // namespace mneme::record
