// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/l2_flush.h"

#include "base/error.h"

namespace mneme::device::gpu {
namespace {

constexpr uint64_t kTimesTheCache = 2;  // what it drops for what is new need not be the oldest

}  // namespace

void L2Flush::empty() {
  const uint64_t filled = kTimesTheCache * gpu_.cache_size();
  if (filled == 0) throw Error("--cache cold: the GPU does not say how large its cache is");
  if (!filler_ || !filler_->address()) filler_.emplace(gpu_, filled);
  if (!filler_->address()) throw Error("--cache cold: the GPU has no memory left to empty its cache with");
  gpu_.clear(filler_->address(), filled, "emptying the GPU's cache");
}

}  // namespace mneme::device::gpu
