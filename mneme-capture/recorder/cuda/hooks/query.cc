// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver that describe pointers, as the application finds them first. Recorded device memory is
// pieces of larger mappings, of which the driver has less to say than of what it allocates.
#include "recorder/core/memory_hooks.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

CALL(Status, cuDevicePrimaryCtxRetain, void**, int)
CALL(Status, cuDevicePrimaryCtxRelease_v2, int)

namespace {

// CU_POINTER_ATTRIBUTE_…
constexpr int kContext = 1, kSynchronises = 6, kBufferId = 7, kIsManaged = 8, kRangeStart = 11, kRangeSize = 12;

template <class T>
bool put(void* data, T value) {
  *static_cast<T*>(data) = value;
  return true;
}

// The runtime's, in which memory of its own lies.
bool put_context(void* data, int device) {
  void* context = nullptr;
  if (next::cuDevicePrimaryCtxRetain(&context, device) != kSuccess) return false;
  next::cuDevicePrimaryCtxRelease_v2(device);
  return put(data, context);
}

// False: what the driver has said (`status`) is right of memory of its own, too.
bool answer(void* data, int which, Status status, const Allocations::Known& memory) {
  if (memory.flags & kManaged && which == kIsManaged) return put(data, true);
  if (memory.space != Space::kDevice) return false;
  switch (which) {
    case kContext:
      return put_context(data, memory.device);
    case kSynchronises:  // unless the application has asked for it, and the driver can
      return status != kSuccess && put(data, false);
    case kBufferId:  // as unique: memory at an address of the arena's is the same memory for good
    case kRangeStart:
      return put(data, memory.address);
    case kRangeSize:
      return put(data, memory.size);
    default:
      return false;
  }
}

Status attribute(CudaRuntime& runtime, const Real& real, void* data, int which, void* pointer) {
  const Status status = real();
  auto memory = known_to(runtime.recorder(), pointer);
  return data && memory && answer(data, which, status, *memory) ? kSuccess : status;
}

Status attributes(CudaRuntime& runtime, const Real& real, unsigned count, int* which, void** data, void* pointer) {
  const Status status = real();
  auto memory = known_to(runtime.recorder(), pointer);
  for (unsigned i = 0; status == kSuccess && memory && i < count; ++i) answer(data[i], which[i], status, *memory);
  return status;
}

}  // namespace

HOOK(attribute, cuPointerGetAttribute, void*, int, void*)
HOOK(attributes, cuPointerGetAttributes, unsigned, int*, void**, void*)

}  // namespace mneme::record::cuda
