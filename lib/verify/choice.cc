// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/choice.h"

#include <algorithm>
#include <charconv>
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

// Where allocations begin, unless the application registered them; other segments are pieces of one.
constexpr uint64_t kAlignment = 256;

// Whether two segments may be pieces of one allocation. Where that is not to be known they count as such: an element
// type is rather not inferred than wrongly.
bool may_be_one(const bundle::Segment& before, const bundle::Segment& after) {
  bool adjoin = before.address + before.size == after.address && before.kind == after.kind &&
                before.device == after.device && before.symbol.empty() && after.symbol.empty();
  return adjoin && (!before.annotation.empty() || !after.annotation.empty() || after.address % kAlignment != 0);
}

// For each segment a number that it shares with the pieces of its allocation.
std::vector<size_t> allocations_of(const bundle::InstanceInfo& instance) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < instance.segments.size(); i++) {
    bool goes_on = i > 0 && may_be_one(instance.segments[i - 1], instance.segments[i]);
    numbers.push_back(goes_on ? numbers.back() : i);
  }
  return numbers;
}

using Types = std::set<std::string>;

// The number of the allocation that a pointer leads to: into it, or to its end if no other begins there.
std::optional<size_t> led_to(const bundle::InstanceInfo& instance, const std::vector<size_t>& allocations,
                             uint64_t address) {
  auto after = std::ranges::upper_bound(instance.segments, address, {}, &bundle::Segment::address);
  if (after == instance.segments.begin()) return std::nullopt;
  auto at = static_cast<size_t>(after - instance.segments.begin()) - 1;
  if (address - instance.segments[at].address > instance.segments[at].size) return std::nullopt;
  return allocations[at];
}

// Of the stores that can reach each segment.
std::vector<Types> types_stored(const bundle::InstanceInfo& instance, const std::vector<bundle::StoreType>& stores) {
  const std::vector<size_t> allocations = allocations_of(instance);
  std::vector<Types> types(instance.segments.size());
  auto reached_by = [&](const bundle::StoreType& store) -> std::optional<size_t> {
    std::optional<uint64_t> address = pointer_at(instance.arguments, store.argument);
    return address ? led_to(instance, allocations, *address) : std::nullopt;
  };
  std::set<size_t> restricted;  // allocations
  for (const bundle::StoreType& store : stores) {
    std::optional<size_t> reached = reached_by(store);
    if (store.restrict && reached) restricted.insert(*reached);
  }
  for (const bundle::StoreType& store : stores) {
    if (pointer_at(instance.arguments, store.argument) == 0) continue;  // what was not asked for is not stored
    const std::optional<size_t> reached = reached_by(store);            // none: nobody knows
    for (size_t i = 0; i < types.size(); i++) {
      bool reaches = !store.symbol.empty() ? store.symbol == instance.segments[i].symbol
                     : reached             ? reached == allocations[i]
                                           : !restricted.contains(allocations[i]);
      if (reaches) types[i].insert(store.type);
    }
  }
  return types;
}

std::optional<ElementType> only_one(const Types& types) {
  return types.size() == 1 ? element_type(*types.begin()) : std::nullopt;
}

// Why no tolerance follows from these.
std::string not_inferred(const Types& types) {
  if (types.empty()) return "no store of the kernel is known to reach it";
  if (only_one(types)) return fmt::format("the kernel stores {} there", *types.begin());
  Types known = types;
  bool others = known.erase("mixed") > 0;
  std::string of = known.empty() ? "" : fmt::format(": {}{}", fmt::join(known, ", "), others ? " and others" : "");
  return "the kernel's stores that may reach it have no one type" + of;
}

// The address that an override gives, if it does.
std::optional<uint64_t> address_in(const std::string& text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  uint64_t address = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + 2, end, address, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return address;
}

bool names(const Override& over, const bundle::Segment& segment, const std::optional<Policy>& annotated) {
  return over.segment.empty() || over.segment == segment.symbol || (annotated && over.segment == annotated->tag) ||
         address_in(over.segment) == segment.address;
}

void apply(const Override& over, Policy& policy) {
  policy.type = over.type.value_or(policy.type);
  policy.kind = over.kind.value_or(policy.kind);
  policy.norm = over.norm.value_or(policy.norm);
  policy.threshold = over.threshold.value_or(policy.threshold);
  if (over.scale) policy.scale = over.scale;
}

