// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hipMalloc and its kin.
#include "hostgpu/errors.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/memory/pools.h"
#include "hostgpu/queue/streams.h"

namespace mneme::hostgpu {
namespace {

constexpr size_t kPitch = 256;

constexpr unsigned kHostFlags = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined |
                                hipHostMallocNumaUser | hipHostMallocCoherent | hipHostMallocNonCoherent;

hipError_t give(void** pointer, size_t size, MemoryKind kind, unsigned flags = 0) {
  return answer_on_device([&] {
    require(pointer);
    *pointer = size ? allocate(size, kind, flags) : nullptr;
  });
}

hipError_t give_host(void** pointer, size_t size, unsigned flags) {
  bool both = (flags & hipHostMallocCoherent) && (flags & hipHostMallocNonCoherent);
  if ((flags & ~kHostFlags) || both) return note_error(hipErrorInvalidValue);
  return give(pointer, size, MemoryKind::kPinned, flags);
}

// Rows of `width` bytes, each beginning at a multiple of kPitch.
hipError_t give_rows(void** pointer, size_t* pitch, size_t width, size_t height, size_t depth) {
  return answer_on_device([&] {
    require(pointer && pitch);
    size_t row = 0, size = 0;
    bool wraps = __builtin_add_overflow(width, kPitch - 1, &row);
    row = row / kPitch * kPitch;
    wraps = wraps || __builtin_mul_overflow(row, height, &size) || __builtin_mul_overflow(size, depth, &size);
    require(!wraps, hipErrorOutOfMemory);
    *pitch = row;
    *pointer = size ? allocate(size, MemoryKind::kDevice) : nullptr;
  });
}

// Device and managed memory are freed alike.
void require_start(const void* pointer) {
  auto block = find_block(pointer);
  require(block && block->kind != MemoryKind::kPinned && block->address == reinterpret_cast<uint64_t>(pointer));
}

void take_back(void* pointer) {
  count_out_of_pools(pointer);
  require(release(pointer, false) || release(pointer, true));
}

hipError_t take_back_host(void* pointer) {
  return answer_on_device([&] {
    if (!pointer) return;
    synchronize_devices();
    require(release(pointer, true));
  });
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipMalloc(void** pointer, size_t size) { return give(pointer, size, MemoryKind::kDevice); }

hipError_t hipExtMallocWithFlags(void** pointer, size_t size, unsigned flags) {
  return give(pointer, size, MemoryKind::kDevice, flags);
}

hipError_t hipMallocAsync(void** pointer, size_t size, hipStream_t stream) {
  if (hipError_t bad = check_stream(stream); bad != hipSuccess) return bad;
  hipError_t given = give(pointer, size, MemoryKind::kDevice);
  if (given == hipSuccess && *pointer) count_in_current_pool(*pointer, size);
  return given;
}

hipError_t hipFree(void* pointer) {
  return answer_on_device([&] {
    if (!pointer) return;
    require_start(pointer);
    synchronize_devices();  // kernels may be using it still
    take_back(pointer);
  });
}

hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return answer_on_device([&] {
    std::shared_ptr<Queue> queue = queue_of(stream);
    if (!pointer) return;
    require_start(pointer);
    // A graph that is noted down goes on using it, each time that it is launched: it stays.
    if (is_captured(queue)) return;
    Operation operation;
    operation.work = make_work([pointer] { take_back(pointer); });
    operation.always = true;
    submit(queue, std::move(operation), Promptness::kLight);
  });
}

hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return give_rows(pointer, pitch, width, height, 1);
}

hipError_t hipMemAllocPitch(hipDeviceptr_t* pointer, size_t* pitch, size_t width, size_t height, unsigned element) {
  if (element != 4 && element != 8 && element != 16) return note_error(hipErrorInvalidValue);
  return give_rows(pointer, pitch, width, height, 1);
}

hipError_t hipMalloc3D(hipPitchedPtr* pitched, hipExtent extent) {
  if (!pitched) return note_error(hipErrorInvalidValue);
  hipError_t result = give_rows(&pitched->ptr, &pitched->pitch, extent.width, extent.height, extent.depth);
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return result;
}

hipError_t hipMallocManaged(void** pointer, size_t size, unsigned flags) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) return note_error(hipErrorInvalidValue);
  return give(pointer, size, MemoryKind::kManaged, flags);
}

hipError_t hipHostMalloc(void** pointer, size_t size, unsigned flags) { return give_host(pointer, size, flags); }
hipError_t hipHostAlloc(void** pointer, size_t size, unsigned flags) { return give_host(pointer, size, flags); }
hipError_t hipMallocHost(void** pointer, size_t size) { return give(pointer, size, MemoryKind::kPinned); }
hipError_t hipMemAllocHost(void** pointer, size_t size) { return give(pointer, size, MemoryKind::kPinned); }
hipError_t hipHostFree(void* pointer) { return take_back_host(pointer); }
hipError_t hipFreeHost(void* pointer) { return take_back_host(pointer); }

hipError_t hipMemGetInfo(size_t* left, size_t* total) {
  return answer([&] {
    require(left && total);
    *total = total_memory();
    *left = total_memory() - used_memory(current_device());
  });
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return answer([&] {
    check_device(device);
    require(bytes);
    *bytes = total_memory();
  });
}

}  // extern "C"
