// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frees memory in the order of a stream that waits for the application: a kernel that was launched before uses it
// after, and no other stream may have it until then. The stream itself has it again at once.
#include <hip/hip_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

constexpr int kCount = 64;

__global__ void set(int* data, int value) { data[threadIdx.x] = value; }
__global__ void add(const int* data, int* sum) { sum[threadIdx.x] += data[threadIdx.x]; }

std::atomic<bool> ready{false};

void wait_until_ready(hipStream_t, hipError_t, void*) {
  while (!ready) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool succeeds(hipError_t status) { return status == hipSuccess; }

int main() {
  hipStream_t waiting, other;
  int *data, *sum, *again, *next;
  bool ok = succeeds(hipStreamCreate(&waiting)) && succeeds(hipStreamCreate(&other)) &&
            succeeds(hipMallocAsync((void**)&data, kCount * sizeof(int), waiting)) &&
            succeeds(hipMalloc((void**)&sum, kCount * sizeof(int))) &&
            succeeds(hipMemset(sum, 0, kCount * sizeof(int)));
  set<<<1, kCount>>>(data, 7);
  ok = ok && succeeds(hipDeviceSynchronize()) && succeeds(hipStreamAddCallback(waiting, wait_until_ready, nullptr, 0));
  add<<<1, kCount, 0, waiting>>>(data, sum);
  ok = ok && succeeds(hipFreeAsync(data, waiting)) &&
       succeeds(hipMallocAsync((void**)&next, kCount * sizeof(int), other));
  set<<<1, kCount, 0, other>>>(next, 1000);
  ok = ok && succeeds(hipStreamSynchronize(other)) && !succeeds(hipFreeAsync(data, waiting)) &&
       succeeds(hipMallocAsync((void**)&again, kCount * sizeof(int), waiting));
  set<<<1, kCount, 0, waiting>>>(again, 3);
  ready = true;
  int sums[kCount] = {};
  ok = ok && succeeds(hipDeviceSynchronize()) && succeeds(hipMemcpy(sums, sum, sizeof sums, hipMemcpyDeviceToHost));
  for (int value : sums) ok = ok && value == 7;
  std::puts(ok ? "stream_frees: ok" : "stream_frees: FAILED");
  return ok ? 0 : 1;
}
