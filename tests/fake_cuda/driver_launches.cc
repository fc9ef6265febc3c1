// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface: launches, and what functions and nodes of graphs are asked for beside dimensions. NVIDIA's
// clusters, priorities and kernels that begin early do not exist here: a launch is the same without, and
// MNEME_TEST_LAUNCHES names a file that gets a line of each that asks for such.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "block_kernels.h"
#include "hostgpu/cuda/launch_wishes.h"
#include "vendor/cuda/api.h"

using namespace mneme::fake_cuda;
using mneme::hostgpu::cuda::own_stream;
using mneme::vendor::cuda::DriverLaunchConfig;
using mneme::vendor::cuda::LaunchAttribute;

extern "C" Result cuFuncGetName(const char** name, hipFunction_t function);

namespace {

constexpr int kMostDynamicShared = 8, kClusterWidth = 11, kClusterDepth = 13;  // CU_FUNC_ATTRIBUTE_…
constexpr unsigned kWithoutAsking = 48 << 10;                                  // bytes of dynamic shared memory

std::mutex mutex;
std::map<std::pair<const void*, int>, int> attributes_of_functions;
using NodeAttribute = std::array<unsigned, 16>;
std::map<std::pair<const void*, int>, NodeAttribute> attributes_of_nodes;

int attribute_of(const void* function, int which) {
  std::lock_guard lock(mutex);
  const auto found = attributes_of_functions.find({function, which});
  return found == attributes_of_functions.end() ? 0 : found->second;
}
void set_attribute(const void* function, int which, int value) {
  std::lock_guard lock(mutex);
  attributes_of_functions[{function, which}] = value;
}

void note(hipFunction_t function, std::span<const LaunchAttribute> attributes) {
  const char* path = std::getenv("MNEME_TEST_LAUNCHES");
  const char* name = nullptr;
  if (!path || attributes.empty() || cuFuncGetName(&name, function) != 0) return;
  std::string line = name;
  for (const LaunchAttribute& one : attributes) {
    line += " " + std::to_string(one.which);
    for (unsigned i = 0; i < 3; ++i) line += (i ? "," : ":") + std::to_string(static_cast<int>(one.value[i]));
  }
  std::FILE* file = std::fopen(path, "a");
  if (!file) return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

// The list's end is another than HIP's, which knows the same keys.
std::vector<void*> list_of(void** extra) {
  std::vector<void*> list;
  if (!extra) return list;
  for (void** at = extra; *at; at += 2) list.insert(list.end(), {at[0], at[1]});
  list.push_back(HIP_LAUNCH_PARAM_END);
  return list;
}

}  // namespace

void mneme::fake_cuda::copy_node_attributes(hipGraphNode_t from, hipGraphNode_t to) {
  std::lock_guard lock(mutex);
  const std::map known = attributes_of_nodes;
  for (const auto& [key, words] : known) {
    if (key.first == from) attributes_of_nodes[{to, key.second}] = words;
  }
}

extern "C" {

Result cuLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream, void** arguments,
                      void** extra) {
  if (play_block_kernel(function, grid_x, arguments)) return 0;
  if (is_lost(as_hip(function))) return kInvalidHandle;
  // NVIDIA's driver wants to be asked for more.
  if (shared > kWithoutAsking && attribute_of(as_hip(function), kMostDynamicShared) < static_cast<int>(shared)) {
    return kInvalidValue;
  }
  std::vector<void*> list = list_of(extra);
  return result(hipModuleLaunchKernel(as_hip(function), grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                      stream, arguments, extra ? list.data() : nullptr));
}
Result cuLaunchKernel_ptsz(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream, void** arguments,
                           void** extra) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, own_stream(stream),
                        arguments, extra);
}
Result cuLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                 hipStream_t stream, void** arguments) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments,
                        nullptr);
}

Result cuLaunchKernelEx(const DriverLaunchConfig* config, hipFunction_t function, void** arguments, void** extra) {
  const auto& [grid, block, shared, vendors, attributes, count] = *config;
  note(function, {attributes, count});
  hipStream_t stream = mneme::hostgpu::cuda::as_hip(vendors);
  if (mneme::hostgpu::cuda::wishes_of(attributes, count).cooperative) {
    return result(hipModuleLaunchCooperativeKernel(as_hip(function), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                   shared, stream, arguments));
  }
  return cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments, extra);
}
Result cuLaunchKernelEx_ptsz(const DriverLaunchConfig* config, hipFunction_t function, void** arguments, void** extra) {
  DriverLaunchConfig own = *config;
  own.stream = mneme::vendor::per_thread(own.stream);
  return cuLaunchKernelEx(&own, function, arguments, extra);
}

// ---- of functions and kernels, whose handles are alike here ----

Result cuFuncGetAttribute(int* value, int which, hipFunction_t function) {
  if (which < kClusterWidth || which > kClusterDepth) {
    return result(hipFuncGetAttribute(value, static_cast<hipFunction_attribute>(which), as_hip(function)));
  }
  *value = attribute_of(as_hip(function), which);
  return 0;
}
Result cuFuncSetAttribute(hipFunction_t function, int which, int value) {
  set_attribute(as_hip(function), which, value);
  if (which != kMostDynamicShared) return 0;
  return result(hipFuncSetAttribute(as_hip(function), static_cast<hipFuncAttribute>(which), value));
}
Result cuKernelGetAttribute(int* value, int which, hipFunction_t kernel, int) {
  return cuFuncGetAttribute(value, which, kernel);
}
Result cuKernelSetAttribute(int which, int value, hipFunction_t kernel, int) {
  return cuFuncSetAttribute(kernel, which, value);
}

// ---- of graphs' nodes ----

Result cuGraphKernelNodeSetAttribute(hipGraphNode_t node, int which, const void* value) {
  const auto* words = static_cast<const unsigned*>(value);
  std::lock_guard lock(mutex);
  std::copy_n(words, NodeAttribute().size(), attributes_of_nodes[{node, which}].begin());
  return 0;
}
Result cuGraphKernelNodeGetAttribute(hipGraphNode_t node, int which, void* value) {
  std::lock_guard lock(mutex);
  const auto found = attributes_of_nodes.find({node, which});
  const NodeAttribute words = found == attributes_of_nodes.end() ? NodeAttribute{} : found->second;
  std::ranges::copy(words, static_cast<unsigned*>(value));
  return 0;
}

}  // extern "C"
