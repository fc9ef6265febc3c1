// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions by which an application looks up functions of CUDA's driver by name: what it finds of those that are
// hooked are the hooks. So does a CUDA runtime that the application holds itself (static), while the shared library
// finds the driver's own (core/lookup_hooks.cc).
#include <dlfcn.h>

#include <unordered_map>

#include "recorder/cuda/runtime.h"
#include "vendor/cuda/exports.h"

namespace mneme::record::cuda {
namespace {

using Flags = unsigned long long;

// This library, if the function is one of its own; else null.
void* own_function(const char* name) {
  static void* const own = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<void*>(&own_function), &info);
    return info.dli_fname ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  return own ? ::dlsym(own, name) : nullptr;
}

// Of each function that the driver exports, the hook; null: it has none.
using Hooks = std::unordered_map<void*, void*>;
Hooks hooks_of_driver() {
  Hooks hooks;
  void* driver = ::dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD);
  for (const Exported& one : kExported) {
    void* theirs = driver ? ::dlsym(driver, one.name) : nullptr;
    if (!theirs) continue;
    void*& hook = hooks[theirs];
    if (!hook) hook = own_function(one.name);
  }
  return hooks;
}

// The hook of what the driver has found; itself if there is none. Which function that is its address says, or else the
// name.
void* hooked(const char* symbol, void* found, int version, Flags flags) {
  static const auto* const hooks = new Hooks(hooks_of_driver());
  if (!symbol || !found) return found;
  void* hook = nullptr;
  if (auto known = hooks->find(found); known != hooks->end()) {
    hook = known->second;
  } else if (const Exported* function = look_up(symbol, version, flags == kThreadsStream).function) {
    hook = own_function(function->name);
  }
  return hook ? hook : found;
}

Status found(Status status, const char* symbol, void** function, int version, Flags flags) noexcept {
  try {
    if (status == kSuccess && function) *function = hooked(symbol, *function, version, flags);
  } catch (...) {  // the driver's own serves
  }
  return status;
}

Status look_up_version(CudaRuntime&, const Real& real, const char* symbol, void** function, int version, Flags flags,
                       ...) {
  return found(real(), symbol, function, version, flags);
}

Status look_up_newest(CudaRuntime&, const Real& real, const char* symbol, void** function, Flags flags, ...) {
  constexpr int kNewest = 13000;  // that is known here
  return found(real(), symbol, function, kNewest, flags);
}

}  // namespace

HOOK(look_up_version, cuGetProcAddress, const char*, void**, int, Flags)
HOOK(look_up_version, cuGetProcAddress_v2, const char*, void**, int, Flags, int*)
HOOK_PTSZ(look_up_newest, cudaGetDriverEntryPoint, const char*, void**, Flags, int*)
HOOK_PTSZ(look_up_version, cudaGetDriverEntryPointByVersion, const char*, void**, unsigned, Flags, int*)

}  // namespace mneme::record::cuda
