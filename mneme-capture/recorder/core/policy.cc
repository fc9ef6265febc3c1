// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/policy.h"

namespace mneme::record {

Digest launch_key(const Limits& limits, const bundle::KernelInfo& kernel, bundle::Dim3 grid, bundle::Dim3 block,
                  uint32_t shared_bytes, const std::string& arguments, int device, bundle::Dim3 cluster) {
  const uint32_t dimensions[] = {grid.x,    grid.y,    grid.z,       block.x,
                                 block.y,   block.z,   shared_bytes, static_cast<uint32_t>(device),
                                 cluster.x, cluster.y, cluster.z};
  std::string text;
  text.reserve(sizeof dimensions + arguments.size());
  text.append(reinterpret_cast<const char*>(dimensions), sizeof dimensions);
  if (limits.only_config) return digest_of(text);
  for (const bundle::Argument& argument : kernel.arguments) {
    if (argument.kind != "pointer") text.append(arguments, argument.offset, argument.size);
  }
  return digest_of(text);
}

Policy::Choice Policy::choose(const Digest& key) {
  uint64_t number = seen_++;
  if (number < limits_.skip) return {Verdict::kSkipped, nullptr};
  if ((number - limits_.skip) % limits_.every != 0) return {Verdict::kBetween, nullptr};
  auto known = keys_.find(key);
  const bool enough = recorded_ >= limits_.max_instances;
  const bool settled = limits_.every == 1;
  if (known == keys_.end()) {
    if (enough) return {Verdict::kEnough, nullptr, settled};
    known = keys_.emplace(key, Key{}).first;
  } else if (enough || known->second.recorded >= limits_.occurrences) {
    return {Verdict::kAlike, &known->second.slot, settled};
  }
  ++recorded_;
  ++known->second.recorded;
  return {Verdict::kRecord, &known->second.slot};
}

void Policy::withdraw(const Digest& key) {
  --recorded_;
  auto known = keys_.find(key);
  if (--known->second.recorded == 0) keys_.erase(known);
}

}  // namespace mneme::record
