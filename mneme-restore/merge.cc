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
      throw Error::of("recordings of device '{}' and of device '{}' cannot be merged", all.device, info.device);
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
    all.provenance.insert(all.provenance.end(), info.provenance.begin(), info.provenance.end());
  }
  return all;
}

void merge(bundle::Summary& into, const bundle::Summary& from) {
  for (const bundle::Occurrence& occurrence : from.occurrences) {
    auto known = std::find_if(into.occurrences.begin(), into.occurrences.end(),
                              [&](const bundle::Occurrence& o) { return o.instance == occurrence.instance; });
    if (known == into.occurrences.end()) {
      into.occurrences.push_back(occurrence);
    } else {
      known->count += occurrence.count;
    }
  }
  into.skipped.insert(into.skipped.end(), from.skipped.begin(), from.skipped.end());
  if (!into.application.empty() && !from.application.empty()) into.application += "; ";
  into.application += from.application;
  into.truncated = into.truncated || from.truncated;
  if (!from.totals) return;
  if (!into.totals) into.totals.emplace();
  for (const bundle::KernelCount& count : from.totals->kernels) {
    bundle::KernelCount& sum = into.totals->of(count.kernel);
    sum.launches += count.launches;
    sum.recorded += count.recorded;
  }
  into.totals->seen_bytes += from.totals->seen_bytes;
  into.totals->stored_bytes += from.totals->stored_bytes;
}

void Merge::take(const bundle::KernelMember& kernel) {
  if (kernels_.count(kernel.info.id)) return;
  bool selected = selection_.kernel(kernel.info);
  kernels_[kernel.info.id] = selected;
  if (!selected) return;
  if (selection_.selects_instances()) {
    waiting_[kernel.info.id].kernel = kernel;
    return;
  }
  for (Target* target : targets_) target->take(kernel);
}

void Merge::take(bundle::VariantMember variant) {
  if (!kernels_[variant.info.kernel]) return;
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
  }
}

void Merge::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  instance_in_hand_ = {};
  const Digest& id = instance.info.id;
  if (!kernels_[instance.info.kernel] || !selection_.instance(id)) return;
  auto [known, fresh] = instances_.try_emplace(id, variants_.size());
  if (!fresh) {
    // Code that comes behind the last launch is replayed with it.
    if (id == last_given_) known->second = variants_.size();
    if (latest_[instance.info.kernel] <= known->second) return;
    throw Error::of(
        "launch {} is in two of the files, and the later one has code for it that the other lacks: it would not be "
        "replayed with that. Merge what mneme-capture wrote, and compile the merged bundle",
        id.hex().substr(0, 12));
  }
  if (reader.info().memory == "none") {
    throw Error(
        "the bundle holds no memory to restore: it has been through mneme-run, which keeps it only if told so "
        "(--keep)");
  }
  instance_in_hand_ = last_given_ = id;
  give_kernel(instance.info.kernel);
  for (Target* target : targets_) target->take(instance, reader);
}

void Merge::take(const bundle::RunMember& run, const bundle::Reader& reader) {
  if (instance_in_hand_.empty() || run.info.instance != instance_in_hand_) return;
  for (Target* target : targets_) target->take(run, reader);
}

void Merge::take(bundle::Reader& reader) {
  latest_.clear();
  instance_in_hand_ = {};
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) take(*kernel);
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) take(std::move(*variant));
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) take(*instance, reader);
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) take(*run, reader);
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) merge(summary_, *summary);
  }
  if (reader.truncated()) summary_.truncated = truncated_ = true;
}

}  // namespace mneme::restore
