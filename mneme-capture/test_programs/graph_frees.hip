// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph that was noted down from a stream frees the memory that its kernels work in, and works in it again each time
// that it is launched: what is allocated meanwhile lies elsewhere.
#include "../../tests/programs/check.h"

constexpr int kCount = 1024;

__global__ void fill(int* data, int value) { data[threadIdx.x] = value; }
__global__ void add(const int* data, int* sum) { sum[threadIdx.x] += data[threadIdx.x]; }

int main() {
  Test test("graph_frees");
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t ready;
  int *scratch = nullptr, *other = nullptr;
  int* sum = to_device(std::vector<int>(kCount, 0));
  check(hipStreamCreate(&stream));
  check(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  check(hipMallocAsync((void**)&scratch, kCount * sizeof(int), stream));
  fill<<<1, kCount, 0, stream>>>(scratch, 3);
  add<<<1, kCount, 0, stream>>>(scratch, sum);
  check(hipFreeAsync(scratch, stream));
  check(hipStreamEndCapture(stream, &graph));
  check(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  check(hipMalloc((void**)&other, kCount * sizeof(int)));
  check(hipMemset(other, 0, kCount * sizeof(int)));
  for (int times = 0; times < 3; ++times) check(hipGraphLaunch(ready, stream));
  check(hipStreamSynchronize(stream));
  test.equal("sum", to_host(sum, kCount), std::vector<int>(kCount, 9));
  test.equal("other memory", to_host(other, kCount), std::vector<int>(kCount, 0));
  return test.finish();
}
