// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is used of NVIDIA's profiling interface, CUPTI, declared by us; the library is looked for at run time.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mneme::device::cuda {

using CuptiResult = int;  // 0: all is well

inline constexpr int kActivityKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
inline constexpr uint32_t kFlushForced = 1;

// How a record of a kernel begins, whichever its version.
struct KernelActivity {
  int kind;
  unsigned char cache_configuration, shared_configuration;
  uint16_t registers;
  int partitioned_cache[2];
  uint64_t start, end;  // nanoseconds, of the GPU's clock
};

struct Cupti {
  CuptiResult (*cuptiActivityEnable)(int kind);
  CuptiResult (*cuptiActivityRegisterCallbacks)(void (*requested)(uint8_t** buffer, size_t* size, size_t* records),
                                                void (*completed)(void* context, uint32_t stream, uint8_t* buffer,
                                                                  size_t size, size_t valid));
  CuptiResult (*cuptiActivityFlushAll)(uint32_t how);
  CuptiResult (*cuptiActivityGetNextRecord)(uint8_t* buffer, size_t valid, void** record);
};

}  // namespace mneme::device::cuda
