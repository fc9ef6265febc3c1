// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/pack/queue.h"
#include "bundle_target.h"

namespace mneme::restore {

// What stays at hand in a merged bundle besides the memory of the instance before: as much as what a rank of a job has
// before and after a launch that uses 1 GiB.
inline constexpr uint64_t kKeptBytes = uint64_t{2} << 30;

// Writes a bundle whose memory is packs. Those of its inputs are passed on undecoded, raw memory is packed.
class PackTarget : public BundleTarget {
 public:
  explicit PackTarget(bundle::Writer& writer) : BundleTarget(writer), packs_(writer) {}

  using BundleTarget::take;
  void begin(bundle::Reader& reader) override;
  void take(bundle::PackMember&& pack) override;
  void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) override;
  void leave_out(const bundle::InstanceMember& instance, const bundle::Reader& reader) override;
  void take(const bundle::RunMember& run, const bundle::Reader& reader) override;

 private:
  bundle::PackQueue packs_;
};

}  // namespace mneme::restore
