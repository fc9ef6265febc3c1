// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the vendors' functions that give out memory have in common. Memory comes from the recorder's arenas; what is not
// from there, and everything in a process that is not recorded, comes from the runtime, by calling `real`. `recorder`
// is null where this vendor's calls are not recorded. Errors are the vendor's, and 0 is its success.
#pragma once
#include "recorder/core/core.h"

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

// Memory of a device's from an arena; what does not concern the recorder, an empty or a nonsensical request, is
// `real`'s.
template <class Real>
int give_on(Core* recorder, int device, void** pointer, size_t size, Space space, uint64_t flags, const Real& real) {
  if (!recorder || !recorder->recording() || !pointer || size == 0) return real();
  const bool here = Core::is_recorded(device);
  // Host memory's is kept with its flags.
  if (space == Space::kHost) flags |= static_cast<uint64_t>(device) << kDeviceShift;
  if (void* memory = here ? recorder->allocate(space, size, flags, device) : nullptr) {
    *pointer = memory;
    return 0;
  }
  // Out of memory, here or altogether: the runtime says which, and sets the application's last error.
  int status = real();
  if (status == 0) {
    recorder->add_outside(*pointer, size,
                          here ? "memory for which the range of recorded addresses had no room (--va-size)"
                               : "memory that was allocated on device " + std::to_string(device));
  }
  return status;
}

// The same, of device memory to be used in the order of a stream.
template <class Real>
int give_in(Core* recorder, void* stream, int device, void** pointer, size_t size, const Real& real) {
  bool ours = recorder && recorder->recording() && pointer && size > 0 && Core::is_recorded(device);
  void* memory = ours ? recorder->allocate_in(stream, size, device) : nullptr;
  if (!memory) return give_on(recorder, device, pointer, size, Space::kDevice, 0, real);
  *pointer = memory;
  return 0;
}

// Ordinary memory that the application registered. What comes from an arena it did not; where an arena's memory begins
// the recorder did, and that is not to be undone: the runtime is asked for what nobody has registered.
template <class Real>
int unregister(Core* recorder, void* pointer, const Real& real) {
  if (known_to(recorder, pointer)) return real(static_cast<char*>(pointer) + 1);
  if (recorder) recorder->remove_registered(pointer);
  return real(pointer);
}

// The calling thread's device, which gives nothing any more once a kernel of it has failed: the runtime says so.
template <class Real>
int give(Core* recorder, void** pointer, size_t size, Space space, uint64_t flags, const Real& real) {
  bool gives = recorder && recorder->recording() && recorder->works();
  return gives ? give_on(recorder, recorder->device(), pointer, size, space, flags, real) : real();
}

// Rows of `width` bytes, each at a multiple of `align`. False: the size does not fit a number.
inline bool rows(size_t align, size_t width, size_t height, size_t depth, size_t& pitch, size_t& size) {
  size_t padded = 0;
  if (__builtin_add_overflow(width, align - 1, &padded)) return false;
  pitch = padded / align * align;
  return !__builtin_mul_overflow(pitch, height, &size) && !__builtin_mul_overflow(size, depth, &size);
}

template <class Real>
int give_rows(Core* recorder, size_t align, void** pointer, size_t* pitch, size_t width, size_t height,
              const Real& real) {
  size_t padded = 0, size = 0;
  if (!pitch || !rows(align, width, height, 1, padded, size)) return real();
  size_t untouched = *pitch;
  *pitch = padded;
  return give(recorder, pointer, size, Space::kDevice, 0, [&] {
    *pitch = untouched;
    return real();
  });
}

// `Pitched` and `Size` are the vendor's hipPitchedPtr and hipExtent.
template <class Pitched, class Size, class Real>
int give_box(Core* recorder, size_t align, Pitched* pitched, Size extent, const Real& real) {
  size_t pitch = 0, size = 0;
  if (!pitched || !rows(align, extent.width, extent.height, extent.depth, pitch, size)) return real();
  void* memory = nullptr;
  bool ours = true;
  int status = give(recorder, &memory, size, Space::kDevice, 0, [&] {
    ours = false;
    int status = real();
    if (status == 0) memory = pitched->ptr;
    return status;
  });
  if (ours) *pitched = {memory, pitch, extent.width, extent.height};
  return status;
}

// By the runtime, of what it gave out itself.
template <class Real>
int take_outside_back(Core* recorder, void* pointer, const Real& real) {
  int status = real();
  if (recorder && status == 0) recorder->remove_outside(pointer);
  return status;
}

// `host`: by the function for pinned memory. Managed memory goes by either.
template <class Real>
int take_back(Core* recorder, void* pointer, bool host, const Real& real) {
  std::optional<Allocations::Known> memory = known_to(recorder, pointer);
  if (!memory || (host ? memory->space != Space::kHost : is_host(*memory)))
    return take_outside_back(recorder, pointer, real);
  std::optional<int> status = recorder->release(pointer);
  return status ? *status : real();
}

// In the order of a stream.
template <class Real>
int take_back_in(Core* recorder, void* stream, void* pointer, const Real& real) {
  std::optional<Allocations::Known> memory = known_to(recorder, pointer);
  if (!memory || is_host(*memory)) return take_outside_back(recorder, pointer, real);
  return recorder->release_in(stream, pointer) ? 0 : real();
}

}  // namespace mneme::record
