// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "vendor/cuda/graphs.h"

#if __has_include(<cuda_runtime_api.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>

namespace mneme::vendor::cuda {

static_assert(kEmptyNode == cudaGraphNodeTypeEmpty && kEmptyNode == CU_GRAPH_NODE_TYPE_EMPTY);
static_assert(kAllocationNode == cudaGraphNodeTypeMemAlloc && kAllocationNode == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
static_assert(kFreeNode == cudaGraphNodeTypeMemFree && kFreeNode == CU_GRAPH_NODE_TYPE_MEM_FREE);
static_assert(kConditionNode == cudaGraphNodeTypeConditional && kConditionNode == CU_GRAPH_NODE_TYPE_CONDITIONAL);
static_assert(kGraphNode == cudaGraphNodeTypeGraph && kGraphNode == CU_GRAPH_NODE_TYPE_GRAPH);
static_assert(sizeof(ChildNode) == sizeof(cudaChildGraphNodeParams));
static_assert(offsetof(ChildNode, ownership) == offsetof(cudaChildGraphNodeParams, ownership));
static_assert(kOwnershipMove == cudaGraphChildGraphOwnershipMove);
static_assert(sizeof(ConditionNode) == sizeof(cudaConditionalNodeParams));
static_assert(offsetof(ConditionNode, bodies) == offsetof(cudaConditionalNodeParams, phGraph_out));
static_assert(offsetof(ConditionNode, bodies) == offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out));
static_assert(sizeof(AllocationNode) == sizeof(cudaMemAllocNodeParams));
static_assert(sizeof(AllocationNode) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
static_assert(offsetof(AllocationNode, device) == offsetof(cudaMemAllocNodeParams, poolProps.location.id));
static_assert(offsetof(AllocationNode, size) == offsetof(cudaMemAllocNodeParams, bytesize));
static_assert(offsetof(AllocationNode, pointer) == offsetof(cudaMemAllocNodeParams, dptr));
static_assert(sizeof(AnyNode) == sizeof(cudaGraphNodeParams) && sizeof(AnyNode) == sizeof(CUgraphNodeParams));
static_assert(offsetof(AnyNode, allocation) == offsetof(cudaGraphNodeParams, alloc));
static_assert(offsetof(AnyNode, freed) == offsetof(cudaGraphNodeParams, free));
static_assert(offsetof(AnyNode, allocation) == offsetof(CUgraphNodeParams, alloc));

}  // namespace mneme::vendor::cuda

#endif
