// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/stat.h>

#include <utility>

#include "base/file.h"

namespace mneme::record {

// A descriptor of ours in an application that may close all there are, and open its own by the same numbers: what is
// the application's is neither used nor closed.
class KeptDescriptor {
 public:
  KeptDescriptor() = default;
  explicit KeptDescriptor(Fd descriptor) : descriptor_(std::move(descriptor)) { identify(about_); }
  KeptDescriptor(KeptDescriptor&&) = default;
  KeptDescriptor& operator=(KeptDescriptor&&) = delete;
  ~KeptDescriptor() {
    if (get() < 0) descriptor_.release();
  }

  // There is one, or was until the application closed it.
  explicit operator bool() const { return static_cast<bool>(descriptor_); }
  int get() const {  // -1: it was closed
    struct stat now{};
    bool same = identify(now) && now.st_dev == about_.st_dev && now.st_ino == about_.st_ino;
    return same ? descriptor_.get() : -1;
  }

 private:
  bool identify(struct stat& about) const { return descriptor_ && ::fstat(descriptor_.get(), &about) == 0; }

  Fd descriptor_;
  struct stat about_{};
};

}  // namespace mneme::record
