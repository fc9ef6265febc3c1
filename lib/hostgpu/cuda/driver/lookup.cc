// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's functions by name: the newest version that the asking program's version of CUDA has. Functions that are
// refused are found, too: programs look up more than they call.
#include <dlfcn.h>

#include <string_view>

#include "hostgpu/cuda/driver/driver.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

struct Exported {
  const char* name;
  int since;  // which version of CUDA
};
constexpr Exported kExported[] = {
#include "hostgpu/cuda/driver/exported.inc"
};

// How the name of a function ends that is another version of it, or for streams of a thread: "_v2_ptsz".
struct Ending {
  bool is_one = false, per_thread = false;
};
Ending ending(std::string_view rest) {
  constexpr size_t kVersion = 3, kPerThread = 5;
  if (rest.starts_with("_v") && rest.size() >= kVersion) rest.remove_prefix(kVersion);
  if (rest.empty()) return {true, false};
  bool per_thread = rest.size() == kPerThread && (rest == "_ptsz" || rest == "_ptds");
  return {per_thread, per_thread};
}

enum class Found { kYes = 0, kNo = 1, kNotYet = 2 };  // CU_GET_PROC_ADDRESS_…

struct Lookup {
  Found found = Found::kNo;
  const Exported* function = nullptr;
};

Lookup look_up(std::string_view symbol, int version, bool per_thread) {
  Lookup result;
  bool is_of_thread = false;
  for (const Exported& one : kExported) {
    std::string_view name = one.name;
    if (!name.starts_with(symbol)) continue;
    Ending how = ending(name.substr(symbol.size()));
    if (!how.is_one || (how.per_thread && !per_thread)) continue;
    if (one.since > version) {
      if (!result.function) result.found = Found::kNotYet;
      continue;
    }
    bool better = !result.function || how.per_thread > is_of_thread ||
                  (how.per_thread == is_of_thread && one.since > result.function->since);
    if (better) result = {Found::kYes, &one}, is_of_thread = how.per_thread;
  }
  return result;
}

// As this library exports it, even where another stands in front.
void* address_of(const char* name) {
  static void* const own = [] {
    Dl_info info{};
    ::dladdr(kExported, &info);
    return info.dli_fname ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  return own ? ::dlsym(own, name) : nullptr;
}

constexpr unsigned long long kLegacy = 1, kPerThread = 2;  // CU_GET_PROC_ADDRESS_…_STREAM
constexpr unsigned long long kFlags = kLegacy | kPerThread;

// A name that is not found is no error: the status says so.
Result find(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
  if (!symbol || !*symbol || !function || (flags & ~kFlags) || flags == kFlags) return kInvalidValue;
  Lookup found = look_up(symbol, version, flags == kPerThread);
  *function = found.function ? address_of(found.function->name) : nullptr;
  if (status) *status = static_cast<int>(found.found);
  return 0;
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda::driver;

extern "C" {

Result cuGetProcAddress_v2(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
  return find(symbol, function, version, flags, status);
}
// The older one has no status, and leaves the pointer as it is.
Result cuGetProcAddress(const char* symbol, void** function, int version, unsigned long long flags) {
  void* found = nullptr;
  Result result = find(symbol, function ? &found : nullptr, version, flags, nullptr);
  if (result == 0 && !found) return kNotFound;
  if (result == 0) *function = found;
  return result;
}

}  // extern "C"
