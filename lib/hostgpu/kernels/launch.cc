// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel launches: what is wrong with them is said at once, what goes wrong in the kernel when somebody waits.
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <vector>

#include "base/long_names.h"
#include "device/host/launch.h"
#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"
#include "hostgpu/graphs/calls.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/kernels/arguments.h"
#include "hostgpu/kernels/function_info.h"
#include "hostgpu/kernels/past_recorder.h"
#include "hostgpu/kernels/registration.h"
#include "hostgpu/kernels/run_kernel.h"
#include "hostgpu/queue/events.h"

// Declared in <hip/hip_ext.h>, which is for device code too.
extern "C" hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                         hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags);

namespace mneme::hostgpu {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared;
  hipStream_t stream;
};
thread_local std::vector<CallConfiguration> call_configurations;

bundle::Dim3 dimensions(const dim3& d) { return {d.x, d.y, d.z}; }

std::vector<std::byte> argument_bytes(const bundle::KernelInfo& kernel, void** values) {
  std::vector<std::byte> bytes(kernel.argument_bytes);
  const objects::Gathered gathered = objects::gather_arguments(kernel, {values, {}}, bytes);
  require(gathered != objects::Gathered::kWithoutValues);
  require(gathered == objects::Gathered::kAll, hipErrorInvalidKernelFile);
  return bytes;
}

void run(const KernelCall& call) {
  run_kernel(*call.kernel, dimensions(call.grid), dimensions(call.block), call.shared, call.arguments);
}

// A block that there cannot be has been refused.
void check_bounds(const KernelCall& call) {
  uint64_t threads = dimensions(call.block).count();
  if (int most = most_threads(*call.kernel); threads > static_cast<uint64_t>(most)) {
    throw HipError(hipErrorLaunchFailure,
                   fmt::format("kernel '{}' cannot be launched with {} threads a block: its launch bounds allow {}",
                               cut_in_the_middle(call.kernel->info().demangled), threads, most));
  }
}

// Of a device that has more for kernels that ask for it; more than any has is refused elsewhere.
void check_shared(const KernelCall& call) {
  const codegen::SharedMemory& there = shared_memory();
  uint64_t most = most_dynamic(*call.kernel);
  if (there.usual == there.most || call.shared <= most) return;
  throw HipError(hipErrorInvalidValue,
                 fmt::format("kernel '{}' cannot be launched with {} bytes of dynamic shared memory: {} are allowed; "
                             "allow more, up to {}, by cudaFuncAttributeMaxDynamicSharedMemorySize",
                             cut_in_the_middle(call.kernel->info().demangled), call.shared, most,
                             there.most - call.kernel->code()->object().shared_static));
}

// A block that there cannot be is refused elsewhere.
void check_cooperative(const KernelCall& call) {
  const dim3& block = call.block;
  auto limit = static_cast<uint64_t>(most_threads(*call.kernel));
  if (block.x > limit || block.y > limit || block.z > limit) return;
  uint64_t threads = dimensions(block).count();
  if (threads == 0 || threads > limit) return;
  uint64_t most = most_cooperative_blocks(*call.kernel, static_cast<int>(threads), call.shared);
  require(dimensions(call.grid).count() <= most, hipErrorCooperativeLaunchTooLarge);
}

hipError_t launch(hipStream_t stream, const void* function, const dim3& grid, const dim3& block, void** values,
                  size_t shared, bool per_thread = false, bool cooperative = false) {
  return answer_on_device([&] {
    auto queue = queue_of(stream, per_thread);
    OnDevice its(queue->device);
    put(queue, kernel_call(function, grid, block, values, shared, cooperative));
  });
}

// What the recorder is in front of begins with this, with its name and arguments, and ends where there is a result.
template <class... Arguments>
std::optional<hipError_t> launch_by_recorder(const char* name, Arguments... arguments) {
  auto* in_front = reinterpret_cast<hipError_t (*)(Arguments...)>(function_in_front(name));
  if (!in_front) return std::nullopt;
  HandedOver handed_over;
  return in_front(arguments...);
}

}  // namespace

KernelCall kernel_call(const void* function, dim3 grid, dim3 block, void** values, size_t shared, bool cooperative) {
  require(shared <= UINT32_MAX);
  KernelCall call;
  call.function = function;
  {
    AllowUnsafeCalls preparing;
    device::host::prepare_to_run();
    call.kernel = &ready_kernel(function);
  }
  tell_if_unrecorded(call.kernel->info());
  call.grid = grid;
  call.block = block;
  call.shared = static_cast<unsigned>(shared);
  call.cooperative = cooperative;
  check_shared(call);
  if (cooperative) check_cooperative(call);
  try {
    device::host::check_launch(*call.kernel->code(), dimensions(grid), dimensions(block), call.shared,
                               shared_memory().most);
  } catch (const Error& error) {
    throw HipError(hipErrorInvalidConfiguration, error.what());
  }
  check_bounds(call);
  call.arguments = argument_bytes(call.kernel->info(), values);
  return call;
}

std::vector<void*> argument_list(KernelCall& call) {
  return argument_list(call.kernel->info(), objects::LaunchArguments{nullptr, call.arguments});
}

void queue_kernel(const std::shared_ptr<Queue>& queue, KernelCall call) {
  Operation operation;
  operation.work = make_work([call = std::move(call)] { run(call); });
  submit(queue, std::move(operation));
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  return answer([&] { call_configurations.push_back({grid, block, shared, stream}); });
}

hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t* stream) {
  return answer([&] {
    require(!call_configurations.empty(), hipErrorMissingConfiguration);
    const CallConfiguration& top = call_configurations.back();
    *grid = top.grid;
    *block = top.block;
    *shared = top.shared;
    *stream = top.stream;
    call_configurations.pop_back();
  });
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                           hipStream_t stream) {
  if (auto done = launch_by_recorder("hipLaunchKernel", function, grid, block, arguments, shared, stream)) return *done;
  return launch(stream, function, grid, block, arguments, shared);
}

hipError_t hipLaunchKernel_spt(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                               hipStream_t stream) {
  if (auto done = launch_by_recorder("hipLaunchKernel_spt", function, grid, block, arguments, shared, stream))
    return *done;
  return launch(stream, function, grid, block, arguments, shared, true);
}

hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                              hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags) {
  if (auto done = launch_by_recorder("hipExtLaunchKernel", function, grid, block, arguments, shared, stream, start,
                                     stop, flags))
    return *done;
  return answer_on_device([&] {
    auto queue = queue_of(stream);
    for (hipEvent_t event : {start, stop}) {
      if (event) check_event(event);
    }
    OnDevice its(queue->device);
    KernelCall call = kernel_call(function, grid, block, arguments, shared);
    if (start) record_event(start, queue);
    put(queue, std::move(call));
    if (stop) record_event(stop, queue);
  });
}

hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, unsigned shared,
                                      hipStream_t stream) {
  if (auto done = launch_by_recorder("hipLaunchCooperativeKernel", function, grid, block, arguments, shared, stream))
    return *done;
  return launch(stream, function, grid, block, arguments, shared, false, true);
}

hipError_t hipLaunchCooperativeKernel_spt(const void* function, dim3 grid, dim3 block, void** arguments,
                                          uint32_t shared, hipStream_t stream) {
  if (auto done =
          launch_by_recorder("hipLaunchCooperativeKernel_spt", function, grid, block, arguments, shared, stream))
    return *done;
  return launch(stream, function, grid, block, arguments, shared, true, true);
}

}  // extern "C"
