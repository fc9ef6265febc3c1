// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One graph that is launched in several streams in turn: each time it goes on with what the time before has left. Its
// kernels take long enough for launches in other streams to come before their end: so many steps, which is an argument.
#include "cuda.h"
#include "graphs.h"

__global__ void slowly(unsigned* out, unsigned steps) {
  unsigned value = *out;
  for (unsigned i = 0; i < steps; ++i) value = value * 1664525u + 1013904223u;
  *out = value;
}

int main(int count, char** arguments) {
  const unsigned steps = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 30000000;
  void* data = nullptr;
  unsigned value = 0;
  cudaStream_t streams[3];
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaMalloc(&data, 256) == 0 && cudaMemset(data, 0, 256) == 0 && cudaDeviceSynchronize() == 0);
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreate(&stream) == 0);
  CHECK(cudaStreamBeginCapture(streams[0], 0) == 0);
  for (unsigned i = 0; i < 2; ++i) slowly<<<1, 1, 0, streams[0]>>>(static_cast<unsigned*>(data), steps + i);
  CHECK(cudaStreamEndCapture(streams[0], &graph) == 0 && cudaGraphInstantiateWithFlags(&ready, graph, 0) == 0);
  for (unsigned i = 0; i < 6; ++i) CHECK(cudaGraphLaunch(ready, streams[i % 3]) == 0);
  CHECK(cudaDeviceSynchronize() == 0 && cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost) == 0);
  std::printf("graph_streams: %u\n", value);
}
