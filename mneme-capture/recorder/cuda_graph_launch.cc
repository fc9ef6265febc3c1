// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_graph_launch.h"

#include "recorder/cuda_handles.h"
#include "recorder/cuda_launch.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Error(GraphExec, Stream)> next_launch(kLibrary, "cudaGraphLaunch");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_kernel(
    kLibrary, "cudaLaunchKernel");
constinit Next<Error(const LaunchConfig*, const void*, void**)> next_launch_kernel_ex(kLibrary, "cudaLaunchKernelExC");
constinit Next<Result(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                      void**)>
    next_launch_drivers(kDriver, "cuLaunchKernel");
constinit Next<Result(const DriverLaunchConfig*, const void*, void**, void**)> next_launch_drivers_ex(
    kDriver, "cuLaunchKernelEx");

LaunchRequest request_of(const GraphStep& step, Stream stream) {
  constexpr uintptr_t kEnd = 0;  // CU_LAUNCH_PARAM_END
  const KernelNode& kernel = step.kernel;
  LaunchRequest request = cuda::request_of(Handles::all().function(kernel.function), kernel.grid, kernel.block,
                                           kernel.arguments, kernel.shared, stream);
  if (step.drivers) request.arguments = arguments_of(kernel.arguments, kernel.extra, kEnd);
  request.cooperative = step.cooperative;
  request.cluster = dimensions(step.cluster);
  return request;
}

Error launch_kernel(const GraphStep& step, Stream stream) {
  const KernelNode& k = step.kernel;
  const Dimensions& cluster = step.cluster;
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (step.cooperative) attributes[count++] = {kLaunchCooperative, 0, {1}};
  if (cluster.x * cluster.y * cluster.z > 1) {
    attributes[count++] = {kLaunchClusterDimension, 0, {cluster.x, cluster.y, cluster.z}};
  }
  if (step.drivers) {
    if (count == 0) {
      return next_launch_drivers.call_or(kNotSupported, k.function, k.grid.x, k.grid.y, k.grid.z, k.block.x, k.block.y,
                                         k.block.z, k.shared, stream, k.arguments, k.extra);
    }
    DriverLaunchConfig config{k.grid, k.block, k.shared, stream, attributes, count};
    return next_launch_drivers_ex.call_or(kNotSupported, &config, k.function, k.arguments, k.extra);
  }
  if (count == 0) {
    return next_launch_kernel.call_or(kNotSupported, k.function, k.grid, k.block, k.arguments, k.shared, stream);
  }
  LaunchConfig config{k.grid, k.block, k.shared, stream, attributes, count};
  return next_launch_kernel_ex.call_or(kNotSupported, &config, k.function, k.arguments);
}

// Empty: all kernels are launched as the plan says.
std::string trouble_of(const GraphPlan* plan) {
  if (!plan) return "the graph was made ready before recording began";
  if (!plan->trouble.empty()) return plan->trouble;
  for (const GraphStep& step : plan->steps) {
    if (step.other || step.drivers) continue;
    if (!step.kernel.arguments && step.kernel.extra) return "a kernel in the graph has its arguments in one buffer";
  }
  return {};
}

}  // namespace

Error begun(Error status) {
  if (status == kSuccess) ++runtime().captures;
  return status;
}

// What was noted down in vain has ended, too; where it is the wrong stream or thread, nothing has.
Error ended(Error status) {
  constexpr Error kInvalidated = 901, kUnjoined = 904;  // cudaErrorStreamCapture…
  bool over = status == kSuccess || status == kInvalidated || status == kUnjoined;
  if (over && runtime().captures.load() > 0) --runtime().captures;
  return status;
}

Error made(Error status, GraphExec* ready, Graph graph) {
  Core* core = recorder();
  if (core && core->recording() && status == kSuccess) Graphs::all().add(*ready, graph);
  return status;
}

Error changed(Error status, GraphExec ready) {
  if (recorder() && status == kSuccess) {
    Graphs::all().lose(ready, "a node that is no kernel's was changed after the graph was made ready");
  }
  return status;
}

Error launch_graph(GraphExec ready, Stream stream, const std::function<Error()>& real) {
  Core* core = recorder();
  if (!core || runtime().notes_down(stream)) return real();
  std::shared_ptr<const GraphPlan> plan = core->recording() ? Graphs::all().plan(ready) : nullptr;
  std::string trouble = trouble_of(plan.get());
  if (!trouble.empty()) return core->pass("(graph)", trouble.c_str(), real);
  std::vector<LaunchRequest> requests;
  for (const GraphStep& step : plan->steps) {
    if (!step.other) requests.push_back(request_of(step, stream));
  }
  if (core->count_settled(requests)) return real();
  auto request = requests.begin();
  for (const GraphStep& step : plan->steps) {
    Error status = step.other ? change(next_launch, step.other, stream)
                              : launch(*request++, [&] { return launch_kernel(step, stream); });
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

}  // namespace mneme::record::cuda
