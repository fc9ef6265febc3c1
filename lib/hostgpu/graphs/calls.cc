// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/graphs/calls.h"

#include "hostgpu/errors.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/graphs/graph.h"
#include "hostgpu/queue/events.h"

namespace mneme::hostgpu {
namespace {

// Through the function that everybody calls, so that a recorder sees the kernels of graphs.
void launch(const std::shared_ptr<Queue>& queue, KernelCall call) {
  std::vector<void*> arguments = argument_list(call);
  hipError_t status =
      call.cooperative
          ? hipLaunchCooperativeKernel(call.function, call.grid, call.block, arguments.data(), call.shared, queue.get())
          : hipLaunchKernel(call.function, call.grid, call.block, arguments.data(), call.shared, queue.get());
  require(status == hipSuccess, status);
}

struct Put {
  const std::shared_ptr<Queue>& queue;

  void operator()(const KernelCall& call) const { launch(queue, call); }
  void operator()(const CopyCall& call) const { queue_copy(queue, call); }
  void operator()(const LinearCopyCall& call) const { queue_copy(queue, call); }
  void operator()(const FillCall& call) const { queue_fill(queue, call); }
  void operator()(const HostCall& call) const { queue_host_function(queue, call); }
  void operator()(const NoCall&) const {}
  void operator()(const RecordEventCall& call) const { record_event(call.event, queue); }
  void operator()(const WaitEventCall& call) const { wait_for_event(queue, call.event); }
  void operator()(const GraphCall& call) const { queue_graph(queue, *call.graph); }
  void operator()(const ConditionCall& call) const { run_condition(queue, call); }
};

}  // namespace

void put(const std::shared_ptr<Queue>& queue, Call call) {
  check_legacy(queue);
  if (capture_call(queue, call)) return;
  if (auto* kernel = std::get_if<KernelCall>(&call)) {
    queue_kernel(queue, std::move(*kernel));
  } else {
    queue_call(queue, call);
  }
}

void queue_call(const std::shared_ptr<Queue>& queue, const Call& call) { std::visit(Put{queue}, call); }

}  // namespace mneme::hostgpu
