// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One template instantiated for three types: y = a * x + y in place, from pinned memory, with asynchronous copies,
// every type on a stream of its own.

#include "check.h"

template <class T>
__global__ void saxpy(T a, const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Everything that one type needs while its stream works.
template <class T>
struct Job {
  static constexpr int kCount = 30011;

  explicit Job(std::uint64_t seed, T scale) : a(scale) {
    Random random(seed);
    x = random.values(kCount, T(-100), T(100));
    y = random.values(kCount, T(-100), T(100));
    check(hipStreamCreate(&stream));
    void* memory = nullptr;
    check(hipHostMalloc(&memory, kCount * sizeof(T), hipHostMallocDefault));
    pinned = static_cast<T*>(memory);
    for (int i = 0; i < kCount; ++i) pinned[i] = y[i];
    device_x = to_device(x);
    device_y = device_array<T>(kCount);
  }

  void start() {
    check(hipMemcpyAsync(device_y, pinned, kCount * sizeof(T), hipMemcpyHostToDevice, stream));
    saxpy<T><<<blocks_for(kCount, 128), 128, 0, stream>>>(a, device_x, device_y, kCount);
    check(hipGetLastError());
    check(hipMemcpyAsync(pinned, device_y, kCount * sizeof(T), hipMemcpyDeviceToHost, stream));
  }

  void finish(Test& test, const char* what, double tolerance) {
    check(hipStreamSynchronize(stream));
    std::vector<T> want(kCount);
    for (int i = 0; i < kCount; ++i) want[i] = a * x[i] + y[i];
    // The device may fuse the multiplication and the addition, so floating point is only close.
    test.close(what, std::vector<T>(pinned, pinned + kCount), want, tolerance);
    check(hipHostFree(pinned));
    check(hipFree(device_x));
    check(hipFree(device_y));
    check(hipStreamDestroy(stream));
  }

  T a;
  std::vector<T> x, y;
  T* pinned = nullptr;
  T* device_x = nullptr;
  T* device_y = nullptr;
  hipStream_t stream = nullptr;
};

int main() {
  Test test("saxpy_template");
  Job<float> floats(1, 2.5f);
  Job<double> doubles(2, -1.25);
  Job<int> integers(3, 7);
  floats.start();
  doubles.start();
  integers.start();
  floats.finish(test, "float", 1e-4);
  doubles.finish(test, "double", 1e-12);
  integers.finish(test, "int", 0);
  return test.finish();
}
