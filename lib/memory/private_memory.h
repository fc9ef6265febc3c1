// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/stat.h>

#include <cstdint>

namespace mneme::memory {

// Which file a descriptor is of: applications close descriptors that are not theirs, and open others by their numbers.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int descriptor) : known_(::fstat(descriptor, &about_) == 0) {}
  bool is(int descriptor) const {
    struct stat now{};
    return known_ && ::fstat(descriptor, &now) == 0 && now.st_dev == about_.st_dev && now.st_ino == about_.st_ino;
  }

 private:
  struct stat about_{};
  bool known_ = false;
};

// For the child of a fork: memory at [address, address + size) that is shared with the parent becomes this process's
// own. `file` is what is mapped there, from `offset` on, and pages are copied when they are written; without one, -1,
// all is copied at once. False: the system refused, and it is shared still.
bool make_private(void* address, uint64_t size, int protection, int file, int64_t offset = 0);

// Copies what is not zero; `to` is zero already, and stays without memory where it can.
void copy_sparse(void* to, const void* from, uint64_t size);

}  // namespace mneme::memory
