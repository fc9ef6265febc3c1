// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that reach memory of which no recording can be made: the host's own, which the host device and some GPUs can
// use, and memory that is mapped at two addresses. A last one reaches nothing of the sort.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call) \
  if ((call) != hipSuccess) return std::printf("unrecorded_memory: FAILED in line %d\n", __LINE__), 1

__global__ void use_pointer(int* data) { data[threadIdx.x] += 1; }
__global__ void follow_pointer(int** data) { (*data)[threadIdx.x] += 2; }
__global__ void use_recorded(int* data, int* end) {
  for (int* at = data + threadIdx.x; at < end; at += blockDim.x) *at += 4;
}

int main() {
  int* ordinary = static_cast<int*>(std::calloc(64, sizeof(int)));
  use_pointer<<<1, 64>>>(ordinary);

  hipMemAllocationProp properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  size_t piece = 0;
  CHECK(hipMemGetAllocationGranularity(&piece, &properties, hipMemAllocationGranularityMinimum));
  hipMemAccessDesc access{properties.location, hipMemAccessFlagsProtReadWrite};
  hipMemGenericAllocationHandle_t handle{};
  CHECK(hipMemCreate(&handle, piece, &properties, 0));
  void* twice[2] = {};
  for (void*& place : twice) {
    CHECK(hipMemAddressReserve(&place, piece, 0, nullptr, 0));
    CHECK(hipMemMap(place, piece, 0, handle, 0));
    CHECK(hipMemSetAccess(place, piece, &access, 1));
  }
  CHECK(hipMemset(twice[0], 0, piece));
  int** holder = nullptr;
  CHECK(hipMalloc(&holder, sizeof *holder));
  CHECK(hipMemcpy(holder, &twice[1], sizeof *holder, hipMemcpyHostToDevice));
  follow_pointer<<<1, 64>>>(holder);

  CHECK(hipMemset(holder, 0, sizeof *holder));  // the address is nowhere any more
  int* data = nullptr;
  CHECK(hipMalloc(&data, 100 * sizeof *data));
  CHECK(hipMemset(data, 0, 100 * sizeof *data));
  use_recorded<<<1, 64>>>(data, data + 100);
  CHECK(hipDeviceSynchronize());

  int seen = 0, last = 0;
  CHECK(hipMemcpy(&seen, twice[0], sizeof seen, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&last, data + 99, sizeof last, hipMemcpyDeviceToHost));
  bool right = ordinary[63] == 1 && seen == 2 && last == 4;
  std::printf("unrecorded_memory: %s\n", right ? "ok" : "FAILED");
  return right ? 0 : 1;
}
