// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// malloc() and free() in kernels: lists that one kernel builds and others walk, change and release; sizes from one byte
// to many; memory that comes back; alignment; free(nullptr).

#include "check.h"

struct Node {
  Node* next;
  int value;
};

// A list of `id % 7 + 1` nodes for each thread, the last value first.
__global__ void build(Node** lists, int n) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  Node* list = nullptr;
  for (int i = 0; i <= id % 7; ++i) {
    auto* node = static_cast<Node*>(malloc(sizeof(Node)));
    node->next = list;
    node->value = id * 10 + i;
    list = node;
  }
  lists[id] = list;
}

__global__ void sum(Node* const* lists, int* sums, int n) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  int total = 0;
  for (const Node* node = lists[id]; node; node = node->next) total += node->value;
  sums[id] = total;
}

// Releases every second node.
__global__ void thin(Node** lists, int n) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  for (Node* node = lists[id]; node && node->next; node = node->next) {
    Node* gone = node->next;
    node->next = gone->next;
    free(gone);
  }
  free(nullptr);
}

// Memory of many sizes, filled and read back by its owner with barriers between, and released.
__global__ void churn(unsigned* good, int n) {
  __shared__ unsigned char* pieces[64];
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned ok = 0;
  for (int turn = 0; turn < 4; ++turn) {
    unsigned size = 1 + (id * 37 + turn * 411) % 1500;
    pieces[threadIdx.x] = static_cast<unsigned char*>(malloc(size));
    __syncthreads();
    unsigned char* other = pieces[63 - threadIdx.x];
    unsigned other_size = 1 + ((id / 64 * 64 + 63 - threadIdx.x) * 37 + turn * 411) % 1500;
    for (unsigned i = 0; i < other_size; ++i) other[i] = static_cast<unsigned char>(id + i);
    __syncthreads();
    unsigned char* mine = pieces[threadIdx.x];
    unsigned writer = id / 64 * 64 + 63 - threadIdx.x;
    bool same = mine && reinterpret_cast<std::size_t>(mine) % 16 == 0;
    for (unsigned i = 0; same && i < size; ++i) same = mine[i] == static_cast<unsigned char>(writer + i);
    ok += same;
    __syncthreads();
    free(mine);
  }
  if (id < n) good[id] = ok;
}

int main() {
  Test test("device_heap");
  const int n = 500;
  Node** lists = device_array<Node*>(n);
  int* sums = device_array<int>(n);
  unsigned* good = device_array<unsigned>(n);
  check(hipMemset(good, 0, n * sizeof(unsigned)));
  build<<<blocks_for(n, 64), 64>>>(lists, n);
  check(hipGetLastError());
  std::vector<int> want(n), thinned(n);
  for (int id = 0; id < n; ++id) {
    for (int i = 0; i <= id % 7; ++i) {
      want[id] += id * 10 + i;
      if ((id % 7 - i) % 2 == 0) thinned[id] += id * 10 + i;
    }
  }
  sum<<<blocks_for(n, 64), 64>>>(lists, sums, n);
  test.equal("sums", to_host(sums, n), want);
  thin<<<blocks_for(n, 64), 64>>>(lists, n);
  sum<<<blocks_for(n, 64), 64>>>(lists, sums, n);
  test.equal("thinned", to_host(sums, n), thinned);
  churn<<<blocks_for(n, 64), 64>>>(good, n);
  test.equal("good", to_host(good, n), std::vector<unsigned>(n, 4));
  sum<<<blocks_for(n, 64), 64>>>(lists, sums, n);
  test.equal("still there", to_host(sums, n), thinned);
  check(hipFree(lists));
  check(hipFree(sums));
  check(hipFree(good));
  return test.finish();
}
