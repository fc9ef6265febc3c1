// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>

#include "base/file.h"

namespace mneme::capture {

// Where the processes of the application find this one: a socket in the abstract space, which ends at the border of a
// network namespace, and one in a folder of its own, which containers may share.
class Listener {
 public:
  Listener();  // throws Error

  // What tells a process of both (recorder/link/meeting_point.h).
  const std::string& address() const { return address_; }
  int abstract() const { return abstract_.get(); }
  int named() const { return named_.get(); }  // -1: there is no place for it
  // Nobody is let in any more; the folder is gone.
  void close();

 private:
  Fd abstract_, named_;
  std::optional<TemporaryFolder> folder_;
  std::string address_;
};

}  // namespace mneme::capture
