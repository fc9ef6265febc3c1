// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the recorder knows of memory that it gave out in HIP's stead.
#pragma once
#include "recorder/hip_runtime.h"

namespace mneme::record::hip {

inline constexpr uint64_t kManaged = uint64_t{1} << 32;  // beside the application's own flags
inline constexpr unsigned kDeviceShift = 33;

inline std::optional<Allocations::Known> known(const void* pointer) {
  Core* recorder = core();
  return recorder && pointer ? recorder->find(pointer) : std::nullopt;
}

inline int device_of(const Allocations::Known& memory) {
  return memory.space == Space::kDevice ? memory.device : static_cast<int>(memory.flags >> kDeviceShift);
}

inline bool is_host(const Allocations::Known& memory) {
  return memory.space == Space::kHost && !(memory.flags & kManaged);
}

}  // namespace mneme::record::hip
