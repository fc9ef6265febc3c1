// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/cupti_timer.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "device/cuda/cupti.h"

namespace mneme::device::cuda {
namespace {

constexpr size_t kBufferSize = 64 << 10;
constexpr size_t kBufferAlign = 8;

// CUPTI's callbacks come with nothing of ours.
struct Activities {
  Cupti cupti{};
  std::mutex mutex;
  std::optional<uint64_t> taken;  // by the last kernel of which there is a record
};

Activities& activities() {
  static auto* only = new Activities;
  return *only;
}

void request(uint8_t** buffer, size_t* size, size_t* records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlign, kBufferSize));
  *size = *buffer ? kBufferSize : 0;
  *records = 0;  // as many as there is room for
}

void complete(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  void* record = nullptr;
  while (activities().cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
    const auto* kernel = static_cast<const KernelActivity*>(record);
    if (kernel->kind != kActivityKernel || kernel->end < kernel->start) continue;
    std::lock_guard lock(activities().mutex);
    activities().taken = kernel->end - kernel->start;
  }
  std::free(buffer);
}

// The driver's version of it, or where toolkits are installed.
void* library() {
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"}) {
    if (void* found = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  }
  return nullptr;
}

template <class Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool start_recording() {
  void* found = library();
  Cupti& cupti = activities().cupti;
  return found && find(found, cupti.cuptiActivityEnable, "cuptiActivityEnable") &&
         find(found, cupti.cuptiActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks") &&
         find(found, cupti.cuptiActivityFlushAll, "cuptiActivityFlushAll") &&
         find(found, cupti.cuptiActivityGetNextRecord, "cuptiActivityGetNextRecord") &&
         cupti.cuptiActivityRegisterCallbacks(request, complete) == 0 &&
         cupti.cuptiActivityEnable(kActivityKernel) == 0;
}

class CuptiTimer final : public gpu::KernelTimer {
 public:
  std::string clock() const override { return "cupti"; }
  void start() override {
    std::lock_guard lock(activities().mutex);
    activities().taken.reset();
  }
  void stop(const char*) override {}
  uint64_t taken(const Launch&) override {
    activities().cupti.cuptiActivityFlushAll(kFlushForced);
    std::lock_guard lock(activities().mutex);
    if (!activities().taken)
      throw Error("CUPTI has no record of the kernel, whose time is not known: try again without another profiler");
    return *activities().taken;
  }
};

}  // namespace

std::unique_ptr<gpu::KernelTimer> make_cupti_timer() {
  static const bool recording = start_recording();
  return recording ? std::make_unique<CuptiTimer>() : nullptr;
}

}  // namespace mneme::device::cuda
