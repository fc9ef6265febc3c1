// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>

#include "bundle_target.h"

namespace mneme::restore {

// Writes the bundle that a program replays: its memory is packed, and runs that were made before are left out.
class ProgramTarget : public BundleTarget {
 public:
  using BundleTarget::BundleTarget;

  void take(const bundle::KernelMember& kernel) override;
  void take(const bundle::VariantMember& variant) override;
  void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) override;
  void take(const bundle::RunMember&, const bundle::Reader&) override {}

  // Warns of kernels that the program cannot run, having no variant of them. Throws Error when that is all.
  void check_variants() const;

 private:
  struct Kernel {
    std::string name;
    bool has_variant = false;
    uint64_t instances = 0;
  };
  std::map<Digest, Kernel> kernels_;
};

}  // namespace mneme::restore
