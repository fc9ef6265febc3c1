// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the kernels of an application take by CUPTI's own records: the driver loads this into it.
//
//   CUDA_INJECTION64_PATH=$PWD/kernel_times_cupti.so KERNEL_TIMES=FILE APP
//
// writes for each kernel a line of its name, as people read it, and of the medians of its times at each place in memory
// (kernel_times.h) the least and the greatest, in nanoseconds, with tabs in between.
#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/cuda/cupti.h"
#include "kernel_times.h"

namespace {

using namespace mneme::device::cuda;

constexpr size_t kNameAt = 104;  // in a record of CUPTI 12 and 13
constexpr size_t kBufferSize = 1 << 20;

struct Times {
  Cupti cupti{};
  std::mutex mutex;
  std::map<std::string, std::vector<uint64_t>> of;
};

Times& times() {
  static auto* only = new Times;
  return *only;
}

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = text ? text : name;
  std::free(text);
  return result;
}

void request(uint8_t** buffer, size_t* size, size_t* records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferSize));
  *size = *buffer ? kBufferSize : 0;
  *records = 0;
}

void complete(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  std::lock_guard lock(times().mutex);
  void* record = nullptr;
  while (times().cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == 0) {
    const auto* kernel = static_cast<const KernelActivity*>(record);
    if (kernel->kind != kActivityKernel) continue;
    const char* name = *reinterpret_cast<const char* const*>(static_cast<const char*>(record) + kNameAt);
    times().of[name ? demangled(name) : "?"].push_back(kernel->end - kernel->start);
  }
  std::free(buffer);
}

void write_times() {
  times().cupti.cuptiActivityFlushAll(kFlushForced);
  const char* path = std::getenv("KERNEL_TIMES");
  std::FILE* file = path ? std::fopen(path, "w") : nullptr;
  if (!file) return;
  for (auto& [name, each] : times().of) {
    std::vector<uint64_t> medians;
    for (auto at = each.begin(); each.end() - at >= kLaunches; at += kLaunches) {
      std::sort(at, at + kLaunches);
      medians.push_back(at[kLaunches / 2]);
    }
    if (medians.empty()) continue;
    auto [least, greatest] = std::ranges::minmax(medians);
    std::fprintf(file, "%s\t%llu\t%llu\n", name.c_str(), static_cast<unsigned long long>(least),
                 static_cast<unsigned long long>(greatest));
  }
  std::fclose(file);
}

template <class Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  void* library = nullptr;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                           "/usr/local/cuda/lib64/libcupti.so"}) {
    if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  Cupti& cupti = times().cupti;
  if (!library || !find(library, cupti.cuptiActivityEnable, "cuptiActivityEnable") ||
      !find(library, cupti.cuptiActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks") ||
      !find(library, cupti.cuptiActivityFlushAll, "cuptiActivityFlushAll") ||
      !find(library, cupti.cuptiActivityGetNextRecord, "cuptiActivityGetNextRecord")) {
    std::fputs("kernel_times_cupti: there is no CUPTI\n", stderr);
    return 1;
  }
  if (cupti.cuptiActivityRegisterCallbacks(request, complete) == 0 && cupti.cuptiActivityEnable(kActivityKernel) == 0) {
    std::atexit(write_times);
  }
  return 1;
}
