// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/occupancy.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "bundle/launch.h"

namespace mneme::verify {
namespace {

// What a multiprocessor holds. CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
struct Multiprocessor {
  uint32_t capability;
  uint32_t warps, blocks;
  uint64_t shared;  // bytes
};

constexpr uint64_t kKiB = 1024;
constexpr Multiprocessor kMultiprocessors[] = {
    {50, 64, 32, 64 * kKiB},  {52, 64, 32, 96 * kKiB},  {53, 64, 32, 64 * kKiB},  {60, 64, 32, 64 * kKiB},
    {61, 64, 32, 96 * kKiB},  {62, 64, 32, 64 * kKiB},  {70, 64, 32, 96 * kKiB},  {72, 64, 32, 96 * kKiB},
    {75, 32, 16, 64 * kKiB},  {80, 64, 32, 164 * kKiB}, {86, 48, 16, 100 * kKiB}, {87, 48, 16, 164 * kKiB},
    {89, 48, 24, 100 * kKiB}, {90, 64, 32, 228 * kKiB},
};

// The same for all of these: CUDA's cuda_occupancy.h.
constexpr uint32_t kWarp = 32, kRegisters = 64 * 1024, kRegistersGranule = 256;
constexpr uint64_t kSystemShared = 1 * kKiB;  // of each block, from 8.0 on

const Multiprocessor* multiprocessor_of(std::string_view target) {
  if (size_t at = target.rfind("sm_"); at != std::string_view::npos) target.remove_prefix(at + 3);
  uint32_t capability = 0;
  std::from_chars(target.data(), target.data() + target.size(), capability);
  const auto* found = std::ranges::find(kMultiprocessors, capability, &Multiprocessor::capability);
  return found == std::end(kMultiprocessors) ? nullptr : found;
}

uint64_t up(uint64_t value, uint64_t granule) { return (value + granule - 1) / granule * granule; }

std::optional<uint32_t> resident_warps(const Multiprocessor& limits, const bundle::Resources& taken,
                                       const bundle::LaunchSize& size) {
  const bool is_recent = limits.capability >= 80;
  const uint64_t parts = limits.capability == 60 ? 2 : 4;  // of a multiprocessor, each with its registers
  const uint64_t threads = uint64_t{size.block.x} * size.block.y * size.block.z;
  const uint64_t warps = up(threads, kWarp) / kWarp;
  const uint64_t registers = up(uint64_t{std::max(taken.registers, 1u)} * kWarp, kRegistersGranule);  // of a warp
  const uint64_t shared = up(taken.shared + size.shared_bytes + (is_recent ? kSystemShared : 0), is_recent ? 128 : 256);
  if (warps == 0) return {};
  uint64_t blocks = std::min<uint64_t>(limits.blocks, limits.warps / warps);
  blocks = std::min(blocks, kRegisters / parts / registers * parts / warps);
  if (shared > 0) blocks = std::min(blocks, limits.shared / shared);
  if (blocks == 0) return {};
  return static_cast<uint32_t>(blocks * warps);
}

}  // namespace

std::optional<uint32_t> occupancy(const bundle::VariantInfo& variant, const bundle::InstanceInfo& instance) {
  if (!variant.resources) return {};
  if (variant.resources->amd) return variant.resources->amd->occupancy;
  const Multiprocessor* limits = multiprocessor_of(variant.configuration.target);
  if (!limits) return {};
  try {
    return resident_warps(*limits, *variant.resources, bundle::launch_size(instance, variant.configuration));
  } catch (const Error&) {
    return {};  // a launch that cannot be: its run says why
  }
}

}  // namespace mneme::verify
