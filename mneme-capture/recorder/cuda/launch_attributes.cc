// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What launches and kernels ask for beside dimensions. A replay runs one kernel alone: it needs clusters and whether
// the launch is a cooperative one, and has no use for what says when the kernel runs among others.
#include <algorithm>
#include <span>

#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

CALL(Status, cuFuncGetAttribute, int*, int, Function)
CALL(Status, cuKernelGetAttribute, int*, int, Kernel, int)

namespace {

enum : int { kStreamSerialization = 6, kPriority = 8, kPreferredCluster = 11 };

// Of cudaLaunchAttributeID.
constexpr struct {
  int which;
  const char* name;
} kAsides[] = {{1, "access policy window"},
               {3, "synchronization policy"},
               {5, "cluster scheduling policy"},
               {kStreamSerialization, "programmatic stream serialization"},
               {7, "programmatic event"},
               {kPriority, "priority"},
               {9, "memory synchronization domain map"},
               {10, "memory synchronization domain"},
               {12, "launch completion event"},
               {kLaunchDeviceUpdatable, "device-updatable kernel node"},
               {14, "preferred shared memory carveout"},
               {16, "NVLink utilization centric scheduling"}};

constexpr int kIgnored = 0;
constexpr int kRecorded[] = {kIgnored, kLaunchCooperative, kLaunchClusterDimension};

}  // namespace

void CudaRuntime::attributes(const LaunchRequest& request, std::vector<std::string>& recorded,
                             std::vector<std::string>& missing) {
  const auto* attributes = static_cast<const LaunchAttribute*>(request.attributes);
  for (const LaunchAttribute& attribute : std::span(attributes, request.attribute_count)) {
    const auto& [which, padding, value] = attribute;
    if (std::ranges::find(kRecorded, which) != std::end(kRecorded)) continue;
    if (which == kStreamSerialization && !value[0]) continue;
    const auto* aside = std::ranges::find(kAsides, which, [](const auto& one) { return one.which; });
    if (which == kPriority) {
      recorded.push_back(fmt::format("{} {}", aside->name, static_cast<int>(value[0])));
    } else if (aside != std::end(kAsides)) {
      recorded.push_back(aside->name);
    } else if (which == kPreferredCluster) {
      missing.push_back(
          fmt::format("the launch prefers clusters of ({}, {}, {}) blocks, and the driver does not say whether "
                      "they were of that size",
                      value[0], value[1], value[2]));
    } else {
      missing.push_back(fmt::format("the launch has the attribute {}, which is not known", which));
    }
  }
}

// By the code, or by the application for all launches of the function; of a library's kernel, asked for by either
// handle.
bundle::Dim3 CudaRuntime::required_cluster(const void* host_function, int device) {
  constexpr int kRequired[] = {11, 12, 13};  // CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, _HEIGHT, _DEPTH
  const OnDevice there(device);
  Function function = function_behind(host_function);
  if (!function) return {};
  auto* handle = const_cast<void*>(host_function);
  const bool is_kernel = is_drivers(handle) && function != handle;
  uint32_t extents[3] = {};
  for (int i = 0; i < 3; ++i) {
    int extent = 0;
    const auto is_said = [&](Status status) { return status == kSuccess && extent > 0; };
    if (!is_said(next::cuFuncGetAttribute(&extent, kRequired[i], function)) &&
        !(is_kernel && is_said(next::cuKernelGetAttribute(&extent, kRequired[i], handle, device)))) {
      return {};
    }
    extents[i] = static_cast<uint32_t>(extent);
  }
  return {extents[0], extents[1], extents[2]};
}

}  // namespace mneme::record::cuda
