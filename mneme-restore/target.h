// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/reader.h"

namespace mneme::restore {

// What is done with the recordings that are restored. Each kernel comes once and before its instances.
class Target {
 public:
  virtual ~Target() = default;
  virtual void begin(bundle::Reader&) {}  // another input: what comes from now on is read from it
  virtual void take(const bundle::KernelMember&) {}
  virtual void take(const bundle::VariantMember&) {}
  virtual void take(bundle::PackMember&&) {}  // where the reader gives them
  // `reader` gives the blocks of its states, during the call.
  virtual void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) = 0;
  // One that is passed over: what it cites, the next one may cite.
  virtual void leave_out(const bundle::InstanceMember&, const bundle::Reader&) {}
  virtual void take(const bundle::RunMember&, const bundle::Reader&) {}
  virtual void take(const bundle::ChoiceMember&) {}  // its variant came before
};

}  // namespace mneme::restore
