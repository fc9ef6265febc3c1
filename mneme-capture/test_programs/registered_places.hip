// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels are given memory of malloc and addresses in it, while streams with threads of their own come and go, at
// moments that differ from run to run. Where malloc's memory lies must not.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "../../tests/programs/check.h"

__global__ void increment(char* bytes, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) bytes[i] += 1;
}

__global__ void add_first(char* const* where, int count, int* sum) {
  for (int i = 0; i < count; ++i) *sum += where[i][0];
}

__global__ void reverse_blocks(float* values) {
  __shared__ float own[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  own[threadIdx.x] = values[i];
  __syncthreads();
  values[i] = own[255 - threadIdx.x] + 1;
}

int main() {
  Test test("registered_places");
  constexpr int kRounds = 24, kFloats = 1 << 14;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  auto random = static_cast<unsigned>(now.tv_nsec);
  int* sum = nullptr;
  float* values = nullptr;
  check(hipMalloc(&sum, sizeof *sum));
  check(hipMemset(sum, 0, sizeof *sum));
  check(hipMalloc(&values, kFloats * sizeof *values));
  check(hipMemset(values, 0, kFloats * sizeof *values));
  std::vector<char*> pieces;
  std::vector<std::string> texts;
  int expected = 0;
  for (int round = 0; round < kRounds; ++round) {
    hipStream_t streams[3];
    for (hipStream_t& stream : streams) check(hipStreamCreate(&stream));
    hipStream_t first = streams[round % 3], second = streams[(round + 1) % 3];
    // Some out of the heap, some mapped.
    size_t size = round % 5 == 0 ? 300000 + 1000 * round : 100 + 37 * round;
    auto* piece = static_cast<char*>(std::malloc(size));
    std::memset(piece, round, size);
    pieces.push_back(piece);
    check(hipHostRegister(piece, size, hipHostRegisterDefault));
    increment<<<size / 256 + 1, 256, 0, first>>>(piece, static_cast<int>(size));
    texts.emplace_back(5 * round, 'x');
    hipEvent_t event;
    check(hipEventCreate(&event));
    check(hipEventRecord(event, first));
    check(hipStreamWaitEvent(second, event, 0));
    reverse_blocks<<<kFloats / 256, 256, 0, second>>>(values);
    auto* copy = static_cast<char*>(std::malloc(1000 + round));
    check(hipMemcpyAsync(copy, values, 1000, hipMemcpyDeviceToHost, second));
    // Until threads without work have gone, sometimes.
    usleep(rand_r(&random) % (round % 6 == 0 ? 400000 : 2000));
    if (round % 3 == 0) check(hipDeviceSynchronize());
    if (round % 3 == 1) check(hipStreamSynchronize(first));
    auto** table = static_cast<char**>(std::malloc(pieces.size() * sizeof(char*)));
    std::memcpy(table, pieces.data(), pieces.size() * sizeof(char*));
    check(hipHostRegister(table, pieces.size() * sizeof(char*), hipHostRegisterDefault));
    add_first<<<1, 1>>>(table, static_cast<int>(pieces.size()), sum);
    check(hipDeviceSynchronize());
    for (int i = 0; i <= round; ++i) expected += i + 1;
    check(hipHostUnregister(table));
    if (round % 2) std::free(table);
    std::free(copy);
    check(hipEventDestroy(event));
    for (hipStream_t stream : streams) check(hipStreamDestroy(stream));
  }
  int total = 0;
  check(hipMemcpy(&total, sum, sizeof total, hipMemcpyDeviceToHost));
  test.expect(total == expected, "the sum is wrong");
  return test.finish();
}
