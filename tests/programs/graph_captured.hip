// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph captured from two streams that fork and join, launched many times.
#include "check.h"

__global__ void step(float* to, const float* from, unsigned n, float weight) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = from[i == 0 ? n - 1 : i - 1], right = from[i + 1 == n ? 0 : i + 1];
  to[i] = weight * from[i] + (1 - weight) * 0.5f * (left + right);
}

__global__ void add(float* to, const float* from, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = 0.5f * (to[i] + from[i]);
}

int main() {
  Test test("graph_captured");
  constexpr unsigned kCount = 2000, kBlock = 128, kTimes = 10;
  std::vector<float> start = Random(5).values<float>(kCount, 0, 1);
  float *a = to_device(start), *b = device_array<float>(kCount), *c = device_array<float>(kCount);
  check(hipMemset(b, 0, kCount * sizeof(float)));
  check(hipMemset(c, 0, kCount * sizeof(float)));

  hipStream_t stream, other;
  check(hipStreamCreate(&stream));
  check(hipStreamCreate(&other));
  hipEvent_t fork, join;
  check(hipEventCreate(&fork));
  check(hipEventCreate(&join));
  unsigned blocks = blocks_for(kCount, kBlock);
  check(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  check(hipEventRecord(fork, stream));
  check(hipStreamWaitEvent(other, fork, 0));
  step<<<blocks, kBlock, 0, stream>>>(b, a, kCount, 0.5f);
  step<<<blocks, kBlock, 0, other>>>(c, a, kCount, 0.25f);
  check(hipEventRecord(join, other));
  check(hipStreamWaitEvent(stream, join, 0));
  add<<<blocks, kBlock, 0, stream>>>(b, c, kCount);
  check(hipMemcpyAsync(a, b, kCount * sizeof(float), hipMemcpyDeviceToDevice, stream));
  hipGraph_t graph;
  check(hipStreamEndCapture(stream, &graph));
  test.equal("before it is launched", to_host(a, kCount), start);
  size_t nodes = 0, edges = 0;
  check(hipGraphGetNodes(graph, nullptr, &nodes));
  check(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  test.equal("nodes", nodes, size_t{4});
  test.equal("edges", edges, size_t{3});

  hipGraphExec_t exec;
  check(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  check(hipGraphDestroy(graph));
  for (unsigned t = 0; t < kTimes; ++t) check(hipGraphLaunch(exec, t % 2 ? other : stream));
  check(hipStreamSynchronize(stream));
  check(hipStreamSynchronize(other));

  std::vector<float> want = start, next(kCount);
  for (unsigned t = 0; t < kTimes; ++t) {
    for (unsigned i = 0; i < kCount; ++i) {
      float sides = 0.5f * (want[i == 0 ? kCount - 1 : i - 1] + want[i + 1 == kCount ? 0 : i + 1]);
      next[i] = 0.5f * ((0.5f * want[i] + 0.5f * sides) + (0.25f * want[i] + 0.75f * sides));
    }
    want.swap(next);
  }
  test.close("result", to_host(a, kCount), want, 1e-5);
  check(hipGraphExecDestroy(exec));
  for (float* memory : {a, b, c}) check(hipFree(memory));
  for (hipStream_t s : {stream, other}) check(hipStreamDestroy(s));
  for (hipEvent_t event : {fork, join}) check(hipEventDestroy(event));
  return test.finish();
}
