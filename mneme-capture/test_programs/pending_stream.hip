// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stream waits for what the application does only after it has launched a kernel into another one. Then one that
// waits for its own stream, which another thread lets go on.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <thread>

#define CHECK(call) \
  if ((call) != hipSuccess) return std::printf("pending_stream: FAILED in line %d\n", __LINE__), 1

__global__ void add(int* data, int what) { data[threadIdx.x] += what; }

int main() {
  hipStream_t waiting, other;
  CHECK(hipStreamCreateWithFlags(&waiting, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  int* data = nullptr;
  unsigned* word = nullptr;
  CHECK(hipMalloc(&data, 64 * sizeof(int)));
  CHECK(hipMemset(data, 0, 64 * sizeof(int)));
  CHECK(hipHostMalloc(&word, sizeof *word, 0));
  *word = 0;
  CHECK(hipStreamWaitValue32(waiting, word, 1, hipStreamWaitValueEq, ~0u));
  add<<<1, 64, 0, other>>>(data, 1);
  *const_cast<volatile unsigned*>(word) = 1;
  CHECK(hipDeviceSynchronize());

  CHECK(hipStreamWaitValue32(waiting, word, 2, hipStreamWaitValueEq, ~0u));
  std::thread later([word] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *const_cast<volatile unsigned*>(word) = 2;
  });
  add<<<1, 64, 0, waiting>>>(data, 2);
  CHECK(hipStreamSynchronize(waiting));
  later.join();
  int seen = 0;
  CHECK(hipMemcpy(&seen, data, sizeof seen, hipMemcpyDeviceToHost));
  std::printf("pending_stream: %s\n", seen == 3 ? "ok" : "FAILED");
  return seen == 3 ? 0 : 1;
}
