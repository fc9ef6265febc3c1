// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application that uses the device in a thread with a small stack, as those that run many tasks have.
#include <hip/hip_runtime.h>
#include <pthread.h>

#include <cstdio>

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

void* work(void* result) {
  int* data = nullptr;
  int values[64];
  bool ok = hipMalloc(&data, sizeof values) == hipSuccess && hipMemset(data, 0, sizeof values) == hipSuccess;
  for (int i = 1; i <= 3; ++i) add<<<1, 64>>>(data, i);
  ok = ok && hipMemcpy(values, data, sizeof values, hipMemcpyDeviceToHost) == hipSuccess && values[63] == 6;
  *static_cast<bool*>(result) = ok;
  return nullptr;
}

int main() {
  pthread_attr_t attributes;
  pthread_t thread;
  bool ok = false;
  if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, 64 << 10)) return 1;
  if (pthread_create(&thread, &attributes, work, &ok) || pthread_join(thread, nullptr)) return 2;
  std::puts(ok ? "small_stack: ok" : "small_stack: FAILED");
  return ok ? 0 : 3;
}
