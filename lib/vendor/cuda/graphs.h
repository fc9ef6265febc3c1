// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes of graphs that allocate memory or have conditions, in NVIDIA's runtime and driver alike, declared by us: the
// recorder and the stand-in for the runtime have others in their place. graphs_test.cc compares it with the toolkit's
// headers where there is one.
#pragma once
#include <cstddef>

namespace mneme::vendor::cuda {

// cudaGraphNodeType, CUgraphNodeType
inline constexpr int kKernelNode = 0, kCopyNode = 1, kFillNode = 2, kHostNode = 3, kGraphNode = 4, kEmptyNode = 5,
                     kWaitNode = 6, kRecordNode = 7, kAllocationNode = 10, kFreeNode = 11, kConditionNode = 13;

struct AllocationNode {  // cudaMemAllocNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS
  int type, handle_types;
  int location_type, device;
  void* attributes;
  size_t most;
  char reserved[56];
  const void* access;
  size_t access_count, size;
  void* pointer;  // written where the node is added
};

struct ChildNode {  // cudaChildGraphNodeParams, CUDA_CHILD_GRAPH_NODE_PARAMS
  void* graph;
  int ownership;  // before 12.9 it is not there, and zero
};
inline constexpr int kOwnershipMove = 1;

struct ConditionNode {  // cudaConditionalNodeParams, CUDA_CONDITIONAL_NODE_PARAMS
  unsigned long long handle;
  int kind;  // if, while, switch: 0, 1, 2
  unsigned size;
  void** bodies;  // graphs; written where the node is added
};

struct AnyNode {  // cudaGraphNodeParams, CUgraphNodeParams
  int type;
  int reserved[3];
  union {
    long long words[29];
    AllocationNode allocation;
    void* freed;
    ConditionNode condition;
    ChildNode child;
  };
  long long reserved_too;
};

}  // namespace mneme::vendor::cuda
