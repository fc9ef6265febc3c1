// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether two codes compute the same, by runs in which elements of a ring took the place of floating-point numbers
// (codegen/host/math/algebra.h): the recorded code's, not optimised, and a variant's.
#pragma once
#include <vector>

#include "verify/verdict.h"

namespace mneme::verify {

// Whether it compiles the recorded code as it stands.
bool is_algebra_reference(const bundle::Configuration& configuration);

// Whether stores may be of numbers of 16 bits, as far as their types are known.
bool has_short_numbers(const std::vector<bundle::StoreType>& stores);

// Compares what both left in the instance's segments: the same bytes, or numbers that are the same element. Which type
// memory has is not known, so what is the same read as any is the same. `reference` may be null.
Verdict judge_algebra(const bundle::InstanceInfo& instance, const bundle::RunInfo* reference,
                      const bundle::RunInfo& run, bool short_numbers, const Blocks& blocks);

}  // namespace mneme::verify
