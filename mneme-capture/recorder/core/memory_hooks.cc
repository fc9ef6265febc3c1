// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/memory_hooks.h"

namespace mneme::record {
namespace {

// Memory of a device's from an arena.
Status give_on(Core* recorder, int device, void** pointer, size_t size, Space space, uint64_t flags, const Real& real) {
  if (!recorder || !recorder->recording() || !pointer || size == 0) return real();
  const bool here = Core::is_recorded(device);
  // Host memory's is kept with its flags.
  if (space == Space::kHost) flags |= static_cast<uint64_t>(device) << kDeviceShift;
  if (void* memory = here ? recorder->allocate(space, size, flags, device) : nullptr) {
    *pointer = memory;
    return kSuccess;
  }
  // Out of memory, here or altogether: the runtime says which, and sets the application's last error.
  const Status status = real();
  if (status == kSuccess) {
    recorder->add_outside(*pointer, size,
                          here ? "memory for which the range of recorded addresses had no room (--va-size)"
                               : "memory that was allocated on device " + std::to_string(device));
  }
  return status;
}

// Rows of `width` bytes, each at a multiple of `align`. False: the size does not fit a number.
bool rows(size_t align, size_t width, size_t height, size_t depth, size_t& pitch, size_t& size) {
  size_t padded = 0;
  if (__builtin_add_overflow(width, align - 1, &padded)) return false;
  pitch = padded / align * align;
  return !__builtin_mul_overflow(pitch, height, &size) && !__builtin_mul_overflow(size, depth, &size);
}

// By the runtime, of what it gave out itself.
Status take_outside_back(Core* recorder, void* pointer, const Real& real) {
  const Status status = real();
  if (recorder && status == kSuccess) recorder->remove_outside(pointer);
  return status;
}

Status take_back(Core* recorder, void* pointer, bool pinned, const Real& real) {
  std::optional<Allocations::Known> memory = known_to(recorder, pointer);
  if (!memory || (pinned ? memory->space != Space::kHost : is_host(*memory)))
    return take_outside_back(recorder, pointer, real);
  std::optional<int> status = recorder->release(pointer);
  return status ? *status : real();
}

}  // namespace

// The calling thread's device gives nothing any more once a kernel of it has failed: the runtime says so.
Status give(VendorRuntime& runtime, const Real& real, void** pointer, size_t size, Space space, uint64_t flags) {
  Core* core = runtime.recording();
  return core && core->works() ? give_on(core, core->device(), pointer, size, space, flags, real) : real();
}

Status give_device(VendorRuntime& runtime, const Real& real, void** pointer, size_t size) {
  return give(runtime, real, pointer, size, Space::kDevice, 0);
}

Status give_pinned(VendorRuntime& runtime, const Real& real, void** pointer, size_t size) {
  return give(runtime, real, pointer, size, Space::kHost, 0);
}

Status give_flagged(VendorRuntime& runtime, const Real& real, void** pointer, size_t size, unsigned flags) {
  return give(runtime, real, pointer, size, Space::kHost, flags);
}

Status give_managed(VendorRuntime& runtime, const Real& real, void** pointer, size_t size, unsigned flags) {
  return give(runtime, real, pointer, size, Space::kHost, flags | kManaged);
}

Status give_rows(VendorRuntime& runtime, const Real& real, void** pointer, size_t* pitch, size_t width, size_t height,
                 ...) {
  size_t padded = 0, size = 0;
  if (!pitch || !rows(runtime.alignment(), width, height, 1, padded, size)) return real();
  size_t untouched = *pitch;
  *pitch = padded;
  auto theirs = [&] {
    *pitch = untouched;
    return real();
  };
  return give_device(runtime, theirs, pointer, size);
}

Status give_box(VendorRuntime& runtime, const Real& real, PitchedPointer* pitched, Extent extent) {
  size_t pitch = 0, size = 0;
  if (!pitched || !rows(runtime.alignment(), extent.width, extent.height, extent.depth, pitch, size)) return real();
  void* memory = nullptr;
  bool ours = true;
  auto theirs = [&] {
    ours = false;
    const Status status = real();
    if (status == kSuccess) memory = pitched->ptr;
    return status;
  };
  const Status status = give_device(runtime, theirs, &memory, size);
  if (ours) *pitched = {memory, pitch, extent.width, extent.height};
  return status;
}

Status give_in(Core* recorder, void* stream, int device, void** pointer, size_t size, const Real& real) {
  bool ours = recorder && recorder->recording() && pointer && size > 0 && Core::is_recorded(device);
  void* memory = ours ? recorder->allocate_in(stream, size, device) : nullptr;
  if (!memory) return give_on(recorder, device, pointer, size, Space::kDevice, 0, real);
  *pointer = memory;
  return kSuccess;
}

Status take_device_back(VendorRuntime& runtime, const Real& real, void* pointer) {
  return take_back(runtime.recorder(), pointer, false, real);
}

Status take_pinned_back(VendorRuntime& runtime, const Real& real, void* pointer) {
  return take_back(runtime.recorder(), pointer, true, real);
}

Status take_back_in(Core* recorder, void* stream, void* pointer, const Real& real) {
  std::optional<Allocations::Known> memory = known_to(recorder, pointer);
  if (!memory || is_host(*memory)) return take_outside_back(recorder, pointer, real);
  return recorder->release_in(stream, pointer) ? kSuccess : real();
}

Status register_host(VendorRuntime& runtime, const Real& real, void* pointer, size_t size, unsigned) {
  const Status status = real();
  if (Core* core = runtime.first_recorder(); core && status == kSuccess) core->add_registered(pointer, size);
  return status;
}

// The recorder registers an arena's memory, and the application must not undo that. For memory of an arena the runtime
// is given an address that nobody has registered.
Status unregister_host(VendorRuntime& runtime, const Next<Status(void*)>& next, void* pointer) {
  Core* core = runtime.recorder();
  if (known_to(core, pointer)) return next(static_cast<char*>(pointer) + 1);
  if (core) core->remove_registered(pointer);
  return next(pointer);
}

Status memory_info(VendorRuntime& runtime, const Real& real, size_t* left, size_t*) {
  const Status status = real();
  Core* core = runtime.recorder();
  if (core && status == kSuccess && left) *left += core->unused_memory(core->device());
  return status;
}

Status host_flags(VendorRuntime& runtime, const Real& real, unsigned* flags, void* host) {
  std::optional<Allocations::Known> memory = known_to(runtime.recorder(), host);
  if (!memory || !flags || !is_host(*memory)) return real();
  *flags = static_cast<unsigned>(memory->flags);
  return kSuccess;
}

Status address_range(VendorRuntime& runtime, const Real& real, void** base, size_t* size, void* pointer) {
  std::optional<Allocations::Known> memory = known_to(runtime.recorder(), pointer);
  if (!memory) return real();
  if (base) *base = reinterpret_cast<void*>(memory->address);
  if (size) *size = memory->size;
  return kSuccess;
}

}  // namespace mneme::record
