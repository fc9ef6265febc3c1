// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "target.h"

namespace mneme::restore {

// Writes files for people and their scripts:
//   kernels/<static>/kernel.json kernel.bc (or what ran: kernel.cubin, kernel.ptx)
//   instances/<dynamic>/instance.json arguments.raw prologue/<segment>.raw epilogue/<segment>.raw
class DumpTarget : public Target {
 public:
  // Makes the folder. Throws Error when it is there already and not empty.
  explicit DumpTarget(std::string folder);

  void take(const bundle::KernelMember& kernel) override;
  void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) override;

 private:
  std::string folder_;
};

}  // namespace mneme::restore
