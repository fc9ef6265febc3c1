// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "bundle/reader.h"
#include "cli/checks.h"
#include "cli/stage.h"
#include "replay/judge/report.h"
#include "verify/pairing.h"

namespace mneme::verify {

struct Rules {
  std::vector<Override> overrides;
  std::optional<Kind> infer = {};  // tolerances where memory is not annotated, by errors of this kind
  Strictness strictness;
  cli::FindingOptions findings = {};  // which of them count
  bool lenient = false;               // what differs as much as it varies by itself passes
  bool algebra = false;               // nothing but runs with `algebra` is judged
};

// Judges the runs of the selected instances as a bundle streams by, and notices the runs that are missing.
class Judgement {
 public:
  // Given every row as it is known, with its instance's segments.
  using Take = std::function<void(Row, const std::vector<bundle::Segment>&)>;

  // All borrowed; which overrides were met is noted in them.
  Judgement(const bundle::Reader& reader, const cli::Selection& selection, Rules& rules, Take take)
      : reader_(reader), selection_(selection), rules_(rules), take_(std::move(take)) {}

  void take(const bundle::KernelMember& kernel);
  void take(const bundle::VariantMember& variant);
  void take(bundle::InstanceMember instance);
  void take(bundle::RunMember run);
  // Judges the runs with `algebra` of the instance in hand; while its blocks are there.
  void end_algebra();
  // After the last member. Missing runs of the instance in hand count only where the bundle is whole.
  void finish(bool whole);

  bool selected(const Digest& kernel) const { return kernels_.at(kernel).selected; }  // of one that was met
  uint64_t runs() const { return runs_; }                                             // met, of selected instances
  bool all_passed() const { return all_passed_; }
  // Those of them that have a baseline.
  uint64_t baselines() const { return baselines_; }
  // Selected instances that have no variant at all, by their kernels' names.
  const std::map<std::string, uint64_t>& uncompiled() const { return uncompiled_; }

 private:
  struct Kernel {
    bundle::KernelInfo info;
    bool selected = false;
  };

  const bundle::VariantInfo& variant_of(const Digest& variant) const;
  Row row(const Digest& variant) const;
  void give(Row row);
  void judge_findings(std::vector<bundle::Finding>& findings, Row& row) const;
  void leave_instance();

  const bundle::Reader& reader_;
  const cli::Selection& selection_;
  Rules& rules_;
  Take take_;
  std::map<Digest, Kernel> kernels_;
  std::map<Digest, bundle::VariantInfo> variants_;  // all
  Pairing pairing_;
  std::optional<bundle::InstanceInfo> instance_;  // in hand, if selected
  std::vector<Digest> expected_;                  // variants to be run on it, in order
  std::set<Digest> met_;                          // and those that were
  std::map<std::string, uint64_t> uncompiled_;
  std::vector<bundle::RunInfo> algebra_;  // of the instance in hand
  uint64_t runs_ = 0, baselines_ = 0;
  bool all_passed_ = true;
};

}  // namespace mneme::verify
