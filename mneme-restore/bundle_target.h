// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/writer.h"
#include "target.h"

namespace mneme::restore {

// Writes a bundle whose memory is raw members.
class BundleTarget : public Target {
 public:
  explicit BundleTarget(bundle::Writer& writer) : writer_(writer) {}  // borrowed

  void take(const bundle::KernelMember& kernel) override;
  void take(const bundle::VariantMember& variant) override;
  void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) override;
  void take(const bundle::RunMember& run, const bundle::Reader& reader) override;
  void take(const bundle::ChoiceMember& choice) override;

 protected:
  void add_json(const bundle::RunMember& run);

  bundle::Writer& writer_;
};

}  // namespace mneme::restore
