// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "recorder/core/core.h"

namespace mneme::record::cuda {

// Handles that stand for kernels which the recorder knows by another pointer: the runtime's and the driver's name the
// same kernel differently. Thread-safe; never destroyed.
class Handles {
 public:
  static Handles& all() {
    static auto* only = new Handles;
    return *only;
  }
  // A handle may be known already, of a kernel that is gone.
  void add(const void* handle, const void* function) {
    std::lock_guard lock(mutex_);
    functions_[handle] = function;
  }
  // These kernels are gone, and others may come to have their handles.
  void forget(const std::set<const void*>& functions) {
    std::lock_guard lock(mutex_);
    std::erase_if(functions_, [&](const auto& entry) { return functions.contains(entry.second); });
  }
  std::optional<const void*> find(const void* handle) {
    std::lock_guard lock(mutex_);
    auto found = functions_.find(handle);
    return found == functions_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<const void*, const void*> functions_;
};

// What the recorder knows a kernel by that is launched by this handle. Where nobody has seen the handle before
// (NVIDIA's libraries take some from tables of the driver's), the driver is asked for its name and module, and the
// kernel is the one of that name and module. The handle itself if that is none either.
const void* function_of(const void* handle);

// A kernel of code that the application loaded, by the handle that it has.
void add_loaded_kernel(Core& core, void* code, void* kernel, const char* name);

// The host function that start-up code registered for it, or the handle by which it was asked for of its library, by
// what the driver says; null: there is none.
const void* registered_function(const void* handle);

}  // namespace mneme::record::cuda
