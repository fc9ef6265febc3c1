// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that come to the host's own memory by pointers in structures, numbers, variables and memory; and kernels that
// are given such pointers beside others, and leave them alone.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call) \
  if ((call) != hipSuccess) return std::printf("followed_pointers: FAILED in line %d\n", __LINE__), 1

struct View {
  int* host;
  int* device;
};
struct Node {
  int value;
  Node* next;
};
struct Rows {
  int count;
  int* row[4];
};

__device__ int* table[4];

__global__ void structure_host(View view) { view.host[threadIdx.x] += 1; }
__global__ void structure_device(View view) { view.device[threadIdx.x] += 1; }
__global__ void views_host(const View* views) { atomicAdd(&views[threadIdx.x].host[0], 1); }
__global__ void views_device(const View* views) { atomicAdd(&views[threadIdx.x].device[0], 1); }
__global__ void rows_host(Rows rows) { rows.row[threadIdx.x % rows.count][threadIdx.x] += 1; }
__global__ void rows_device(Rows rows) { rows.row[threadIdx.x % rows.count][threadIdx.x] += 1; }
__global__ void number_host(unsigned long long address) { reinterpret_cast<int*>(address)[threadIdx.x] += 1; }
__global__ void number_device(unsigned long long address) { reinterpret_cast<int*>(address)[threadIdx.x] += 1; }
__global__ void table_host(int which) { table[which][threadIdx.x] += 1; }
__global__ void list_host(Node* node) {
  for (; node; node = node->next) node->value += 1;
}
__global__ void list_device(Node* node) {
  for (; node; node = node->next) node->value += 1;
}

int main() {
  constexpr int kThreads = 4;
  int* host = static_cast<int*>(std::calloc(64, sizeof(int)));
  int* device = nullptr;
  CHECK(hipMalloc(&device, 64 * sizeof(int)));
  CHECK(hipMemset(device, 0, 64 * sizeof(int)));

  View view{host, device};
  structure_host<<<1, kThreads>>>(view);
  structure_device<<<1, kThreads>>>(view);
  View* views = nullptr;
  CHECK(hipMalloc(&views, kThreads * sizeof(View)));
  for (int i = 0; i < kThreads; ++i) CHECK(hipMemcpy(views + i, &view, sizeof view, hipMemcpyHostToDevice));
  views_host<<<1, kThreads>>>(views);
  views_device<<<1, kThreads>>>(views);
  rows_host<<<1, kThreads>>>(Rows{2, {device, host}});
  rows_device<<<1, kThreads>>>(Rows{2, {device, device}});
  number_host<<<1, kThreads>>>(reinterpret_cast<unsigned long long>(host));
  number_device<<<1, kThreads>>>(reinterpret_cast<unsigned long long>(device));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), &host, sizeof host, 2 * sizeof host));
  table_host<<<1, kThreads>>>(2);

  Node* nodes = nullptr;
  CHECK(hipMalloc(&nodes, 100 * sizeof(Node)));
  Node* last = new Node{0, nullptr};
  for (int own : {0, 1}) {
    for (int i = 0; i < 100; ++i) {
      Node node{0, i < 99 ? nodes + i + 1 : own ? nullptr : last};
      CHECK(hipMemcpy(nodes + i, &node, sizeof node, hipMemcpyHostToDevice));
    }
    own ? list_device<<<1, 1>>>(nodes) : list_host<<<1, 1>>>(nodes);
  }

  int seen[64] = {};
  CHECK(hipMemcpy(seen, device, sizeof seen, hipMemcpyDeviceToHost));
  bool right = host[1] == 4 && seen[3] == 3 && seen[0] == 8 && host[0] == 7 && last->value == 1;
  std::printf("followed_pointers: %s\n", right ? "ok" : "FAILED");
  return right ? 0 : 1;
}
