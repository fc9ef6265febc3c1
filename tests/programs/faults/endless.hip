// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that waits for as long as a value in memory tells it to.
//
//     endless            the value says: go on
//     endless forever    it says: wait, and nobody ever changes it
//     endless released   the value lies in host memory and says: wait; another thread changes it when the kernel runs.
//                        The application ends well; a replay of the launch, with the memory of its start, never does.

#include <chrono>
#include <string>
#include <thread>

#include "../check.h"

// The load is volatile, so that each turn looks at memory again and the loop counts as doing something.
// Behind what says whether to wait it says that it runs.
__global__ void wait_and_double(int* wait, int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  static_cast<volatile int*>(wait)[1] = 1;
  while (*static_cast<const volatile int*>(wait) != 0) {
  }
  if (i < n) data[i] *= 2;
}

int main(int argc, char** argv) {
  Test test("endless");
  const std::string mode = argc > 1 ? argv[1] : "";
  const int n = 1000;
  std::vector<int> values = Random(1).values(n, 1, 1000);
  std::vector<int> want = values;
  for (int& value : want) value *= 2;
  int* data = to_device(values);

  void* memory = nullptr;
  check(hipHostMalloc(&memory, 2 * sizeof(int), hipHostMallocMapped | hipHostMallocCoherent));
  volatile int* host_wait = static_cast<int*>(memory);
  host_wait[0] = 1;
  host_wait[1] = 0;
  int* device_wait = to_device(std::vector<int>{mode == "forever", 0});
  void* wait = device_wait;
  std::thread releaser;
  if (mode == "released") {
    check(hipHostGetDevicePointer(&wait, memory, 0));
    releaser = std::thread([host_wait] {
      while (host_wait[1] == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      host_wait[0] = 0;
    });
  }

  wait_and_double<<<blocks_for(n, 64), 64>>>(static_cast<int*>(wait), data, n);
  check(hipGetLastError());
  check(hipDeviceSynchronize());
  if (releaser.joinable()) releaser.join();
  test.equal("data", to_host(data, n), want);
  check(hipFree(data));
  check(hipFree(device_wait));
  check(hipHostFree(memory));
  return test.finish();
}
