// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Survives a trap or a wild pointer in a kernel: the thread leaves the kernel as if it had thrown.
#pragma once
#include <csetjmp>
#include <string>

namespace mneme::device::host {

// While one lives, a fault of this thread (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP) jumps to where sigsetjmp(jump, 0)
// was last called, which then returns the signal's number. Between there and the fault no object with a destructor
// may be alive. An access to a protected page goes to the handler from before first. A fault of a thread without a
// guard goes there only.
class FaultGuard {
 public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  // Leaves the kernel that runs on this thread as a fault does; sigsetjmp then returns kStopped. A guard must be
  // active.
  [[noreturn]] static void leave();
  static constexpr int kStopped = 1000;

  sigjmp_buf jump;
  const void* address = nullptr;  // set by a fault: the address that could not be used, if the signal tells
  bool has_address = false;
  const void* tried = nullptr;  // the last protected address
  int tries = 0;                // in a row
  bool stack_full = false;      // set by a fault: the address is where the thread's stack would have to grow
  bool writes = false;          // the access that has failed
};

// "used address 0x10, where it has no memory (SIGSEGV)"; reads after "kernel".
std::string describe_fault(int signal, const FaultGuard& guard);

}  // namespace mneme::device::host
