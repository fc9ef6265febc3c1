// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tuned.h"

#include <algorithm>

#include "base/error.h"
#include "bundle/adding.h"
#include "bundle/left_out_code.h"
#include "cli/options.h"
#include "replay/judge/comparing.h"
#include "replay/judge/overrides.h"
#include "verify/speedup.h"

namespace mneme::restore {
namespace {

// The run without the memory that it cites: as if mneme-run had been given --max-diff 0.
std::string without_blocks(bundle::RunMember run) {
  const bool baseline = run.info.baseline && !run.info.baseline->blocks.empty();
  if (run.info.blocks.empty() && !baseline) return std::move(run.text);
  if (!run.info.blocks.empty()) run.info.blocks_complete = false;
  if (baseline) run.info.baseline->blocks_complete = false;
  run.info.blocks.clear();
  if (baseline) run.info.baseline->blocks.clear();
  return bundle::write(run.info);
}

std::string name_of(const bundle::KernelInfo& kernel) {
  return kernel.demangled.empty() ? kernel.name : kernel.demangled;
}

// Whether a run says that its code is not to run in an application: it is wrong, or its stores leave the recorded
// memory where the baseline's do not.
bool refutes(const verify::Row& row, const verify::Row* reference) {
  return !row.passed || row.run->stray_bytes > (reference ? reference->run->stray_bytes : 0);
}

}  // namespace

bundle::BundleInfo merge_tuned(std::vector<bundle::BundleInfo> infos) {
  for (bundle::BundleInfo& info : infos) info.device = infos.front().device;
  bundle::BundleInfo all = merge(infos);
  all.memory = "none";
  return all;
}

void Tuned::take(const bundle::KernelMember& kernel) {
  auto [known, fresh] = kernels_.try_emplace(kernel.info.id, kernel);
  if (fresh) return kernel_order_.push_back(kernel.info.id);
  check_same(kernel.info, known->second.info.argument_bytes);
}

void Tuned::take(const bundle::InstanceMember& instance) {
  if (!kernels_.contains(instance.info.kernel) || !selection_.instance(instance.info.id)) return;
  bundle::InstanceMember kept{instance.info, {}, {}, instance.text};
  if (instances_.try_emplace(instance.info.id, std::move(kept)).second) instance_order_.push_back(instance.info.id);
}

// Another version of a compiler makes other code of the same configuration. Runs prove the code that they ran.
void Tuned::take(bundle::VariantMember variant, Part& part) {
  const Digest id = variant.info.id, code = variant.info.code_digest;
  auto [known, fresh] = variants_.try_emplace(id, std::move(variant));
  if (fresh) return variant_order_.push_back(id);
  if (known->second.info.code_digest != code) part.other_code.insert(id);
}

void Tuned::take(bundle::Reader& reader, Part& part) {
  verify::Comparing comparing(reference_, 0, [&](verify::Row row, const std::vector<bundle::Segment>&) {
    part.rows.push_back(std::move(row));
  });
  verify::Judgement judgement(
      reader, selection_, rules_,
      [&](verify::Row row, const std::vector<bundle::Segment>& segments) { comparing.take(std::move(row), segments); });
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) {
      judgement.take(*kernel);
      if (judgement.selected(kernel->info.id)) take(*kernel);
    }
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) {
      judgement.take(*variant);
      if (judgement.selected(variant->info.kernel)) take(std::move(*variant), part);
    }
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) {
      take(*instance);
      judgement.take(std::move(*instance));
    }
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) {
      judgement.take(bundle::RunMember{run->info, {}});
      part.runs.try_emplace({run->info.instance, run->info.variant}, without_blocks(std::move(*run)));
    }
    if (auto* choice = std::get_if<bundle::ChoiceMember>(&*item)) {
      if (judgement.selected(choice->info.kernel)) part.choices.push_back(std::move(*choice));
    }
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) {
      summary_.add(*summary);
      failed_before_ = failed_before_ || (summary->failed && reader.piped());
    }
  }
  judgement.finish(/*whole=*/false);  // of runs that are missing nothing is known
  comparing.finish();
  judged_ += judgement.runs();
}

void Tuned::take(bundle::Reader& reader) {
  Part part;
  take(reader, part);
  if (reader.truncated()) truncation_ += (truncation_.empty() ? "" : "; ") + reader.truncation();
  other_code_ += part.other_code.size();
  judge(part);
}

void Tuned::judge(const Part& part) {
  if (!part.choices.empty()) {
    for (const auto& [pair, run] : part.runs) {
      if (!part.other_code.contains(pair.second)) runs_.try_emplace(pair, run);
    }
    for (const bundle::ChoiceMember& choice : part.choices) {
      if (part.other_code.contains(choice.info.variant)) continue;
      choosing_.add(choice.info);
      texts_.try_emplace(bundle::write(choice.info), choice.text);
    }
    return;
  }
  for (auto row = part.rows.begin(); row != part.rows.end();) {
    const auto next =
        std::find_if(row, part.rows.end(), [&](const verify::Row& other) { return other.instance != row->instance; });
    const auto reference = std::find_if(
        row, next, [](const verify::Row& one) { return one.comparison && one.comparison->reference == one.variant; });
    const bool was_run = std::any_of(row, next, [](const verify::Row& one) { return one.run.has_value(); });
    without_reference_ += was_run && reference == next;
    for (; row != next; ++row) {
      if (!row->run || part.other_code.contains(row->variant)) continue;  // nothing is known of it
      const Pair pair(row->instance, row->variant);
      if (row->passed) runs_.try_emplace(pair, part.runs.at(pair));
      judge(*row, reference == next ? nullptr : &*reference);
    }
  }
}

