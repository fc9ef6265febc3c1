// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::memory {

// A process whose main thread has left by pthread_exit ends with its last other thread: with the application's last,
// as it would without Mneme's (own_thread.h). The C library waits for all; so one of Mneme's looks.

// Has the call made when the main thread leaves, and in a child, when the one that forked does. One call for all.
void when_main_thread_leaves(void (*call)() noexcept) noexcept;

// Whether it has begun to leave.
bool main_thread_leaves() noexcept;

// Whether all threads that there are have their stacks in Mneme's regions (own_region.h), and the main thread is gone.
// False where that is not to be known, as without /proc.
bool only_own_threads_left() noexcept;

// Calls exit(0) in a thread of its own, with the signals that the main thread had. Once: by one caller of all in the
// process, and in what else is linked with this code.
void end_process() noexcept;

}  // namespace mneme::memory