// The elements of another size that are ignored as a whole.
std::vector<ElementRange> ignored_as(const std::vector<ElementRange>& ignored, size_t was, size_t now) {
  if (was == now) return ignored;
  std::vector<ElementRange> ranges;
  for (const ElementRange& range : ignored) {
    if (range.first > UINT64_MAX / was) break;  // behind every segment's end
    uint64_t begin = range.first * was;
    uint64_t bytes = range.count > (UINT64_MAX - begin) / was ? UINT64_MAX - begin : range.count * was;
    uint64_t first = begin / now + (begin % now != 0), end = (begin + bytes) / now;
    if (first < end) ranges.push_back({first, end - first});
  }
  return ranges;
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
  for (const Types& stored : types_stored(instance, stores)) types.push_back(only_one(stored));
  return types;
}

std::optional<Policy> default_policy(ElementType type, Kind kind) {
  auto up_to = [&](double threshold) { return Policy{type, threshold, kind, Norm::kLinf}; };
  switch (type) {
    case ElementType::kF64:
    case ElementType::kCF64:
      return up_to(1e-9);
    case ElementType::kF32:
    case ElementType::kCF32:
      return up_to(1e-4);
    case ElementType::kF16:
      return up_to(1e-2);
    case ElementType::kBF16:
      return up_to(5e-2);
    default:
      return std::nullopt;
  }
}

std::vector<Choice> choose(const bundle::InstanceInfo& instance, const std::vector<bundle::StoreType>& stores,
                           std::vector<Override>& overrides, std::optional<Kind> infer) {
  const std::vector<Types> types = types_stored(instance, stores);
  std::vector<Choice> choices;
  for (size_t i = 0; i < instance.segments.size(); i++) {
    const bundle::Segment& segment = instance.segments[i];
    std::optional<Policy> policy = annotated(instance, segment);
    std::optional<ElementType> type = only_one(types[i]);
    Choice choice{policy, policy ? Source::kAnnotation : Source::kBytes};
    if (!policy && infer) {
      if (type) choice.policy = default_policy(*type, *infer);
      if (choice.policy) {
        choice.source = Source::kInferred;
      } else {
        choice.not_inferred = not_inferred(types[i]);
      }
    }
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
    if (policy && choice.policy->type != policy->type) {
      choice.policy->ignored = ignored_as(policy->ignored, size_of(policy->type), size_of(choice.policy->type));
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

void name_arguments(const bundle::InstanceInfo& instance, const std::vector<bundle::Argument>& arguments,
                    std::vector<Choice>& choices) {
  const std::vector<size_t> allocations = allocations_of(instance);
  for (size_t number = 0; number < arguments.size(); number++) {
    const bundle::Argument& argument = arguments[number];
    if (argument.kind == "scalar") continue;
    std::set<size_t> reached;
    for (uint64_t at = argument.offset; at + sizeof(uint64_t) <= uint64_t{argument.offset} + argument.size;
         at += sizeof(uint64_t)) {
      const std::optional<uint64_t> address = pointer_at(instance.arguments, static_cast<int64_t>(at));
      if (auto allocation = address ? led_to(instance, allocations, *address) : std::nullopt) {
        reached.insert(*allocation);
      }
    }
    for (size_t i = 0; i < choices.size(); i++) {
      if (!reached.contains(allocations[i])) continue;
      choices[i].arguments.push_back(argument.name.empty() ? std::to_string(number) : argument.name);
    }
  }
}

Readings readings(const bundle::InstanceInfo& instance, const std::vector<bundle::StoreType>& stores) {
  std::vector<std::optional<ElementType>> stored = stored_types(instance, stores);
  Readings readings;
  for (size_t i = 0; i < instance.segments.size(); i++) {
    if (auto policy = annotated(instance, instance.segments[i])) {
      readings.push_back(Reading{policy->type, policy->ignored, policy->scale});
    } else if (stored[i]) {
      readings.push_back(Reading{*stored[i]});
    } else {
      readings.push_back(std::nullopt);
    }
  }
  return readings;
}

}  // namespace mneme::verify
