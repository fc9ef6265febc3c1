// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Applications that are at work on the device still when the process ends:
//
//   last_moments destructor   threads that a destructor waits for: one with a long kernel, others that wait for that
//   last_moments detached     threads that nobody waits for, which launch and copy for ever
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

__global__ void slow(unsigned* out, unsigned steps) {
  unsigned x = 1;
  for (unsigned i = 0; i < steps; ++i) x = x * 1664525 + 1013904223 + (x >> 7);
  *out = x | 1;
}

void check(bool right, const char* what) { std::printf("%s: %s\n", what, right ? "right" : "WRONG"); }

// Made before the device is used, so that it is destroyed after what the runtime has to do at the end.
struct Workers {
  unsigned* data = nullptr;
  ~Workers() {
    if (!data) return;
    std::thread launches([&] {
      slow<<<1, 1>>>(data, 400'000'000);
      check(hipDeviceSynchronize() == hipSuccess, "the kernel");
    });
    ::usleep(50'000);
    static unsigned value = 0;
    std::thread copies([&] {
      check(hipMemcpy(&value, data, sizeof value, hipMemcpyDeviceToHost) == hipSuccess && value != 0, "the copy");
    });
    copies.join();
    launches.join();
    std::fflush(stdout);
  }
};

Workers& workers() {
  static Workers workers;
  return workers;
}

void launch_for_ever() {
  unsigned* data = nullptr;
  if (hipMalloc(&data, sizeof *data) != hipSuccess) return;
  for (unsigned i = 0, value = 0;; ++i) {
    slow<<<1, 1>>>(data, i % 1000);
    if (hipMemcpy(&value, data, sizeof value, hipMemcpyDeviceToHost) != hipSuccess) return;
  }
}

int main(int, char** arguments) {
  if (std::string(arguments[1]) == "detached") {
    for (int i = 0; i < 4; ++i) std::thread(launch_for_ever).detach();
    ::usleep(50'000);
    return 12;
  }
  Workers& last = workers();
  unsigned* data = nullptr;
  if (hipMalloc(&data, sizeof *data) != hipSuccess) return 1;
  slow<<<1, 1>>>(data, 10);
  if (hipMemset(data, 0, sizeof *data) != hipSuccess || hipDeviceSynchronize() != hipSuccess) return 2;
  last.data = data;
  return 12;
}
