// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that come to the host's own memory by pointers in structures, numbers, variables and memory, and by pointers
// that only show when they run: stored by the kernel itself, made of bits or sums, packed; and kernels that are given
// pointers to it beside others, and leave them alone, for a reason that may show only then, too.
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

// A vector of elements that are views, with room for more.
struct Vector {
  View* data;
  int size, capacity;
};
struct [[gnu::packed]] Packed {
  char kind;
  int* pointer;
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
__global__ void sum_host(unsigned long long from, unsigned long long by) {
  reinterpret_cast<int*>(from + by)[threadIdx.x] += 1;
}
__global__ void sum_device(unsigned long long from, unsigned long long by) {
  reinterpret_cast<int*>(from + by)[threadIdx.x] += 1;
}
__global__ void distant_host(int* from, long elements) { from[elements + threadIdx.x] += 1; }
struct Far {
  int* from;
  long elements;
};
__global__ void far_host(Far far) { far.from[far.elements + threadIdx.x] += 1; }
__global__ void far_memory_host(const Far* far, int* from) { from[3 * threadIdx.x - far->elements] += 1; }
__global__ void far_device(Far far, const Far* other, int* from) {
  if (other->elements != far.elements) return;
  from[far.elements * 4 + other->elements + threadIdx.x] += 1;
}
__global__ void table_host(int which) { table[which][threadIdx.x] += 1; }
__global__ void list_host(Node* node) {
  for (; node; node = node->next) node->value += 1;
}
__global__ void list_device(Node* node) {
  for (; node; node = node->next) node->value += 1;
}

// Reads a pointer that is not in memory before the launch.
__global__ void stored_host(int** place, View view) {
  if (threadIdx.x == 0) place[0] = view.host;
  __syncthreads();
  place[0][threadIdx.x] += 1;
}
__global__ void coded_host(const unsigned long long* coded, unsigned long long key) {
  reinterpret_cast<int*>(*coded ^ key)[threadIdx.x] += 1;
}
__global__ void packed_host(const Packed* packed, int which) { packed[which].pointer[threadIdx.x] += 1; }
__global__ void packed_device(const Packed* packed, int which) { packed[which].pointer[threadIdx.x] += 1; }
__global__ void chosen_device(View view, int flag) { (flag ? view.device : view.host)[threadIdx.x] += 1; }
__global__ void elements_device(Vector vector) {
  for (int i = 0; i < vector.size; ++i) vector.data[i].device[threadIdx.x] += 1;
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
  constexpr unsigned long long kAway = 0x123456789000;
  sum_host<<<1, kThreads>>>(reinterpret_cast<unsigned long long>(host) - kAway, kAway);
  sum_device<<<1, kThreads>>>(reinterpret_cast<unsigned long long>(device) - kAway, kAway);
  distant_host<<<1, kThreads>>>(device, host - device);
  far_host<<<1, kThreads>>>(Far{device, host - device});
  Far far{device, device - host}, *far_memory = nullptr;
  CHECK(hipMalloc(&far_memory, sizeof far));
  CHECK(hipMemcpy(far_memory, &far, sizeof far, hipMemcpyHostToDevice));
  far_memory_host<<<1, 1>>>(far_memory, device);
  Far near{device, 0}, *near_memory = nullptr;
  CHECK(hipMalloc(&near_memory, sizeof near));
  CHECK(hipMemcpy(near_memory, &near, sizeof near, hipMemcpyHostToDevice));
  far_device<<<1, kThreads>>>(near, near_memory, device);
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

  int** place = nullptr;
  CHECK(hipMalloc(&place, sizeof *place));
  CHECK(hipMemset(place, 0, sizeof *place));
  stored_host<<<1, kThreads>>>(place, view);
  constexpr unsigned long long kKey = 0x0123456789abcdef;
  unsigned long long code = reinterpret_cast<unsigned long long>(host) ^ kKey, *coded = nullptr;
  CHECK(hipMalloc(&coded, sizeof code));
  CHECK(hipMemcpy(coded, &code, sizeof code, hipMemcpyHostToDevice));
  coded_host<<<1, kThreads>>>(coded, kKey);
  Packed pair[2] = {{1, device}, {2, host}}, *packed = nullptr;
  CHECK(hipMalloc(&packed, sizeof pair));
  CHECK(hipMemcpy(packed, pair, sizeof pair, hipMemcpyHostToDevice));
  packed_host<<<1, kThreads>>>(packed, 1);
  packed_device<<<1, kThreads>>>(packed, 0);
  chosen_device<<<1, kThreads>>>(view, 1);
  View stale{host, host};  // behind the vector's end
  CHECK(hipMemcpy(views + 2, &stale, sizeof stale, hipMemcpyHostToDevice));
  elements_device<<<1, kThreads>>>(Vector{views, 2, kThreads});

  int seen[64] = {};
  CHECK(hipMemcpy(seen, device, sizeof seen, hipMemcpyDeviceToHost));
  bool right = host[1] == 10 && seen[3] == 9 && seen[0] == 14 && host[0] == 14 && last->value == 1;
  std::printf("followed_pointers: %s\n", right ? "ok" : "FAILED");
  return right ? 0 : 1;
}
