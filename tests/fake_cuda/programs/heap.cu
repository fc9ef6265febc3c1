// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that allocate memory by themselves: lists that one builds and others walk and shorten, in launches and in a
// graph.
#include "cuda.h"

extern "C" {
int cudaStreamBeginCapture(cudaStream_t, int);
int cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
int cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
int cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
}

__device__ extern "C" void* malloc(size_t);
__device__ extern "C" void free(void*);

struct Node {
  Node* next;
  int value;
};

__global__ void build(Node** lists, int count) {
  Node* list = lists[index()];
  for (int i = 0; i < count; ++i) {
    auto* node = static_cast<Node*>(malloc(sizeof(Node)));
    node->next = list;
    node->value = static_cast<int>(index()) * 10 + i;
    list = node;
  }
  lists[index()] = list;
}

__global__ void thin(Node** lists) {
  for (Node* node = lists[index()]; node && node->next; node = node->next) {
    Node* gone = node->next;
    node->next = gone->next;
    free(gone);
  }
}

__global__ void sum(Node* const* lists, int* out) {
  int total = 0;
  for (const Node* node = lists[index()]; node; node = node->next) total += node->value;
  out[index()] = total;
}

int main() {
  constexpr int kThreads = 8, kMallocHeapSize = 2;
  CHECK(cudaDeviceSetLimit(kMallocHeapSize, 64 << 20) == 0);
  void *lists = nullptr, *out = nullptr;
  int host[kThreads];
  auto check = [&](auto expected) {
    sum<<<1, kThreads>>>(static_cast<Node* const*>(lists), static_cast<int*>(out));
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == 0);
    for (int i = 0; i < kThreads; ++i) CHECK(host[i] == expected(i));
  };
  CHECK(cudaMalloc(&lists, kThreads * sizeof(Node*)) == 0);
  CHECK(cudaMalloc(&out, sizeof host) == 0);
  CHECK(cudaMemset(lists, 0, kThreads * sizeof(Node*)) == 0);

  // The first launch of the module's code is noted down.
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamCreate(&stream) == 0);
  CHECK(cudaStreamBeginCapture(stream, 0) == 0);
  build<<<1, kThreads, 0, stream>>>(static_cast<Node**>(lists), 3);
  CHECK(cudaStreamEndCapture(stream, &graph) == 0);
  CHECK(cudaGraphInstantiate(&executable, graph, 0) == 0);
  CHECK(cudaGraphLaunch(executable, stream) == 0);
  CHECK(cudaStreamSynchronize(stream) == 0);
  check([](int i) { return 30 * i + 3; });

  thin<<<1, kThreads>>>(static_cast<Node**>(lists));
  build<<<1, kThreads>>>(static_cast<Node**>(lists), 2);
  check([](int i) { return 40 * i + 2 + 1; });
  std::puts("heap: ok");
}
