// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/choice.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "verify/verdict.h"

namespace mneme::verify {
namespace {

constexpr std::string_view kSources[] = {"bytes", "annotation", "option", "inferred"};

std::optional<uint64_t> pointer_at(const std::string& arguments, int64_t offset) {
  uint64_t address;
  if (offset < 0 || static_cast<uint64_t>(offset) + sizeof address > arguments.size()) return std::nullopt;
  std::memcpy(&address, arguments.data() + offset, sizeof address);
  return address;
}

bool reaches(const bundle::InstanceInfo& instance, const bundle::StoreType& store, const bundle::Segment& segment) {
  if (!store.symbol.empty()) return store.symbol == segment.symbol;
  auto address = pointer_at(instance.arguments, store.argument);
  return !address || (*address >= segment.address && *address - segment.address < segment.size);
}

bool names(const Override& over, const bundle::Segment& segment, const std::optional<Policy>& annotated) {
  return over.segment.empty() || over.segment == segment.symbol || (annotated && over.segment == annotated->tag) ||
         over.segment == fmt::format("{:#x}", segment.address);
}

void apply(const Override& over, Policy& policy) {
  policy.type = over.type.value_or(policy.type);
  policy.kind = over.kind.value_or(policy.kind);
  policy.norm = over.norm.value_or(policy.norm);
  policy.threshold = over.threshold.value_or(policy.threshold);
}

std::optional<Policy> annotated(const bundle::InstanceInfo& instance, const bundle::Segment& segment) {
  if (segment.annotation.empty()) return std::nullopt;
  return parse_policy(segment.annotation, "an annotation of instance " + instance.id.hex());
}

}  // namespace

std::string_view name_of(Source source) { return kSources[static_cast<size_t>(source)]; }

std::vector<std::optional<ElementType>> stored_types(const bundle::InstanceInfo& instance,
                                                     const std::vector<bundle::StoreType>& stores) {
  std::vector<std::optional<ElementType>> types;
  for (const bundle::Segment& segment : instance.segments) {
    std::set<std::string> seen;
    for (const bundle::StoreType& store : stores) {
      if (reaches(instance, store, segment)) seen.insert(store.type);
    }
    types.push_back(seen.size() == 1 ? element_type(*seen.begin()) : std::nullopt);
  }
  return types;
}

std::optional<Policy> default_policy(ElementType type) {
  auto relative = [&](double threshold) { return Policy{type, threshold, Kind::kRelative, Norm::kLinf}; };
  switch (type) {
    case ElementType::kF64:
    case ElementType::kCF64:
      return relative(1e-9);
    case ElementType::kF32:
    case ElementType::kCF32:
      return relative(1e-4);
    case ElementType::kF16:
      return relative(1e-2);
    case ElementType::kBF16:
      return relative(5e-2);
    default:
      return std::nullopt;
  }
}

std::vector<Choice> choose(const bundle::InstanceInfo& instance, const std::vector<bundle::StoreType>& stores,
                           std::vector<Override>& overrides, bool infer) {
  std::vector<std::optional<ElementType>> stored = stored_types(instance, stores);
  std::vector<Choice> choices;
  for (size_t i = 0; i < instance.segments.size(); i++) {
    const bundle::Segment& segment = instance.segments[i];
    std::optional<Policy> policy = annotated(instance, segment);
    Choice choice{policy, policy ? Source::kAnnotation : Source::kBytes};
    if (!policy && infer && stored[i] && default_policy(*stored[i])) {
      choice = {default_policy(*stored[i]), Source::kInferred};
    }
    std::optional<ElementType> type = stored[i];
    if (choice.policy) type = choice.policy->type;
    for (Override& over : overrides) {
      if (!names(over, segment, policy)) continue;
      over.met = true;
      if (over.type) type = over.type;
      if (!type && over.segment.empty()) continue;  // meant for those that can be read so
      if (!type) {
        throw Error::of("the {} has no annotation and the kernel's stores do not tell its type: give --dtype as well",
                        describe(segment));
      }
      if (!choice.policy) choice.policy = Policy{.type = *type};
      apply(over, *choice.policy);
      choice.source = Source::kOption;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

Readings readings(const bundle::InstanceInfo& instance, const std::vector<bundle::StoreType>& stores) {
  std::vector<std::optional<ElementType>> stored = stored_types(instance, stores);
  Readings readings;
  for (size_t i = 0; i < instance.segments.size(); i++) {
    if (auto policy = annotated(instance, instance.segments[i])) {
      readings.push_back(Reading{policy->type, policy->ignored});
    } else if (stored[i]) {
      readings.push_back(Reading{*stored[i], {}});
    } else {
      readings.push_back(std::nullopt);
    }
  }
  return readings;
}

}  // namespace mneme::verify
