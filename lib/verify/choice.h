// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// By which policy each segment is judged.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "verify/compare.h"
#include "verify/policy.h"

namespace mneme::verify {

// What the command line, or a file, says of segments, in place of what was recorded with them. What is not given stays.
struct Override {
  std::string segment = {};  // a tag, a symbol, or an address as "0x…" in hexadecimal; empty: every segment
  std::optional<ElementType> type = {};
  std::optional<Kind> kind = {};
  std::optional<Norm> norm = {};
  std::optional<double> threshold = {};
  std::optional<double> scale = {};
  bool met = false;  // by some segment
};

enum class Source { kBytes, kAnnotation, kOption, kInferred };
std::string_view name_of(Source source);  // "bytes", "annotation", "option", "inferred"

struct Choice {
  std::optional<Policy> policy;  // none: byte for byte
  Source source = Source::kBytes;
  std::string not_inferred = {};  // why there is none although it was to be inferred: a clause
  std::vector<std::string> arguments =
      {};  // of the kernel that lead into the segment's allocation: see name_arguments()
};

// The element types that a kernel's stores show, for each of an instance's segments: one only where all stores that
// can reach it agree, those through pointers of unknown origin included, unless the kernel stores to the same
// allocation through a __restrict__ argument. A pointer in the arguments reaches the allocation that it points into, or
// to the end of if no other begins there: all segments that annotations cut it into.
std::vector<std::optional<ElementType>> stored_types(const bundle::InstanceInfo& instance,
                                                     const std::vector<bundle::StoreType>& stores);

// What --infer lets pass: each element's error of this kind, scaled or relative, for floating-point types; nullopt for
// integers, which are compared byte for byte.
std::optional<Policy> default_policy(ElementType type, Kind kind);

// One for each segment: by the overrides, in their order, over the annotation; with `infer` else by the stores, and
// errors of that kind. Throws Error where an override leaves a segment's type unknown.
std::vector<Choice> choose(const bundle::InstanceInfo& instance, const std::vector<bundle::StoreType>& stores,
                           std::vector<Override>& overrides, std::optional<Kind> infer);

// Notes in the choice of each segment which of the kernel's arguments lead into its allocation, pointers in structures
// included: their names, or numbers, counted from 0, where they have none.
void name_arguments(const bundle::InstanceInfo& instance, const std::vector<bundle::Argument>& arguments,
                    std::vector<Choice>& choices);

// How mneme-run reads the segments, so that most policies can be judged by what it observes: by their annotations, else
// by the stores.
Readings readings(const bundle::InstanceInfo& instance, const std::vector<bundle::StoreType>& stores);

}  // namespace mneme::verify
