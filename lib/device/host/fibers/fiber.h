// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that runs on a stack of its own and can be left and gone back to.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <span>

namespace mneme::device::host {

// Boost.Context's lowest layer: its classes unwind a stack that is given up, and what runs here cannot be unwound.
// A fiber that is not gone back to, or left by a jump (FaultGuard), is just forgotten, and its stack used again.
class Fiber {
 public:
  // Gets ready to call body(argument), which must not throw.
  void prepare(std::span<std::byte> stack, void (*body)(void*), void* argument);
  // Runs it up to its next pause() or its end, on the thread on which it began: kernels have thread-local variables.
  void resume();
  // On the fiber: goes back to where resume() was called.
  void pause();
  bool ended() const { return ended_; }

 private:
  static void enter(boost::context::detail::transfer_t from);

  boost::context::detail::fcontext_t here_ = nullptr, resumer_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool ended_ = false;
};

}  // namespace mneme::device::host
