// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/reader.h"

namespace mneme::restore {

// What is done with the recordings that are restored. Each kernel comes once and before its instances.
class Target {
 public:
  virtual ~Target() = default;
  virtual void take(const bundle::KernelMember&) {}
  virtual void take(const bundle::VariantMember&) {}
  // `reader` gives the blocks of its states, during the call.
  virtual void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) = 0;
  virtual void take(const bundle::RunMember&, const bundle::Reader&) {}
};

}  // namespace mneme::restore
