// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <mutex>

namespace mneme::record::cuda {

// Handles that stand for kernels which the recorder knows by another pointer: the runtime's and the driver's name the
// same kernel differently. Thread-safe; never destroyed.
class Handles {
 public:
  static Handles& all() {
    static auto* only = new Handles;
    return *only;
  }
  void add(const void* handle, const void* function) {
    std::lock_guard lock(mutex_);
    functions_[handle] = function;
  }
  // The handle is a kernel's own: another one's that is gone had it before.
  void remove(const void* handle) {
    std::lock_guard lock(mutex_);
    functions_.erase(handle);
  }
  // The handle itself if it stands for nothing else.
  const void* function(const void* handle) {
    std::lock_guard lock(mutex_);
    auto found = functions_.find(handle);
    return found == functions_.end() ? handle : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, const void*> functions_;
};

}  // namespace mneme::record::cuda
