// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <pthread.h>

namespace mneme {

// While it lives, nobody's pthread_cancel ends this thread, which may be an application's, in the middle of what cannot
// be unwound: it ends it later.
class Uncancelled {
 public:
  Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace mneme
