// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace mneme::capture {

// Whether this process may read the other's memory: a debugger's right, which the system may have taken away (Yama,
// containers, a process that is not to be dumped). Tried by reading `size` bytes at `address`, which are to be
// `expected`.
bool can_read(pid_t process, uint64_t address, const void* expected, uint64_t size);

class ProcessGone : public Error {
 public:
  ProcessGone() : Error("the application has ended") {}
};

// Bytes of another process's memory, at `address` there; zeros where it has no memory that can be read. Throws
// ProcessGone, or Error when the process may not be read.
void read_memory(pid_t process, uint64_t address, uint64_t size, std::byte* out);

}  // namespace mneme::capture
