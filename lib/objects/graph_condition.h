// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that kernels set and that decide which nodes of a CUDA graph run (cudaGraphSetConditional). A vendor's handle
// of one leads to memory of the driver's. Ours leads to memory like any other, which a recording has; mneme-inject has
// kernels take both.
#pragma once
#include <cstdint>

namespace mneme::objects {

struct ConditionSlot {  // in device memory
  uint32_t value = 0;
  uint32_t unused = 0;
  uint64_t vendors = 0;  // a handle whose value is set as well, where the vendor's graph runs; 0: none
};

// The vendor's function, and the one that takes its place.
inline constexpr char kSetCondition[] = "cudaGraphSetConditional", kSetEither[] = "__mneme_set_condition";

// A variable of device code whose kernels take either.
inline constexpr char kTakesOwnConditions[] = "__mneme_takes_own_conditions";

// Addresses have 48 bits: what is above them says that a handle is ours.
inline constexpr uint64_t kConditionTag = 0x4d6e, kConditionShift = 48;

constexpr uint64_t condition_handle(uint64_t slot) { return kConditionTag << kConditionShift | slot; }
constexpr bool is_ours(uint64_t handle) { return handle >> kConditionShift == kConditionTag; }
constexpr uint64_t slot_of(uint64_t handle) { return handle & ((uint64_t{1} << kConditionShift) - 1); }

}  // namespace mneme::objects
