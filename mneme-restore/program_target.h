// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bundle_target.h"
#include "compile_on_demand.h"

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

  // Those that it can run.
  std::vector<Compiled> compiled() const;

 private:
  struct Kernel {
    Compiled compiled;
    uint64_t instances = 0;

    bool has_variant() const { return !compiled.targets.empty(); }
    const std::string& name() const;
  };
  std::map<Digest, Kernel> kernels_;
};

}  // namespace mneme::restore
