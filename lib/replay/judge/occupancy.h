// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>

#include "bundle/format.h"

namespace mneme::verify {

// Waves of a launch that are resident at once, as far as registers, shared memory and the block's size go: of a SIMD of
// an AMD GPU, as the code object says; of a multiprocessor of an NVIDIA GPU, from its documented limits. Nothing where
// the variant's resources are not known, for a processor that is not in the table, and for a launch that does not fit.
std::optional<uint32_t> occupancy(const bundle::VariantInfo& variant, const bundle::InstanceInfo& instance);

}  // namespace mneme::verify
