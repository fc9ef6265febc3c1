// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/second_cache.h"

#include "base/error.h"

namespace mneme::device::cuda {
namespace {

constexpr size_t kTimesTheCache = 2;  // what it drops for what is new need not be the oldest

}  // namespace

uint64_t SecondCache::size() const {
  int bytes = 0;
  check(driver().cuDeviceGetAttribute(&bytes, kSecondCacheSize, device_), "asking for the size of the GPU's cache");
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

void SecondCache::empty() {
  const uint64_t filled = kTimesTheCache * size();
  if (filled == 0) throw Error("--cache cold: the GPU does not say how large its cache is");
  if (!filler_) {
    filler_.emplace(filled);
    if (!filler_->address()) throw Error("--cache cold: the GPU has no memory left to empty its cache with");
  }
  check(driver().cuMemsetD8Async(filler_->address(), 0, filled, nullptr), "emptying the GPU's cache");
}

}  // namespace mneme::device::cuda
