// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "merge.h"

#include <algorithm>

#include "base/error.h"

namespace mneme::restore {

bundle::BundleInfo merge(const std::vector<bundle::BundleInfo>& infos) {
  bundle::BundleInfo all = infos.at(0);
  for (size_t i = 1; i < infos.size(); i++) {
    const bundle::BundleInfo& info = infos[i];
    if (info.device != all.device) {
      throw Error::of(
          "recordings of device '{}' and of device '{}' cannot be merged: merge those of one device at a time",
          all.device, info.device);
    }
    for (const bundle::AddressRange& range : info.ranges) {
      auto known = std::find_if(all.ranges.begin(), all.ranges.end(), [&](const bundle::AddressRange& r) {
        return r.name == range.name && r.base == range.base;
      });
      if (known == all.ranges.end()) {
        all.ranges.push_back(range);
      } else {
        known->size = std::max(known->size, range.size);
      }
    }
    all.version = std::max(all.version, info.version);
    all.has_source = all.has_source || info.has_source;
    all.provenance.insert(all.provenance.end(), info.provenance.begin(), info.provenance.end());
  }
  return all;
}

void check_same(const bundle::KernelInfo& kernel, uint32_t argument_bytes) {
  if (kernel.argument_bytes == argument_bytes) return;
  throw Error::of("kernel {} is in two of the files, and is not the same in both: they cannot be merged",
                  kernel.id.hex().substr(0, 12));
}

void MergedSummary::add(const bundle::Summary& from) {
  for (const bundle::Occurrence& occurrence : from.occurrences) {
    auto [known, fresh] = occurrences_.try_emplace(occurrence.instance, sum_.occurrences.size());
    if (fresh) {
      sum_.occurrences.push_back(occurrence);
    } else {
      sum_.occurrences[known->second].count += occurrence.count;
    }
  }
  for (const bundle::Skipped& skipped : from.skipped) {
    auto [known, fresh] = skipped_.try_emplace({skipped.kernel, skipped.reason}, sum_.skipped.size());
    if (fresh) {
      sum_.skipped.push_back(skipped);
    } else {
      sum_.skipped[known->second].launches += skipped.launches;
    }
  }
  if (!sum_.application.empty() && !from.application.empty()) sum_.application += "; ";
  sum_.application += from.application;
  sum_.truncated = sum_.truncated || from.truncated;
  sum_.failed = sum_.failed || from.failed;
  if (!from.totals) return;
  if (!sum_.totals) sum_.totals.emplace();
  for (const bundle::KernelCount& count : from.totals->kernels) {
    bundle::KernelCount& sum = sum_.totals->of(count.kernel);
    sum.launches += count.launches;
    sum.recorded += count.recorded;
  }
  sum_.totals->seen_bytes += from.totals->seen_bytes;
  sum_.totals->stored_bytes += from.totals->stored_bytes;
}

bundle::KernelMember without_source(bundle::KernelMember kernel) {
  kernel.info.source_text = {};
  kernel.info.command.clear();
  kernel.source.clear();
  kernel.text.clear();  // is written anew
  return kernel;
}

void Merge::take(const bundle::KernelMember& given) {
  const bundle::KernelMember kernel = strips_source_ ? without_source(given) : given;
  if (auto known = kernels_.find(kernel.info.id); known != kernels_.end()) {
    return check_same(kernel.info, known->second.argument_bytes);
  }
  bool selected = selection_.kernel(kernel.info);
  kernels_[kernel.info.id] = {selected, kernel.info.argument_bytes};
  if (!selected) return;
  if (selection_.selects_instances()) {
    waiting_[kernel.info.id].kernel = kernel;
    return;
  }
  for (Target* target : targets_) target->take(kernel);
}

void Merge::take(bundle::VariantMember variant) {
  if (!kernels_[variant.info.kernel].selected) return;
  auto [known, fresh] = variants_.try_emplace(variant.info.id, variants_.size() + 1);
  size_t& latest = latest_[variant.info.kernel];
  latest = std::max(latest, known->second);
  if (!fresh) return left_out_.keep(std::move(variant));
  left_out_.make_whole(variant);
  if (auto waiting = waiting_.find(variant.info.kernel); waiting != waiting_.end()) {
    waiting->second.variants.push_back(std::move(variant));
    return;
  }
  for (Target* target : targets_) target->take(variant);
}

void Merge::give_kernel(const Digest& id) {
  auto waiting = waiting_.extract(id);
  if (!waiting) return;
  for (Target* target : targets_) {
    target->take(waiting.mapped().kernel);
    for (const bundle::VariantMember& variant : waiting.mapped().variants) target->take(variant);
    for (const bundle::ChoiceMember& choice : waiting.mapped().choices) target->take(choice);
  }
}

void Merge::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  instance_in_hand_ = {};
  if (!is_to_be_given(instance)) {
    for (Target* target : targets_) target->leave_out(instance, reader);
    return;
  }
  if (reader.info().memory == "none") {
    throw Error(
        "the bundle holds no memory to restore: it went through mneme-run, which drops it without --keep; "
        "mneme-restore --tuned reads such bundles");
  }
  instance_in_hand_ = last_given_ = instance.info.id;
  give_kernel(instance.info.kernel);
  for (Target* target : targets_) target->take(instance, reader);
}

bool Merge::is_to_be_given(const bundle::InstanceMember& instance) {
  const Digest& id = instance.info.id;
  if (!kernels_[instance.info.kernel].selected || !selection_.instance(id)) return false;
  auto [known, fresh] = instances_.try_emplace(id, variants_.size());
  if (fresh) return true;
  // Code that comes behind the last launch is replayed with it.
  if (id == last_given_) known->second = variants_.size();
  if (latest_[instance.info.kernel] <= known->second) return false;
  throw Error::of(
      "launch {} is in two of the files, and only the later one has some of its variants, which would not be "
      "replayed: merge the files that mneme-capture wrote, and compile the merged bundle",
      id.hex().substr(0, 12));
}

void Merge::take(const bundle::RunMember& run, const bundle::Reader& reader) {
  if (instance_in_hand_.empty() || run.info.instance != instance_in_hand_) return;
  for (Target* target : targets_) target->take(run, reader);
}

void Merge::take(const bundle::ChoiceMember& choice) {
  if (!kernels_[choice.info.kernel].selected || !choices_.insert(choice.info.id).second) return;
  if (auto waiting = waiting_.find(choice.info.kernel); waiting != waiting_.end()) {
    waiting->second.choices.push_back(choice);
    return;
  }
  for (Target* target : targets_) target->take(choice);
}

bundle::Summary Merge::summary() const {
  bundle::Summary summary = summary_.sum();
  summary.truncated = summary.truncated || truncated_;
  summary.failed = summary.failed || truncated_;
  return summary;
}

void Merge::take(bundle::Reader& reader) {
  latest_.clear();
  instance_in_hand_ = {};
  for (Target* target : targets_) target->begin(reader);
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) take(*kernel);
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) take(std::move(*variant));
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) take(*instance, reader);
    if (auto* pack = std::get_if<bundle::PackMember>(&*item)) {
      for (Target* target : targets_) target->take(std::move(*pack));
    }
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) take(*run, reader);
    if (auto* choice = std::get_if<bundle::ChoiceMember>(&*item)) take(*choice);
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) {
      summary_.add(*summary);
      failed_before_ = failed_before_ || (summary->failed && reader.piped());
    }
  }
  if (reader.truncated()) truncated_ = true;
}

}  // namespace mneme::restore
