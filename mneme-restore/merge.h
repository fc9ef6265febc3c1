// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bundle/left_out_code.h"
#include "bundle/reader.h"
#include "cli/stage.h"
#include "target.h"

namespace mneme::restore {

// What bundle.json of the merged bundle says: the addresses of all inputs, and where each came from. Throws Error when
// they were recorded on different devices.
bundle::BundleInfo merge(const std::vector<bundle::BundleInfo>& infos);

// A kernel that came before with arguments of so many bytes. Throws Error unless it is the same.
void check_same(const bundle::KernelInfo& kernel, uint32_t argument_bytes);

// What summary.json of the merged bundle says: the counts of all inputs.
class MergedSummary {
 public:
  void add(const bundle::Summary& from);
  const bundle::Summary& sum() const { return sum_; }

 private:
  bundle::Summary sum_;
  std::unordered_map<Digest, size_t> occurrences_;                 // where each instance's is
  std::map<std::pair<std::string, std::string>, size_t> skipped_;  // likewise, by kernel and reason
};

// The kernel without its source, and without the command that compiled it.
bundle::KernelMember without_source(bundle::KernelMember kernel);

// Gives several bundles' selected recordings to targets, one bundle after another, everything once: what occurs again
// is dropped, an instance together with its runs. Throws Error where more would be lost: a launch that occurs again,
// with code of its kernel that came behind it and another launch.
class Merge {
 public:
  Merge(const cli::Selection& selection, std::vector<Target*> targets, bool strips_source = false)  // borrowed
      : selection_(selection), targets_(std::move(targets)), strips_source_(strips_source) {}

  // Reads to the end.
  void take(bundle::Reader& reader);
  bundle::Summary summary() const;
  bool truncated() const { return truncated_; }          // one of the inputs was cut short
  bool failed_before() const { return failed_before_; }  // a tool that one of them comes from through a pipe
  uint64_t instances() const { return instances_.size(); }

 private:
  struct Waiting {
    bundle::KernelMember kernel;
    std::vector<bundle::VariantMember> variants;
    std::vector<bundle::ChoiceMember> choices;
  };

  void take(const bundle::KernelMember& kernel);
  void take(bundle::VariantMember variant);
  void give_kernel(const Digest& id);
  void take(const bundle::InstanceMember& instance, const bundle::Reader& reader);
  // Whether it is selected and has not been given before. Throws Error where code of it would be lost.
  bool is_to_be_given(const bundle::InstanceMember& instance);
  void take(const bundle::RunMember& run, const bundle::Reader& reader);
  void take(const bundle::ChoiceMember& choice);

  const cli::Selection& selection_;
  std::vector<Target*> targets_;
  bool strips_source_ = false;
  struct Kernel {
    bool selected = false;
    uint32_t argument_bytes = 0;
  };
  std::map<Digest, Kernel> kernels_;    // all
  std::map<Digest, Waiting> waiting_;   // for a selected instance: without one, a kernel is left out
  std::map<Digest, size_t> variants_;   // and their numbers, from 1 on, as they came
  std::map<Digest, size_t> instances_;  // and how many variants had come before
  std::set<Digest> choices_;
  bundle::LeftOutCode left_out_;     // of variants that came before
  std::map<Digest, size_t> latest_;  // of the bundle that is read: the last variant of each kernel, by its number
  Digest last_given_;                // instance
  Digest instance_in_hand_;          // empty while one is passed over
  MergedSummary summary_;
  bool truncated_ = false, failed_before_ = false;
};

}  // namespace mneme::restore
