// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/judgement.h"

#include <algorithm>

#include "base/error.h"
#include "bundle/launch.h"
#include "replay/judge/algebra.h"
#include "replay/judge/occupancy.h"
#include "verify/baseline.h"

namespace mneme::verify {
namespace {

// Memory is compared with that which the recorded launch left. Another launch leaves the same only where the kernel is
// made for that: the likeliest reason, which comes first.
void explain_launch(const bundle::InstanceInfo& instance, const bundle::Configuration& configuration,
                    std::vector<std::string>& reasons) {
  try {
    if (!bundle::launches_otherwise(instance, configuration)) return;
  } catch (const Error&) {
    return;  // it was not launched at all, and the run says why
  }
  bundle::LaunchSize size = bundle::launch_size(instance, configuration);
  reasons.insert(
      reasons.begin(),
      fmt::format(
          "it ran with the grid {}, the block {} and {} bytes of dynamic shared memory in place of the recorded "
          "{}, {} and {}: that verifies only where the kernel's results do not depend on them",
          bundle::text_of(size.grid), bundle::text_of(size.block), size.shared_bytes, bundle::text_of(instance.grid),
          bundle::text_of(instance.block), instance.shared_bytes));
}

// The host device and AMD's GPUs agree in all bits but for some mathematical functions.
void explain_functions(const std::string& recorded_on, const std::string& ran_on,
                       const std::vector<std::string>& replaced, std::vector<std::string>& reasons) {
  if (replaced.empty() || (recorded_on == "host") == (ran_on == "host")) return;
  reasons.push_back(fmt::format(
      "it was {}: the likely reason is that the host device computes {} with other code, whose last bits differ; "
      "annotate the memory with a tolerance",
      ran_on == "host" ? "recorded on a GPU and ran on the host device"
                       : "recorded on the host device and ran on a GPU",
      fmt::join(replaced, ", ")));
}

}  // namespace

void Judgement::take(const bundle::KernelMember& kernel) {
  kernels_.insert_or_assign(kernel.info.id, Kernel{kernel.info, selection_.kernel(kernel.info)});
}

void Judgement::take(const bundle::VariantMember& variant) {
  const Digest& id = variant.info.id;
  bool selected = kernels_.at(variant.info.kernel).selected;
  variants_.insert_or_assign(id, variant.info);
  if (variant.info.configuration.baseline) return;  // it is not run
  const Digest& only = variant.info.configuration.instance;
  if (selected && pairing_.variant(variant.info.kernel, id, only) && instance_) expected_.push_back(id);
}

void Judgement::take(bundle::InstanceMember instance) {
  leave_instance();
  bool selected = kernels_.at(instance.info.kernel).selected;
  if (!selected || !selection_.instance(instance.info.id)) {
    pairing_.none_in_hand();
    return;
  }
  instance_ = std::move(instance.info);
  expected_ = pairing_.instance(instance_->kernel, instance_->id);
}

const bundle::VariantInfo& Judgement::variant_of(const Digest& variant) const {
  auto found = variants_.find(variant);
  if (found == variants_.end() || found->second.kernel != instance_->kernel) {
    throw Error::of("a run of instance {} is of variant {}, which the bundle lacks", instance_->id.hex(),
                    variant.hex());
  }
  return found->second;
}

Row Judgement::row(const Digest& variant) const {
  const bundle::KernelInfo& info = kernels_.at(instance_->kernel).info;
  const bundle::VariantInfo& how = variant_of(variant);
  return {info.id,
          info.demangled.empty() ? info.name : info.demangled,
          instance_->id,
          variant,
          how.configuration,
          how.form,
          std::nullopt,
          {},
          false,
          how.resources,
          occupancy(how, *instance_)};
}

void Judgement::give(Row row) {
  row.launch_changed_memory = instance_->prologue != instance_->epilogue;
  row.passed = row.verdict.status == Status::kVerified || (rules_.lenient && row.verdict.status == Status::kVaries);
  all_passed_ = all_passed_ && row.passed;
  take_(std::move(row), instance_->segments);
}

void Judgement::take(bundle::RunMember run) {
  if (!instance_ || run.info.instance != instance_->id || run.info.kernel != instance_->kernel) {
    if (!instance_ && !selection_.everything()) return;
    throw Error::of("a run of instance {} does not follow its instance", run.info.instance.hex());
  }
  met_.insert(run.info.variant);
  const bool is_algebra = variant_of(run.info.variant).configuration.algebra;
  if (!is_algebra && rules_.algebra) return;
  runs_++;
  if (is_algebra) {
    algebra_.push_back(std::move(run.info));
    return;
  }
  baselines_ += has_baseline(run.info);
  Row out = row(run.info.variant);
  const std::vector<bundle::StoreType>& stores = variants_.at(run.info.variant).stores;
  std::vector<Choice> choices = choose(*instance_, stores, rules_.overrides, rules_.infer);
  name_arguments(*instance_, kernels_.at(run.info.kernel).info.arguments, choices);
  out.verdict = judge(
      *instance_, run.info, stores, std::move(choices), [this](const Digest& digest) { return reader_.block(digest); },
      rules_.strictness);
  if (out.verdict.status == Status::kNotVerified) {
    explain_launch(*instance_, out.configuration, out.verdict.reasons);
    explain_functions(reader_.info().device, run.info.device, variants_.at(run.info.variant).replaced,
                      out.verdict.reasons);
  }
  judge_findings(run.info.findings, out);
  out.run = std::move(run.info);
  out.run->blocks = {};
  if (out.run->baseline) out.run->baseline->blocks = {};
  give(std::move(out));
}

void Judgement::end_algebra() {
  if (algebra_.empty()) return;
  auto is_plain = [&](const bundle::RunInfo& run) {
    return is_algebra_reference(variant_of(run.variant).configuration);
  };
  auto reference = std::ranges::find_if(algebra_, is_plain);
  const bundle::RunInfo* with = nullptr;
  if (reference != algebra_.end()) {
    std::rotate(algebra_.begin(), reference, reference + 1);  // it comes first
    with = &algebra_.front();
  }
  for (const bundle::RunInfo& run : algebra_) {
    Row out = row(run.variant);
    out.verdict = judge_algebra(*instance_, with, run, has_short_numbers(variant_of(run.variant).stores),
                                [this](const Digest& digest) { return reader_.block(digest); });
    const bool same = out.verdict.status == Status::kVerified;
    if (run.status == "completed" && with) {
      out.algebra = &run == with ? kReferenceComputation : same ? kSameComputation : kOtherComputation;
    }
    out.run = run;
    out.run->blocks = {};
    give(std::move(out));
  }
  algebra_.clear();
}

// The kernel's memory may be right this time.
void Judgement::judge_findings(std::vector<bundle::Finding>& findings, Row& row) const {
  rules_.findings.drop_unwanted(findings, row.name);
  for (const bundle::Finding& finding : findings) {
    if (finding.lesser) continue;
    if (row.verdict.status != Status::kFailed) row.verdict.status = Status::kNotVerified;
    row.verdict.reasons.push_back(bundle::sentence_of(finding));
  }
}

void Judgement::leave_instance() {
  if (!instance_) return;
  end_algebra();
  for (const Digest& variant : expected_) {
    if (met_.count(variant) || (rules_.algebra && !variant_of(variant).configuration.algebra)) continue;
    Row missing = row(variant);
    missing.verdict = {
        Status::kNotVerified,
        {"it was not run: put mneme-run before mneme-verify, and give both the same --kernel and --instance"}};
    give(std::move(missing));
  }
  if (expected_.empty() && met_.empty()) {
    const bundle::KernelInfo& info = kernels_.at(instance_->kernel).info;
    uncompiled_[info.demangled.empty() ? info.name : info.demangled]++;
  }
  instance_.reset();
  expected_.clear();
  met_.clear();
}

void Judgement::finish(bool whole) {
  if (whole) leave_instance();
  instance_.reset();
}

}  // namespace mneme::verify
