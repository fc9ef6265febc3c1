// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bundle of the best verified variants, with the runs that prove them.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bundle/reader.h"
#include "bundle/writer.h"
#include "choosing.h"
#include "cli/stage.h"
#include "merge.h"
#include "replay/judge/judgement.h"

namespace mneme::restore {

// What bundle.json of the tuned bundle says. Unlike recordings, those of several devices go together.
bundle::BundleInfo merge_tuned(std::vector<bundle::BundleInfo> infos);

// Reads bundles with runs, and tuned bundles, and writes what is best. Of a bundle that has choices these are taken,
// and no run of it is judged again: what it lacks is what they were compared with.
class Tuned {
 public:
  // `reference`: as verify::Comparing takes it.
  Tuned(const cli::Selection& selection, verify::Rules rules, std::string reference)
      : selection_(selection), rules_(std::move(rules)), reference_(std::move(reference)) {}

  // Reads to the end. Throws Error.
  void take(bundle::Reader& reader);
  // After the last one: chooses, and warns of what is odd. Throws Error where nothing is to be written.
  void choose();
  const std::vector<bundle::Choice>& choices() const { return choices_; }
  // All but bundle.json and the archive's end.
  void write(bundle::Writer& writer) const;

  const std::string& truncation() const { return truncation_; }  // which inputs were cut short, and where; or empty
  bool failed_before() const { return failed_before_; }          // a tool that one of them comes from through a pipe

 private:
  using Pair = std::pair<Digest, Digest>;  // instance, variant
  // Of one input.
  struct Part {
    std::vector<verify::Row> rows;
    std::vector<bundle::ChoiceMember> choices;
    std::map<Pair, std::string> runs;  // their json, without blocks
    std::set<Digest> other_code;       // variants that an input before this one has with other code
  };

  void take(const bundle::KernelMember& kernel);
  void take(bundle::VariantMember variant, Part& part);
  void take(const bundle::InstanceMember& instance);
  void take(bundle::Reader& reader, Part& part);
  void judge(const Part& part);
  void judge(const verify::Row& row, const verify::Row* reference);
  std::set<Digest> chosen() const;  // variants
  bool proves(const bundle::InstanceInfo& instance, const Digest& variant) const;

  const cli::Selection& selection_;
  verify::Rules rules_;
  const std::string reference_;
  std::vector<Digest> kernel_order_, instance_order_, variant_order_;
  std::map<Digest, bundle::KernelMember> kernels_;  // selected ones
  std::map<Digest, bundle::VariantMember> variants_;
  std::map<Digest, bundle::InstanceMember> instances_;  // selected ones, without states
  std::map<Pair, std::string> runs_;                    // those that are verified
  Choosing choosing_;
  std::map<std::string, std::string> texts_;  // of choices made before, with unknown keys, by what write() gives
  std::vector<bundle::Choice> choices_;
  MergedSummary summary_;
  std::set<Digest> addresses_;  // kernels that are left out for their functions' addresses
  uint64_t judged_ = 0, without_reference_ = 0, other_code_ = 0;
  std::string truncation_;
  bool failed_before_ = false;
};

}  // namespace mneme::restore
