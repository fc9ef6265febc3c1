// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choosing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "bundle/arguments.h"
#include "bundle/launch.h"
#include "verify/speedup.h"

namespace mneme::restore {
namespace {

// The median of each round.
std::vector<uint64_t> medians_of(const std::vector<uint64_t>& times, uint32_t rounds) {
  const size_t each = times.size() / rounds;
  std::vector<uint64_t> medians;
  for (size_t round = 0; round < rounds; ++round) {
    auto begin = times.begin() + static_cast<std::ptrdiff_t>(round * each);
    medians.push_back(verify::median({begin, begin + static_cast<std::ptrdiff_t>(each)}));
  }
  return medians;
}

void add_to(std::vector<uint64_t>& sums, const std::vector<uint64_t>& times) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += times[i];
}

// Launches of one key are one piece of work: in each round the sum of their times is compared. For one instance this is
// what mneme-verify --reference says.
void take_figures(bundle::Choice& choice, const std::vector<Proof>& proofs) {
  const uint32_t rounds = std::ranges::min_element(proofs, {}, &Proof::rounds)->rounds;
  std::vector<uint64_t> baseline(rounds), times(rounds);
  choice.baseline_ns = choice.median_ns = 0;
  for (const Proof& proof : proofs) {
    add_to(baseline, medians_of(proof.baseline, proof.rounds));
    add_to(times, medians_of(proof.times, proof.rounds));
    choice.baseline_ns += verify::median(proof.baseline);
    choice.median_ns += verify::median(proof.times);
  }
  const verify::Speedup speedup = verify::speedup(baseline, times, rounds);
  choice.ratio = speedup.factor;
  choice.low = speedup.low;
  choice.high = speedup.high;
  choice.instances = proofs.size();
  if (speedup.is_told() ? !speedup.is_faster() : speedup.factor <= 1) choice.ratio = 0;
}

// On the instances that the others prove; nothing where it does not prove all of them.
std::optional<uint64_t> time_on(const std::vector<Proof>& instances, const std::vector<Proof>& proofs) {
  uint64_t sum = 0;
  for (const Proof& instance : instances) {
    auto found = std::ranges::find(proofs, instance.instance, &Proof::instance);
    if (found == proofs.end()) return std::nullopt;
    sum += verify::median(found->times);
  }
  return sum;
}

// By their offsets.
std::map<uint32_t, char> guarded_bytes(const bundle::Choice& choice) {
  std::map<uint32_t, char> bytes;
  for (const bundle::Guard& guard : choice.guards) {
    for (uint32_t i = 0; i < guard.bytes.size(); ++i) bytes[guard.offset + i] = guard.bytes[i];
  }
  return bytes;
}

// The rest of the key.
Digest unguarded_key(bundle::Choice choice) {
  choice.guards.clear();
  return bundle::choice_id(choice);
}

}  // namespace

bundle::Choice choice_for(const bundle::KernelInfo& kernel, const bundle::InstanceInfo& instance, const Digest& variant,
                          const bundle::Configuration& configuration) {
  bundle::Choice choice;
  choice.kernel = kernel.id;
  choice.target = configuration.target;
  choice.device = choice.target.substr(0, choice.target.find(':'));
  choice.grid = instance.grid;
  choice.block = instance.block;
  choice.shared_bytes = instance.shared_bytes;
  choice.cooperative = instance.cooperative;
  choice.cluster = instance.cluster;
  choice.guards = bundle::guards_of(kernel, configuration, instance.arguments);
  choice.variant = variant;
  choice.launch = bundle::launch_of(choice, configuration);
  choice.id = bundle::choice_id(choice);
  return choice;
}

bool has_key(const bundle::InstanceInfo& instance, const bundle::Choice& choice) {
  return instance.kernel == choice.kernel && instance.grid == choice.grid && instance.block == choice.block &&
         instance.shared_bytes == choice.shared_bytes && instance.cooperative == choice.cooperative &&
         instance.cluster == choice.cluster && std::ranges::all_of(choice.guards, [&](const bundle::Guard& guard) {
           return guard.offset <= instance.arguments.size() &&
                  instance.arguments.compare(guard.offset, guard.bytes.size(), guard.bytes) == 0;
         });
}

Choosing::Candidate& Choosing::candidate(const bundle::Choice& choice) {
  kernels_.try_emplace(choice.kernel, kernels_.size());
  auto [found, fresh] = candidates_[choice.id].try_emplace(choice.variant);
  if (fresh) found->second = {choice, {}, false, count_++};
  return found->second;
}

void Choosing::prove(const bundle::Choice& choice, Proof proof) {
  Candidate& one = candidate(choice);
  if (std::ranges::find(one.proofs, proof.instance, &Proof::instance) != one.proofs.end()) return;
  if (proof.changed_memory) proven_.insert(choice.variant);
  one.proofs.push_back(std::move(proof));
}

void Choosing::refute(const bundle::Choice& choice) { candidate(choice).refuted = true; }

void Choosing::add(const bundle::Choice& choice) {
  Candidate& one = candidate(choice);
  if (choice.ratio > one.choice.ratio) one.choice = choice;
  proven_.insert(choice.variant);
}

bundle::Choice Choosing::judged(const Candidate& candidate) {
  if (candidate.proofs.empty()) return candidate.choice;
  bundle::Choice proven = candidate.choice;
  take_figures(proven, candidate.proofs);
  return proven.ratio > candidate.choice.ratio ? proven : candidate.choice;
}

bool Choosing::is_needless(const Best& guarded, const Best& other) {
  // Whether the other fits all launches that this one fits, and more.
  if (other.bytes.size() >= guarded.bytes.size() || other.unguarded != guarded.unguarded) return false;
  if (!std::ranges::includes(guarded.bytes, other.bytes)) return false;
  const std::vector<Proof>& instances = guarded.candidate->proofs;
  if (instances.empty()) return false;  // it was chosen before, where it was compared
  const std::optional<uint64_t> others = time_on(instances, other.candidate->proofs);
  return others && *others <= *time_on(instances, instances);
}

std::vector<bundle::Choice> Choosing::best() const {
  std::vector<Best> all;
  for (const auto& [key, candidates] : candidates_) {
    Best best;
    for (const auto& [variant, candidate] : candidates) {
      if (candidate.refuted || !proven_.contains(variant)) continue;
      bundle::Choice choice = judged(candidate);
      const bool equal = best.candidate && choice.ratio == best.choice.ratio;
      if (choice.ratio < best.choice.ratio || choice.ratio == 0 || (equal && best.candidate->order < candidate.order)) {
        continue;
      }
      best = {std::move(choice), &candidate, {}, {}};
    }
    if (!best.candidate) continue;
    best.bytes = guarded_bytes(best.choice);
    best.unguarded = unguarded_key(best.choice);
    all.push_back(std::move(best));
  }
  std::vector<bundle::Choice> choices;
  for (const Best& one : all) {
    if (std::ranges::none_of(all, [&](const Best& other) { return is_needless(one, other); })) {
      choices.push_back(one.choice);
    }
  }
  std::ranges::sort(choices, {},
                    [&](const bundle::Choice& choice) { return std::pair(kernels_.at(choice.kernel), choice.id); });
  return choices;
}

uint64_t Choosing::little_proven() const {
  std::set<Digest> variants;
  for (const auto& [key, candidates] : candidates_) {
    for (const auto& [variant, candidate] : candidates) {
      if (!candidate.refuted && !proven_.contains(variant) && judged(candidate).ratio > 0) variants.insert(variant);
    }
  }
  return variants.size();
}

}  // namespace mneme::restore
