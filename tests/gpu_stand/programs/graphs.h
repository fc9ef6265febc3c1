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
}
