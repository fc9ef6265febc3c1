// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's functions for graphs, as far as the programs here use them.
#pragma once
#include "cuda.h"

using cudaGraphNode_t = struct GraphNode*;

struct KernelNode {  // cudaKernelNodeParams
  void* function;
  dim3 grid, block;
  unsigned shared;
  void** arguments;
  void** extra;
};
struct HostNode {  // cudaHostNodeParams
  void (*function)(void*);
  void* data;
};
struct DriverKernelNode {  // CUDA_KERNEL_NODE_PARAMS
  void* function;
  dim3 grid, block;
  unsigned shared;
  void** arguments;
  void** extra;
  void *kernel, *context;
};
struct AllocationNode {  // cudaMemAllocNodeParams
  int type, handle_types, location, device;
  char rest[72];
  const void* access;
  size_t count, size;
  void* pointer;
};
struct ConditionNode {  // cudaGraphNodeParams of a conditional node
  int type;
  int reserved[3];
  unsigned long long handle;
  int kind;  // if, while, switch
  unsigned size;
  cudaGraph_t* graphs;
  long long more[27];
};

extern "C" {
int cudaStreamBeginCapture(cudaStream_t, int);
int cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
int cudaGraphCreate(cudaGraph_t*, unsigned);
int cudaGraphDestroy(cudaGraph_t);
int cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, const KernelNode*);
int cudaGraphAddHostNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, const HostNode*);
int cudaGraphAddChildGraphNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaGraph_t);
int cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
int cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
int cudaGraphExecKernelNodeSetParams(cudaGraphExec_t, cudaGraphNode_t, const KernelNode*);
int cudaGraphExecHostNodeSetParams(cudaGraphExec_t, cudaGraphNode_t, const HostNode*);
int cudaGraphExecDestroy(cudaGraphExec_t);
int cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
int cudaGraphAddEventRecordNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaEvent_t);
int cudaGraphAddEventWaitNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, cudaEvent_t);
int cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t, cudaGraphNode_t, cudaEvent_t);
int cudaGraphAddMemAllocNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, AllocationNode*);
int cudaGraphAddMemFreeNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, void*);
int cudaGraphMemAllocNodeGetParams(cudaGraphNode_t, AllocationNode*);
int cudaGraphMemFreeNodeGetParams(cudaGraphNode_t, void*);
int cudaGraphNodeGetType(cudaGraphNode_t, int*);
int cudaGraphConditionalHandleCreate(unsigned long long*, cudaGraph_t, unsigned, unsigned);
int cudaGraphAddNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, const void*, size_t, ConditionNode*);

int cuGraphCreate(cudaGraph_t*, unsigned);
int cuGraphDestroy(cudaGraph_t);
int cuGraphAddKernelNode_v2(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t, const DriverKernelNode*);
int cuGraphKernelNodeSetAttribute(cudaGraphNode_t, int, const void*);
int cuGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
int cuGraphExecKernelNodeSetParams_v2(cudaGraphExec_t, cudaGraphNode_t, const DriverKernelNode*);
int cuGraphExecDestroy(cudaGraphExec_t);
int cuGraphLaunch(cudaGraphExec_t, cudaStream_t);
int cuStreamBeginCapture_v2(cudaStream_t, int);
int cuStreamEndCapture(cudaStream_t, cudaGraph_t*);
}
