// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants in the place of the application's own kernels (mneme-capture --apply).
#pragma once
#include <functional>
#include <string>

#include "recorder/runtime/launch_request.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record {

// A variant of a kernel of the application's, on one device. Borrowed.
struct VariantCode {
  const void* function = nullptr;  // of the application's kernel
  ProgramCode program;             // that has it
  const bundle::KernelInfo* kernel = nullptr;
  std::string target;  // "host:x86-64-v3"
  Bytes code;
  int device = 0;
  // A launch that it fails while it runs, on any thread; `own_code`: the application's own ran in its place. The fault
  // is empty where an earlier launch failed, so that the variant was not tried.
  std::function<void(bool own_code, const std::string& fault)> failed = {};
};

// One that is loaded, with the application's own device variables.
class LoadedVariant {
 public:
  virtual ~LoadedVariant() = default;
  // Launches it as the request says, but for the function. The vendor's status. Throws Error.
  virtual int launch(const LaunchRequest& request) = 0;
  // What stands for it in a kernel's node of a graph; null: it cannot be in a graph. Throws Error.
  virtual void* function(const LaunchRequest&) { return nullptr; }
  // A context is gone, with what was loaded in it.
  virtual void forget(void* /*context*/) {}
  // The application has unloaded its kernel's module, and launches it no more.
  virtual void unload() {}
};

}  // namespace mneme::record
