// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What hooks of the vendors' functions that give out memory do. Memory comes from the recorder's arenas; what is not
// from there, and everything in a process that is not recorded, comes from the runtime, by calling `real`. Errors are
// the vendor's.
#pragma once
#include "recorder/core/vendor_runtime.h"

namespace mneme::record {

inline constexpr uint64_t kManaged = uint64_t{1} << 32;  // beside the application's own flags
inline constexpr unsigned kDeviceShift = 33;

inline std::optional<Allocations::Known> known_to(Core* recorder, const void* pointer) {
  return recorder && pointer ? recorder->find(pointer) : std::nullopt;
}

inline int device_of(const Allocations::Known& memory) {
  return memory.space == Space::kDevice ? memory.device : static_cast<int>(memory.flags >> kDeviceShift);
}

inline bool is_host(const Allocations::Known& memory) {
  return memory.space == Space::kHost && !(memory.flags & kManaged);
}

// Of the calling thread's device; a kind of it each; device memory in rows, and in rows of planes. `Pitched` and `Size`
// are the vendor's hipPitchedPtr and hipExtent. What does not concern the recorder, an empty or a nonsensical request,
// is `real`'s.
Status give_device(VendorRuntime& runtime, const Real& real, void** pointer, size_t size);
Status give_pinned(VendorRuntime& runtime, const Real& real, void** pointer, size_t size);
Status give_flagged(VendorRuntime& runtime, const Real& real, void** pointer, size_t size, unsigned flags);  // pinned
Status give_managed(VendorRuntime& runtime, const Real& real, void** pointer, size_t size, unsigned flags);
Status give_rows(VendorRuntime& runtime, const Real& real, void** pointer, size_t* pitch, size_t width, size_t height,
                 ...);
Status give_box(VendorRuntime& runtime, const Real& real, PitchedPointer* pitched, Extent extent);
Status give(VendorRuntime& runtime, const Real& real, void** pointer, size_t size, Space space, uint64_t flags);
// Device memory to be used in the order of a stream.
Status give_in(Core* recorder, void* stream, int device, void** pointer, size_t size, const Real& real);

// By the functions for device memory and for pinned memory; managed memory goes by either. In the order of a stream.
Status take_device_back(VendorRuntime& runtime, const Real& real, void* pointer);
Status take_pinned_back(VendorRuntime& runtime, const Real& real, void* pointer);
Status take_back_in(Core* recorder, void* stream, void* pointer, const Real& real);

// Ordinary memory that the application registers.
Status register_host(VendorRuntime& runtime, const Real& real, void* pointer, size_t size, unsigned flags);
Status unregister_host(VendorRuntime& runtime, const Next<Status(void*)>& next, void* pointer);

// To the runtime all that lies behind the arenas is in use; to the application, what is allocated there.
Status memory_info(VendorRuntime& runtime, const Real& real, size_t* left, size_t* total);
Status host_flags(VendorRuntime& runtime, const Real& real, unsigned* flags, void* host);
Status address_range(VendorRuntime& runtime, const Real& real, void** base, size_t* size, void* pointer);

}  // namespace mneme::record
