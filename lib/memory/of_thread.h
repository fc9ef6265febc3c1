// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <pthread.h>

#include <atomic>
#include <utility>

namespace mneme::memory {

// The T of this thread, made when it is asked for the first time and destroyed when the thread ends (not where the
// system has no key left, of which there are 1024); not at the end of the process. As a thread_local variable, for
// which the C library would allocate in the application's heap.
template <class T>
class OfThread {
 public:
  static T& get() {
    if (!mine) {
      mine = new T;
      if (int key = known_key(); key != kNone) ::pthread_setspecific(static_cast<pthread_key_t>(key), mine);
    }
    return *mine;
  }

 private:
  static constexpr int kNone = -1;

  // No static variable that is initialised when it is needed: a fork meanwhile would leave a child that waits for it.
  static int known_key() {
    if (int known = key_; known != kNone) return known;
    pthread_key_t made{};
    if (::pthread_key_create(&made, [](void*) { delete std::exchange(mine, nullptr); }) != 0) return kNone;
    int known = kNone;
    if (key_.compare_exchange_strong(known, static_cast<int>(made))) return static_cast<int>(made);
    ::pthread_key_delete(made);  // another thread was faster
    return known;
  }

  static inline constinit thread_local T* mine = nullptr;
  static inline constinit std::atomic<int> key_ = kNone;
};

template <class T>
T& of_this_thread() {
  return OfThread<T>::get();
}

}  // namespace mneme::memory
