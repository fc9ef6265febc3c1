// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <pthread.h>

namespace mneme::memory {

// The T of this thread, made when it is asked for the first time and destroyed when the thread ends; not at the end of
// the process. As a thread_local variable, for which the C library would allocate in the application's heap.
template <class T>
T& of_this_thread() {
  static constinit thread_local T* mine = nullptr;
  static const pthread_key_t kKey = [] {
    pthread_key_t key{};
    ::pthread_key_create(&key, [](void*) {
      delete mine;
      mine = nullptr;
    });
    return key;
  }();
  if (!mine) {
    mine = new T;
    ::pthread_setspecific(kKey, mine);
  }
  return *mine;
}

}  // namespace mneme::memory