void Tuned::judge(const verify::Row& row, const verify::Row* reference) {
  const bundle::KernelInfo& kernel = kernels_.at(row.kernel).info;
  if (!kernel.function_addresses.empty()) {
    addresses_.insert(row.kernel);
    return;
  }
  // One with another's code was not executed, and that other one stands for both.
  if (row.configuration.check_memory || row.configuration.algebra || row.configuration.baseline || !row.run->same_as.empty()) return;
  if (row.run->device != row.configuration.target.substr(0, row.configuration.target.find(':'))) return;
  const bundle::InstanceInfo& instance = instances_.at(row.instance).info;
  bundle::Choice choice;
  try {
    choice = choice_for(kernel, instance, row.variant, row.configuration);
  } catch (const Error&) {
    if (row.passed) throw;
    return;  // it cannot be launched for this instance, which is why its run failed
  }
  if (refutes(row, reference)) return choosing_.refute(choice);
  if (!row.comparison || !reference || &row == reference || row.comparison->outcome == "same code") return;
  choosing_.prove(choice, {row.instance, reference->run->nanoseconds, row.run->nanoseconds, row.run->rounds,
                           row.launch_changed_memory});
}

bool Tuned::proves(const bundle::InstanceInfo& instance, const Digest& variant) const {
  return runs_.contains({instance.id, variant}) && std::ranges::any_of(choices_, [&](const bundle::Choice& choice) {
           return choice.variant == variant && has_key(instance, choice);
         });
}

std::set<Digest> Tuned::chosen() const {
  std::set<Digest> variants;
  for (const bundle::Choice& choice : choices_) variants.insert(choice.variant);
  return variants;
}

void Tuned::choose() {
  choices_ = choosing_.best();
  if (selection_.selects_instances()) {
    std::erase_if(choices_, [&](const bundle::Choice& choice) {
      return std::ranges::none_of(instances_, [&](const auto& one) { return has_key(one.second.info, choice); });
    });
  }
  for (const Digest& id : kernel_order_) {
    if (!addresses_.contains(id)) continue;
    cli::warn(fmt::format(
        "kernel '{}' is left out: its code has addresses of functions of the program that was recorded, and another "
        "process may have these functions elsewhere",
        name_of(kernels_.at(id).info)));
  }
  if (const uint64_t count = choosing_.little_proven(); count > 0) {
    cli::warn(fmt::format(
        "{} faster variant(s) are left out: they are verified only on launches that change no memory, as code that "
        "does nothing would be; record other launches",
        count));
  }
  if (other_code_ > 0) {
    cli::warn(fmt::format(
        "{} variant(s) are in two of the files with other code: that of the first counts, with its runs", other_code_));
  }
  if (without_reference_ > 0) {
    cli::warn(fmt::format("{} instance(s) have no verified times of the baseline: nothing is chosen there",
                          without_reference_));
  }
  const auto few = std::ranges::count_if(choices_, [](const bundle::Choice& choice) { return choice.low == 0; });
  if (few > 0) {
    cli::warn(fmt::format(
        "{} choice(s) rest on fewer than {} rounds, which may be noise: mneme-run --rounds 15 measures intervals", few,
        verify::Speedup::kFewestRounds));
  }
  if (judged_ > 0) verify::check_met(rules_.overrides);
  if (!choices_.empty() || failed_before_) return;
  if (judged_ == 0 && truncation_.empty()) {
    throw Error("nothing is tuned because nothing was run: put mneme-run before mneme-restore --tuned");
  }
  throw Error::of(
      "{}nothing is tuned: no variant is verified and faster than the baseline on any launch, so the application's own "
      "code stays",
      truncation_.empty() ? "" : truncation_ + "; ");
}

void Tuned::write(bundle::Writer& writer) const {
  const std::set<Digest> variants = chosen();
  for (const Digest& id : kernel_order_) {
    if (std::ranges::find(choices_, id, &bundle::Choice::kernel) == choices_.end()) continue;
    bundle::add(writer, kernels_.at(id));
    for (const Digest& variant : variant_order_) {
      const bundle::VariantMember& member = variants_.at(variant);
      if (member.info.kernel != id || !variants.contains(variant)) continue;
      bundle::LeftOutCode left_out;
      if (auto holder = variants_.find(member.info.same_as);
          holder != variants_.end() && !variants.contains(holder->first))
        left_out.keep(holder->second);
      bundle::VariantMember whole = member;
      left_out.make_whole(whole);
      bundle::add(writer, whole);
    }
  }
  bundle::Summary summary = summary_.sum();
  std::set<Digest> written;
  for (const Digest& id : instance_order_) {
    const bundle::InstanceMember& instance = instances_.at(id);
    for (const Digest& variant : variant_order_) {
      if (!variants.contains(variant) || !proves(instance.info, variant)) continue;
      if (written.insert(id).second) writer.add(bundle::instance_name(instance.info.kernel, id), instance.text);
      writer.add(bundle::run_name(instance.info.kernel, id, variant), runs_.at({id, variant}));
    }
  }
  for (const bundle::Choice& choice : choices_) {
    const std::string json = bundle::write(choice);
    const auto before = texts_.find(json);
    writer.add(bundle::choice_name(choice.kernel, choice.id), before == texts_.end() ? json : before->second);
  }
  std::erase_if(summary.occurrences, [&](const bundle::Occurrence& one) { return !written.contains(one.instance); });
  summary.truncated = summary.truncated || !truncation_.empty();
  summary.failed = summary.failed || !truncation_.empty();
  writer.add(std::string(bundle::kSummaryMember), bundle::write(summary));
}

}  // namespace mneme::restore
