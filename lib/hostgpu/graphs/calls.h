// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a stream can be asked to do, as a value: it is queued at once, or becomes the node of a graph.
#pragma once
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "hostgpu/hip.h"
#include "hostgpu/queue/queue.h"
#include "objects/graph_condition.h"

namespace mneme::hostgpu {

class Kernel;

struct KernelCall {
  const void* function = nullptr;  // what was registered
  Kernel* kernel = nullptr;        // ready to run
  dim3 grid, block;
  unsigned shared = 0;
  bool cooperative = false;
  std::vector<std::byte> arguments;  // as they were when it was called
};
struct CopyCall {  // a box of bytes
  hipMemcpy3DParms box{};
};
struct LinearCopyCall {
  void* to = nullptr;
  const void* from = nullptr;
  size_t size = 0;
  hipMemcpyKind kind = hipMemcpyDefault;
  hipGraphNodeType type = hipGraphNodeTypeMemcpy1D;  // or that of a copy from or to a symbol
};
struct FillCall {
  hipMemsetParams rows{};
  size_t depth = 1, slice = 0;  // slices, and bytes from one to the next
};
struct HostCall {
  hipHostFn_t function = nullptr;
  void* data = nullptr;
};
struct NoCall {};
struct RecordEventCall {
  hipEvent_t event = nullptr;
};
struct WaitEventCall {
  hipEvent_t event = nullptr;
};
struct GraphCall {
  std::shared_ptr<ihipGraph> graph;
};
// Graphs that run as a value says which kernels set (objects/graph_condition.h).
struct ConditionCall {
  enum Kind { kIf, kWhile, kSwitch };  // as CUDA numbers them
  const objects::ConditionSlot* slot = nullptr;
  Kind kind = kIf;
  std::vector<std::shared_ptr<ihipGraph>> bodies;
};

using Call = std::variant<KernelCall, CopyCall, LinearCopyCall, FillCall, HostCall, NoCall, RecordEventCall,
                          WaitEventCall, GraphCall, ConditionCall>;

// The stream does it when its turn comes, or the graph that is made of the stream gets a node.
void put(const std::shared_ptr<Queue>& queue, Call call);
// The same, never into a graph. Kernels and events are those of the API functions.
void queue_call(const std::shared_ptr<Queue>& queue, const Call& call);

// How each kind is queued.
void queue_kernel(const std::shared_ptr<Queue>& queue, KernelCall call);
void queue_copy(const std::shared_ptr<Queue>& queue, const CopyCall& call);
void queue_copy(const std::shared_ptr<Queue>& queue, const LinearCopyCall& call);
void queue_fill(const std::shared_ptr<Queue>& queue, const FillCall& call);
void queue_host_function(const std::shared_ptr<Queue>& queue, const HostCall& call);

// Throw HipError for what cannot be done.
KernelCall kernel_call(const void* function, dim3 grid, dim3 block, void** values, size_t shared,
                       bool cooperative = false);
void check_copy(const CopyCall& call);
void check_copy(const LinearCopyCall& call);
void check_fill(const FillCall& call);

// Where the arguments of a kernel lie in its bytes.
std::vector<void*> argument_list(KernelCall& call);

}  // namespace mneme::hostgpu
