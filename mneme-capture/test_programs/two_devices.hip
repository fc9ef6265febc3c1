// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two devices, each with memory, streams and variables of its own, at work at the same time and for each other.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

constexpr int kThreads = 64;

__device__ int launches = 100;
__device__ int* last = &launches;

__global__ void fill(int* out, int value) {
  out[threadIdx.x] = value + static_cast<int>(threadIdx.x);
  if (threadIdx.x == 0) ++*last;
}

// `there` is another device's.
__global__ void gather(int* out, const int* here, const int* there) {
  out[threadIdx.x] = 1000 * here[threadIdx.x] + there[threadIdx.x];
}

static void check(bool well, const char* what) {
  if (well) return;
  std::fprintf(stderr, "two_devices: FAILED: %s\n", what);
  std::exit(1);
}
static void check(hipError_t status) { check(status == hipSuccess, hipGetErrorString(status)); }

struct Device {
  int number = 0;
  int *data = nullptr, *out = nullptr;
  hipStream_t stream = nullptr;

  explicit Device(int n) : number(n) {
    check(hipSetDevice(number));
    check(hipMalloc(&data, kThreads * sizeof(int)));
    check(hipMalloc(&out, kThreads * sizeof(int)));
    check(hipStreamCreate(&stream));
    check(hipGetStreamDeviceId(stream) == number, "the stream's device");
    hipPointerAttribute_t attributes{};
    check(hipPointerGetAttributes(&attributes, out));
    check(attributes.device == number && attributes.memoryType == hipMemoryTypeDevice, "the pointer's device");
  }
  int seen(const int* memory, int index) const {
    int value = 0;
    check(hipMemcpy(&value, memory + index, sizeof value, hipMemcpyDeviceToHost));
    return value;
  }
};

int main() {
  int count = 0, current = -1;
  check(hipGetDeviceCount(&count));
  check(count == 2, "there are two devices");
  check(hipGetDevice(&current));
  check(current == 0, "the first is current");
  check(hipSetDevice(2) == hipErrorInvalidDevice, "there is no third");
  Device first(0), second(1);
  check(hipGetDevice(&current));
  check(current == 1, "the second is current");
  std::thread([] {
    int its = -1;
    check(hipGetDevice(&its));
    check(its == 0, "each thread has a current device");
  }).join();

  // One kernel on both: each counts in a variable of its own device.
  for (Device* device : {&first, &second}) {
    check(hipSetDevice(device->number));
    for (int i = 0; i <= device->number; ++i) fill<<<1, kThreads, 0, device->stream>>>(device->data, 5 * (i + 1));
    check(hipDeviceSynchronize());
  }
  for (Device* device : {&first, &second}) {
    check(hipSetDevice(device->number));
    int counted = 0;
    check(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(launches), sizeof counted, 0, hipMemcpyDeviceToHost));
    check(counted == 101 + device->number, "a variable of each device");
    check(device->seen(device->data, 3) == 5 * (device->number + 1) + 3, "what was filled in");
  }

  int can = 0;
  check(hipDeviceCanAccessPeer(&can, 0, 1));
  check(can == 1, "the devices reach each other");
  check(hipSetDevice(0));
  check(hipDeviceEnablePeerAccess(1, 0));
  check(hipDeviceEnablePeerAccess(1, 0) == hipErrorPeerAccessAlreadyEnabled, "enabled once");
  gather<<<1, kThreads, 0, first.stream>>>(first.out, first.data, second.data);
  check(hipStreamSynchronize(first.stream));
  check(first.seen(first.out, 2) == 7012, "what was gathered");
  check(hipMemcpyPeer(second.out, 1, first.out, 0, kThreads * sizeof(int)));
  check(second.seen(second.out, 63) == 68073, "what was copied");
  // A stream's work is done on its device, whichever is current.
  fill<<<1, kThreads, 0, second.stream>>>(second.out, 1);
  check(hipStreamSynchronize(second.stream));
  check(hipSetDevice(1));
  int counted = 0;
  check(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(launches), sizeof counted, 0, hipMemcpyDeviceToHost));
  check(counted == 103, "the stream's device");
  for (Device* device : {&first, &second}) {
    check(hipFree(device->data));
    check(hipFree(device->out));
    check(hipStreamDestroy(device->stream));
  }
  std::fprintf(stderr, "two_devices: ok\n");
  return 0;
}
