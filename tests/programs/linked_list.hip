// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device pointers inside device memory. Lists are built by the host, which writes device addresses, then walked and
// reversed by a kernel; others are built by a kernel. A replay is right only if every address means the same again.

#include "check.h"

struct Node {
  Node* next;
  unsigned long value;
};

constexpr int kLists = 100, kLength = 60, kNodes = kLists * kLength;

// Each thread sums one list and turns it round.
__global__ void sum_and_reverse(Node** heads, unsigned long* sums, int lists) {
  int list = blockIdx.x * blockDim.x + threadIdx.x;
  if (list >= lists) return;
  unsigned long sum = 0;
  Node* reversed = nullptr;
  for (Node* node = heads[list]; node != nullptr;) {
    Node* next = node->next;
    sum = sum * 3 + node->value;  // depends on the order; may wrap around
    node->next = reversed;
    reversed = node;
    node = next;
  }
  heads[list] = reversed;
  sums[list] = sum;
}

// Strings every `lists`-th node together.
__global__ void build(Node* nodes, int count, Node** heads, int lists) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  nodes[i].next = i + lists < count ? &nodes[i + lists] : nullptr;
  nodes[i].value = i + 1;
  if (i < lists) heads[i] = &nodes[i];
}

int main() {
  Test test("linked_list");
  Random random(1);
  std::vector<int> order(kNodes);  // where each node of each list lies: all over the array
  for (int i = 0; i < kNodes; ++i) order[i] = i;
  for (int i = kNodes - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);

  Node* device_nodes = device_array<Node>(kNodes);
  std::vector<Node> nodes(kNodes);
  std::vector<Node*> heads(kLists), want_heads(kLists);
  std::vector<unsigned long> want(kLists, 0);
  for (int list = 0; list < kLists; ++list) {
    const int* places = &order[list * kLength];
    heads[list] = device_nodes + places[0];
    want_heads[list] = device_nodes + places[kLength - 1];
    for (int i = 0; i < kLength; ++i) {
      Node& node = nodes[places[i]];
      node.next = i + 1 < kLength ? device_nodes + places[i + 1] : nullptr;
      node.value = random.below(100);
      want[list] = want[list] * 3 + node.value;
    }
  }
  check(hipMemcpy(device_nodes, nodes.data(), kNodes * sizeof(Node), hipMemcpyHostToDevice));
  Node** device_heads = to_device(heads);
  unsigned long* device_sums = to_device(std::vector<unsigned long>(kLists, 1));
  sum_and_reverse<<<blocks_for(kLists, 64), 64>>>(device_heads, device_sums, kLists);
  check(hipGetLastError());
  test.equal("sum", to_host(device_sums, kLists), want);
  test.expect(to_host(device_heads, kLists) == want_heads, "the heads of the reversed lists are wrong");

  build<<<blocks_for(kNodes, 64), 64>>>(device_nodes, kNodes, device_heads, kLists);
  sum_and_reverse<<<blocks_for(kLists, 64), 64>>>(device_heads, device_sums, kLists);
  check(hipGetLastError());
  for (int list = 0; list < kLists; ++list) {
    want[list] = 0;
    for (int i = list; i < kNodes; i += kLists) want[list] = want[list] * 3 + i + 1;
    want_heads[list] = device_nodes + list + kNodes - kLists;
  }
  test.equal("sum of a list built by a kernel", to_host(device_sums, kLists), want);
  test.expect(to_host(device_heads, kLists) == want_heads, "the heads of lists built by a kernel are wrong");
  check(hipFree(device_nodes));
  check(hipFree(device_heads));
  check(hipFree(device_sums));
  return test.finish();
}
