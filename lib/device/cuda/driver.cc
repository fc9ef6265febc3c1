// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/driver.h"

#include <dlfcn.h>

#include "base/error.h"

namespace mneme::device::cuda {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

class Loaded {
 public:
  Loaded() : library_(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw Error::of(Exit::kMissing, "there is no NVIDIA driver: {}", ::dlerror());
    if (::dlsym(library_, "mneme_hostgpu_settle")) {
      throw Error::of(Exit::kMissing, "there is no NVIDIA driver: the loader finds the host device's {}", kLibrary);
    }
#define FUNCTION(type, name, parameters) find(driver.name, #name);
#include "device/cuda/driver.def"
#undef FUNCTION
    const char* text = nullptr;
    if (Result result = driver.cuInit(0)) {
      driver.cuGetErrorString(result, &text);
      throw Error::of(Exit::kMissing, "the NVIDIA driver finds no device: {}", text ? text : std::to_string(result));
    }
  }

  Driver driver{};

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (!function) throw Error::of(Exit::kMissing, "the NVIDIA driver is too old: it has no {}", name);
  }

  void* library_;  // stays
};

}  // namespace

const Driver& driver() {
  static const Loaded loaded;
  return loaded.driver;
}

void check(Result result, const char* doing) {
  if (result == 0) return;
  const char* text = nullptr;
  driver().cuGetErrorString(result, &text);
  throw Error::of("{} failed: {} ({})", doing, text ? text : "an error that the driver does not know", result);
}

}  // namespace mneme::device::cuda
