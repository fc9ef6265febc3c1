// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace mneme::capture {
namespace {

constexpr uint64_t kPage = 4096;

// How many were read; fewer than asked for where a page is not there.
ssize_t read_some(pid_t process, uint64_t address, uint64_t size, std::byte* out) {
  iovec here{out, size};
  iovec there{reinterpret_cast<void*>(address), size};
  return ::process_vm_readv(process, &here, 1, &there, 1, 0);
}

}  // namespace

bool can_read(pid_t process, uint64_t address, const void* expected, uint64_t size) {
  if (process <= 0) return false;
  std::string found(size, '\0');
  ssize_t got = read_some(process, address, size, reinterpret_cast<std::byte*>(found.data()));
  return got == static_cast<ssize_t>(size) && std::memcmp(found.data(), expected, size) == 0;
}

void read_memory(pid_t process, uint64_t address, uint64_t size, std::byte* out) {
  while (size > 0) {
    ssize_t got = read_some(process, address, size, out);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ESRCH) throw ProcessGone();
    if (got < 0 && errno != EFAULT) throw system_error("cannot read the application's memory");
    uint64_t done = static_cast<uint64_t>(std::max<ssize_t>(got, 0));
    if (got <= 0) {
      done = std::min(size, kPage - address % kPage);
      std::memset(out, 0, done);
    }
    address += done;
    out += done;
    size -= done;
  }
}

}  // namespace mneme::capture
