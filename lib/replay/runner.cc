// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/runner.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "objects/lifted_kernels.h"
#include "replay/outcomes.h"

namespace mneme::run {
namespace {

std::string short_hash(const Digest& digest) { return digest.hex().substr(0, 12); }

// Where a variant's code runs: the word before the colon in "host:x86-64-v3".
std::string device_of(const bundle::VariantInfo& variant) {
  const std::string& target = variant.configuration.target;
  return target.substr(0, target.find(':'));
}

// Why it does not run there; empty: it does. Only of kernels with IR, or PTX, there is code for any device.
std::string why_elsewhere(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant,
                          const std::string& device) {
  if (has_ir(kernel) || objects::has_ptx(kernel) || device == device_of(variant)) return {};
  const std::string target = variant.configuration.target.substr(variant.configuration.target.find(':') + 1);
  return fmt::format("it has neither IR nor PTX, and its code is for an NVIDIA GPU, {}: it runs with --device cuda",
                     target);
}

}  // namespace

Runner::Runner(const bundle::Reader& reader, bundle::Writer& writer, const cli::Selection& selection,
               RunnerOptions options)
    : reader_(reader), writer_(writer), selection_(selection), options_(std::move(options)) {
  if (options_.device != "auto") process(options_.device).start();  // while all else is still on its way
}

std::string Runner::device_for(const bundle::VariantInfo& variant) const {
  return options_.device == "auto" ? device_of(variant) : options_.device;
}

WorkerProcess& Runner::process(const std::string& device) {
  std::vector<device::BlockRange> ranges = device::device_ranges(reader_.info());
  return processes_.try_emplace(device, device, options_.settings, std::move(ranges), options_.timeout, options_.worker)
      .first->second;
}

const std::string& Runner::name(const Digest& kernel) const {
  const bundle::KernelInfo& info = kernels_.at(kernel).info;
  return info.demangled.empty() ? info.name : info.demangled;
}

void Runner::take(bundle::KernelMember kernel) {
  bool selected = selection_.kernel(kernel.info);
  Digest id = kernel.info.id;
  kernels_.insert_or_assign(id, Kernel{std::move(kernel.info), selected});
}

void Runner::take(bundle::VariantMember variant) {
  if (!kernels_.at(variant.info.kernel).selected) return;
  if (variant.info.configuration.baseline) {
    std::pair place(variant.info.kernel, device_of(variant.info));
    if (options_.settings.baseline > 0) baselines_.try_emplace(std::move(place), std::move(variant));
    return;
  }
  Digest id = variant.info.id;
  auto [place, fresh] = variants_.try_emplace(id, std::move(variant));
  if (!fresh) return;
  if (place->second.info.has_code_member()) process(device_for(place->second.info)).start();
  // An instance in hand that is not selected was not shown to pairing_.
  const Digest& only = place->second.info.configuration.instance;
  if (!pairing_.variant(place->second.info.kernel, id, only) || !instance_) return;
  if (uint64_t& waiting = waiting_[place->second.info.kernel]; instance_waits_) waiting--;
  instance_waits_ = false;
  run(place->second);
}

void Runner::take(bundle::InstanceMember instance) {
  workers_.clear();
  instance_.reset();
  executed_.clear();
  bool selected = kernels_.at(instance.info.kernel).selected;
  if (!selected || !selection_.instance(instance.info.id)) {
    pairing_.none_in_hand();
    return;
  }
  if (reader_.info().memory == "none") {
    throw Error::of(
        "the bundle holds no memory to replay from: it went through mneme-run, which drops it without "
        "--keep");
  }
  if (!instance.info.missing.empty() && !options_.force) {
    refuse(instance.info);
    return;
  }
  instances_++;
  instance_ = std::move(instance);
  std::vector<Digest> variants = pairing_.instance(instance_->info.kernel, instance_->info.id);
  instance_waits_ = variants.empty();
  if (instance_waits_) waiting_[instance_->info.kernel]++;
  for (const Digest& id : variants) run(variants_.at(id));
}

void Runner::refuse(const bundle::InstanceInfo& instance) {
  pairing_.none_in_hand();
  refused_++;
  cli::warn(fmt::format("kernel '{}', instance {}, is not complete and not run: {}; --force runs it all the same",
                        name(instance.kernel), short_hash(instance.id), fmt::join(instance.missing, "; ")));
}

void Runner::run(const bundle::VariantMember& variant) {
  const bundle::KernelInfo& kernel = kernels_.at(instance_->info.kernel).info;
  progress_.show(fmt::format("{} runs of {} instances made, now {} {}", runs_, instances_, name(kernel.id),
                             short_hash(instance_->info.id)));
  if (variant.info.has_code_member()) {
    execute(variant);
  } else if (variant.info.failed.empty() || options_.verbose) {  // mneme-compile has said why one failed
    report(run_without_code(variant.info));
  }
  first_round_.push_back(&variant);
  if (options_.rounds == 1) end_instance();
  runs_++;
}

// What changes while time goes by, as clock rates and other load do, is to meet all variants alike: they take turns,
// and who comes first in one round comes last in the next.
void Runner::end_instance() {
  std::vector<const bundle::VariantMember*> order;
  std::ranges::copy_if(first_round_, std::back_inserter(order),
                       [](const bundle::VariantMember* variant) { return variant->info.has_code_member(); });
  for (uint32_t round = 1; round < options_.rounds && !order.empty(); ++round) {
    progress_.show(fmt::format("{} runs made, round {} of {} on {}", runs_, round + 1, options_.rounds,
                               short_hash(instance_->info.id)));
    std::ranges::reverse(order);
    for (const bundle::VariantMember* variant : order) execute_again(*variant);
  }
  for (const bundle::VariantMember* variant : first_round_) {
    const bundle::VariantInfo& info = variant->info;
    bundle::RunInfo run = info.has_code_member() ? executed_.at(info.id) : run_without_code(info);
    writer_.add(bundle::run_name(run.kernel, run.instance, run.variant), bundle::write(run));
    release(info);
  }
  first_round_.clear();
}

// Of a search that is fed line by line there are thousands of variants, each run once.
void Runner::release(const bundle::VariantInfo& variant) {
  bool runs_again = variant.configuration.instance.empty() && !selection_.selects_instances();
  if (!runs_again) std::string().swap(variants_.at(variant.id).code);
}

// One that could not be compiled has failed; one with another's code has done what that did, and the blocks that it
// cites are there.
bundle::RunInfo Runner::run_without_code(const bundle::VariantInfo& variant) const {
  bundle::RunInfo run;
  if (variant.failed.empty()) {
    run = executed_.at(variant.same_as);
    run.same_as = variant.same_as;
  } else {
    run.kernel = variant.kernel;
    run.instance = instance_->info.id;
    run.device = device_for(variant);
    run.status = "failed";
    run.reason = "it was not compiled: " + variant.failed;
  }
  run.variant = variant.id;
  return run;
}

const bundle::VariantMember* Runner::baseline(const Digest& kernel, const std::string& device) const {
  auto found = baselines_.find({kernel, device});
  if (found == baselines_.end()) found = baselines_.lower_bound({kernel, ""});
  return found != baselines_.end() && found->first.first == kernel ? &found->second : nullptr;
}

void Runner::execute(const bundle::VariantMember& variant) {
  const bundle::KernelInfo& kernel = kernels_.at(instance_->info.kernel).info;
  std::string device = device_for(variant.info);
  if (std::string reason = why_elsewhere(kernel, variant.info, device); !reason.empty()) {
    bundle::RunInfo run;
    run.kernel = kernel.id;
    run.instance = instance_->info.id;
    run.variant = variant.info.id;
    run.device = device;
    run.status = "failed";
    run.reason = reason;
    report(run);
    executed_[variant.info.id] = std::move(run);
    return;
  }
  Worker::Task task{kernel, *instance_, [this](const Digest& digest) { return reader_.block(digest); },
                    baseline(kernel.id, device)};
  Worker& worker = workers_.try_emplace(device, std::move(task), process(device)).first->second;
  bool measured = worker.baseline().has_value();
  Worker::Outcome outcome = worker.run(variant);
  if (worker.baseline() && !measured) report(*worker.baseline());
  store_blocks(worker, outcome);
  options_.findings.drop_unwanted(outcome.run.findings, name(kernel.id));
  report(outcome.run);
  executed_[variant.info.id] = std::move(outcome.run);
}

void Runner::execute_again(const bundle::VariantMember& variant) {
  bundle::RunInfo& run = executed_.at(variant.info.id);
  if (run.status == "failed") return;
  Worker& worker = workers_.at(device_for(variant.info));
  Worker::Outcome outcome = worker.run(variant);
  if (run.differences.empty()) store_blocks(worker, outcome);
  join(run, std::move(outcome.run));
  if (run.status == "failed") report(run);
}

// Writes the blocks that a run cites, which have to be there before it.
void Runner::store_blocks(const Worker& worker, const Worker::Outcome& outcome) {
  std::vector<bundle::Writer::LooseBlock> blocks;
  std::map<Digest, bool> listed;
  auto add = [&](const Digest& digest) {
    if (digest == bundle::zero_block_digest() || !listed.emplace(digest, true).second) return;
    auto observed = outcome.observed.find(digest);
    blocks.push_back({digest, observed != outcome.observed.end() ? bytes_of(observed->second) : reader_.block(digest)});
  };
  for (const bundle::BlockDifference& block : outcome.run.blocks) {
    add(block.expected);
    add(block.actual);
  }
  if (outcome.run.baseline) {
    for (const bundle::VaryingBlock& block : outcome.run.baseline->blocks) {
      if (listed.emplace(block.bytes, true).second) {
        blocks.push_back({block.bytes, bytes_of(worker.varying().at(block.bytes))});
      }
    }
  }
  if (!blocks.empty()) writer_.add_blocks(blocks);
}

void Runner::report(const bundle::RunInfo& run) {
  for (const bundle::Finding& finding : run.findings) cli::warn(bundle::sentence_of(finding));
  std::string what = fmt::format("kernel '{}', instance {}, variant {}", name(run.kernel), short_hash(run.instance),
                                 short_hash(run.variant));
  if (run.status == "failed") {
    if (!options_.judged || options_.verbose) cli::warn(fmt::format("{}: the run failed: {}", what, run.reason));
  } else if (options_.verbose && !run.nanoseconds.empty()) {
    uint64_t fastest = *std::min_element(run.nanoseconds.begin(), run.nanoseconds.end());
    std::string same =
        run.same_as.empty() ? "" : ", as variant " + short_hash(run.same_as) + ", which is the same code";
    cli::note(fmt::format("{}: {} ns on {}{}", what, fastest, run.device, same));
  }
}

void Runner::report(const bundle::Baseline& baseline) {
  std::string what =
      fmt::format("kernel '{}', instance {}", name(instance_->info.kernel), short_hash(instance_->info.id));
  if (baseline.executions == 0) {
    cli::warn(fmt::format("{}: there is no baseline, because the recorded code failed: {}", what, baseline.reason));
  } else if (!baseline.blocks_complete) {
    cli::warn(fmt::format("{}: not all varying bytes are marked: raise --max-diff", what));
  } else if (options_.verbose) {
    cli::note(fmt::format("{}: {} of its segments vary in {} executions of the recorded code", what,
                          baseline.spread.size(), baseline.executions));
  }
}

void Runner::finish() const {
  std::vector<std::string> unmet;
  for (const auto& [kernel, count] : waiting_) {
    if (runs_ > 0 && count > 0) {
      unmet.push_back(
          fmt::format("kernel '{}' has no variant that could be run on {} of its instances: mneme-compile makes one",
                      name(kernel), count));
    }
  }
  if (options_.verbose) cli::warn_of_each(unmet, "kernels");  // mneme-verify says it of what it judges
  if (runs_ > 0) return;
  if (refused_ > 0 && instances_ == 0) {
    throw Error("nothing was run: no instance is complete; --force runs them all the same");
  }
  if (instances_ == 0 && variants_.empty())
    throw Error("nothing was run: no launch is recorded in the bundle; mneme-capture --summary says why");
  if (!variants_.empty())
    throw Error(
        "nothing was run: the bundle holds no instance of the compiled kernels; give all tools the same --kernel");
  throw Error("nothing was run because nothing was compiled: put mneme-compile before mneme-run");
}

}  // namespace mneme::run
