// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches of one kernel that tests have variants of: `tuned_launches WAY ROUNDS LAUNCHES BLOCK`. A kernel with a
// constant, with a variable that it reads and with one that it writes. Prints what is left in memory. The rounds of
// "rising" become one more with each launch; "beside" is the same, while another stream has work.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <mneme/MnemeAnnotation.hpp>

#include "../../tests/programs/check.h"

constexpr int kSize = 4096;

__constant__ float factors[4];
__device__ float offset = 0.25f;
__device__ unsigned large;

__global__ void work(const float* in, float* out, int size, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  float value = in[i];
  for (int round = 0; round < rounds; ++round) value = value * factors[round & 3] + offset;
  out[i] += value;
  if (value > 0.5f) atomicAdd(&large, 1u);
}

struct Memory {
  float* in = nullptr;
  float* out = nullptr;

  Memory() {
    check(hipMalloc(&in, kSize * sizeof(float)));
    check(hipMalloc(&out, kSize * sizeof(float)));
    check(hipMemset(out, 0, kSize * sizeof(float)));
    std::vector<float> values(kSize);
    for (int i = 0; i < kSize; ++i) values[i] = 0.01f * (i % 97);
    check(hipMemcpy(in, values.data(), kSize * sizeof(float), hipMemcpyHostToDevice));
    const float all[4] = {0.5f, 1.01f, 0.99f, 0.75f};
    check(hipMemcpyToSymbol(HIP_SYMBOL(factors), all, sizeof all));
  }
  void print(const char* who) const {
    std::vector<float> values(kSize);
    unsigned count = 0;
    check(hipDeviceSynchronize());
    check(hipMemcpy(values.data(), out, kSize * sizeof(float), hipMemcpyDeviceToHost));
    check(hipMemcpyFromSymbol(&count, HIP_SYMBOL(large), sizeof count));
    double sum = 0;
    for (float value : values) sum += value;
    std::printf("%s %.4f %u\n", who, sum, count);
    std::fflush(stdout);
  }
};

static void launch(const Memory& memory, int rounds, int block, hipStream_t stream = nullptr) {
  work<<<kSize / block, block, 0, stream>>>(memory.in, memory.out, kSize, rounds);
}

static void together(const Memory& memory, int rounds, int block) {
  const float* in = memory.in;
  float* out = memory.out;
  int size = kSize;
  void* arguments[] = {&in, &out, &size, &rounds};
  check(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(work), kSize / block, block, arguments, 0, nullptr));
}

static void by_graph(const Memory& memory, int rounds, int launches, int block) {
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t ready;
  check(hipStreamCreate(&stream));
  check(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  launch(memory, rounds, block, stream);
  check(hipStreamEndCapture(stream, &graph));
  check(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < launches; ++i) check(hipGraphLaunch(ready, stream));
  check(hipStreamSynchronize(stream));
}

// A relative difference of a thousandth is right.
static void annotate(const Memory& memory) {
  mneme::Metadata metadata;
  metadata.threshold = 0.001;
  metadata.threshold_kind = mneme::ThresholdKind::Relative;
  metadata.norm = mneme::Norm::Linf;
  mneme::annotate<float>(memory.out, metadata);
}

static void rising(const Memory& memory, int rounds, int launches, int block) {
  for (int i = 0; i < launches; ++i) {
    launch(memory, rounds + i, block);
    check(hipDeviceSynchronize());
  }
}

// The other stream's work lasts as long as the launches do.
static void beside(const Memory& memory, int rounds, int launches, int block) {
  static std::atomic<bool> begun, ended;
  hipStream_t other, own;
  check(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  check(hipStreamCreateWithFlags(&own, hipStreamNonBlocking));
  auto wait = [](hipStream_t, hipError_t, void*) {
    begun = true;
    while (!ended) usleep(100);
  };
  check(hipStreamAddCallback(other, wait, nullptr, 0));
  while (!begun) usleep(100);
  for (int i = 0; i < launches; ++i) launch(memory, rounds + i, block, own);
  const hipError_t error = hipStreamSynchronize(own);
  ended = true;
  check(error);
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "plain";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 64, launches = argc > 3 ? std::atoi(argv[3]) : 4;
  const int block = argc > 4 ? std::atoi(argv[4]) : 128;
  if (std::strcmp(way, "fork") == 0) {
    const pid_t child = fork();
    Memory memory;
    for (int i = 0; i < launches; ++i) launch(memory, rounds, block);
    if (child > 0) waitpid(child, nullptr, 0);
    memory.print(child > 0 ? "parent" : "child");
    return 0;
  }
  int devices = 1;
  if (std::strcmp(way, "devices") == 0) check(hipGetDeviceCount(&devices));
  for (int device = 0; device < devices; ++device) {
    check(hipSetDevice(device));
    Memory memory;
    if (std::strcmp(way, "annotated") == 0) annotate(memory);
    if (std::strcmp(way, "graph") == 0) {
      by_graph(memory, rounds, launches, block);
    } else if (std::strcmp(way, "rising") == 0) {
      rising(memory, rounds, launches, block);
    } else if (std::strcmp(way, "beside") == 0) {
      beside(memory, rounds, launches, block);
    } else if (std::strcmp(way, "cooperative") == 0) {
      for (int i = 0; i < launches; ++i) together(memory, rounds, block);
    } else {
      for (int i = 0; i < launches; ++i) launch(memory, rounds, block);
    }
    memory.print(way);
  }
}
