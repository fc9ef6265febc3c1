// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/second_cache.h"

#include "base/error.h"

namespace mneme::device::cuda {
namespace {

constexpr size_t kTimesTheCache = 2;  // what it drops for what is new need not be the oldest

}  // namespace

void SecondCache::empty() {
  if (!filler_) {
    int bytes = 0;
    check(driver().cuDeviceGetAttribute(&bytes, kSecondCacheSize, device_), "asking for the size of the GPU's cache");
    if (bytes <= 0) throw Error("--cache cold: the GPU does not say how large its cache is");
    size_ = kTimesTheCache * static_cast<size_t>(bytes);
    filler_.emplace(size_);
    if (!filler_->address()) throw Error("--cache cold: the GPU has no memory left to empty its cache with");
  }
  check(driver().cuMemsetD8Async(filler_->address(), 0, size_, nullptr), "emptying the GPU's cache");
}

}  // namespace mneme::device::cuda
