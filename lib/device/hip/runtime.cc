// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/runtime.h"

#include <dlfcn.h>

#include "base/error.h"
#include "device/hip/profiler.h"

namespace mneme::device::hip {
namespace {

// The vendor gives each major release's library a number, and its functions keep their names.
constexpr const char* kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};

void* open_library() {
  std::string first;
  for (const char* name : kLibraries) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (first.empty()) first = ::dlerror();
  }
  throw Error::of(Exit::kMissing, "there is no HIP runtime: {}, nor is there one of ROCm 6 or 5", first);
}

class Loaded {
 public:
  Loaded() : library_(open_library()) {
#define FUNCTION(type, name, parameters) find(runtime.name, #name);
#define OPTIONAL(type, name, parameters) look(runtime.name, #name);
#include "device/hip/runtime.def"
#undef FUNCTION
#undef OPTIONAL
    choose_profiler(runtime);  // which has to be there before the runtime begins
    require(runtime.hipInit(0), "finds no device that it can use");
    int count = 0;
    require(runtime.hipGetDeviceCount(&count), "finds no device");
    if (count < 1) throw Error("the HIP runtime finds no device", Exit::kMissing);
    require(runtime.hipSetDevice(0), "cannot use its first device");
  }

  Runtime runtime{};

 private:
  template <class Function>
  bool look(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    return function != nullptr;
  }
  template <class Function>
  void find(Function& function, const char* name) {
    if (!look(function, name)) throw Error::of(Exit::kMissing, "the HIP runtime is too old: it has no {}", name);
  }
  void require(Result result, const char* what) {
    if (result == 0) return;
    const char* text = runtime.hipGetErrorString(result);
    throw Error::of(Exit::kMissing, "the HIP runtime {}: {} ({})", what, text ? text : "an unknown error", result);
  }

  void* library_;  // stays
};

}  // namespace

const Runtime& runtime() {
  static const Loaded loaded;
  return loaded.runtime;
}

void check(Result result, const char* doing) {
  if (succeeds(result)) return;
  const char* text = runtime().hipGetErrorString(result);
  throw Error::of("{} failed: {} ({})", doing, text ? text : "an error that the runtime does not know", result);
}

bool succeeds(Result result) {
  if (result != 0) static_cast<void>(runtime().hipGetLastError());
  return result == 0;
}

}  // namespace mneme::device::hip
