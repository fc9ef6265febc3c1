// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <utility>

namespace mneme::hostgpu {

// A call of the application's into this runtime, on the thread that makes it.
class ApiCall {
 public:
  ApiCall() { ++under_way_; }
  ~ApiCall() { --under_way_; }
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  // At the end of the process or of the thread. True: a signal has interrupted a call of this thread, and its handler
  // ends the process, as many programs' do. What that call has locked nobody unlocks any more, so that this thread's
  // calls are refused from now on.
  static bool ends_interrupted() { return interrupted_ = under_way_ != 0; }
  static bool is_refused() { return interrupted_; }

  // While it lives, the thread is in code of the application's, called by this runtime, that may end the process.
  class Away {
   public:
    Away() : under_way_(std::exchange(ApiCall::under_way_, 0)) {}
    ~Away() { ApiCall::under_way_ = under_way_; }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

   private:
    unsigned under_way_;
  };

 private:
  static inline constinit thread_local unsigned under_way_ = 0;  // one inside the other
  static inline constinit thread_local bool interrupted_ = false;
};

}  // namespace mneme::hostgpu
