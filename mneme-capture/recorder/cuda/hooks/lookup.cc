// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions by which an application looks up functions of CUDA's driver by name: what it finds of those that are
// hooked are the hooks. CUDA's runtime looks up the driver's in another way, and finds the driver's own.
#include <cstdint>
#include <string>

#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

using Flags = unsigned long long;

constinit Next<Result(const char*, void**, int, Flags)> next_get(kDriver, "cuGetProcAddress");
constinit Next<Result(const char*, void**, int, Flags, int*)> next_get_v2(kDriver, "cuGetProcAddress_v2");
constinit Next<Error(const char*, void**, Flags, int*)> next_entry(kLibrary, "cudaGetDriverEntryPoint");
constinit Next<Error(const char*, void**, Flags, int*)> next_entry_ptsz(kLibrary, "cudaGetDriverEntryPoint_ptsz");
constinit Next<Error(const char*, void**, unsigned, Flags, int*)> next_entry_by_version(
    kLibrary, "cudaGetDriverEntryPointByVersion");
constinit Next<Error(const char*, void**, unsigned, Flags, int*)> next_entry_by_version_ptsz(
    kLibrary, "cudaGetDriverEntryPointByVersion_ptsz");

// Of newer versions of a function and of those for streams of a thread, as they follow the name that is looked up.
constexpr const char* kSuffixes[] = {"", "_v2", "_v2_ptds", "_v2_ptsz", "_ptds", "_ptsz"};

// This library, if the function is one of its own; else null.
void* own_function(const std::string& name) {
  static void* const own = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<void*>(&own_function), &info);
    return info.dli_fname ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  return own ? ::dlsym(own, name.c_str()) : nullptr;
}

// The hook of the function that was found, by which of the driver's exports it is; itself if there is none.
void* hooked(const char* symbol, void* found) {
  static void* const driver = ::dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD);
  if (!driver || !symbol || !found) return found;
  for (const char* suffix : kSuffixes) {
    std::string name = std::string(symbol) + suffix;
    if (::dlsym(driver, name.c_str()) != found) continue;
    if (void* own = own_function(name)) return own;
  }
  return found;
}

template <class Status>
Status look_up(Status status, const char* symbol, void** function) noexcept try {
  if (status == 0 && function) *function = hooked(symbol, *function);
  return status;
} catch (...) {
  return status;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Result cuGetProcAddress(const char* symbol, void** function, int version, Flags flags) {
  return look_up(next_get.call_or(kNotSupported, symbol, function, version, flags), symbol, function);
}

Result cuGetProcAddress_v2(const char* symbol, void** function, int version, Flags flags, int* status) {
  return look_up(next_get_v2.call_or(kNotSupported, symbol, function, version, flags, status), symbol, function);
}

Error cudaGetDriverEntryPoint(const char* symbol, void** function, Flags flags, int* status) {
  return look_up(next_entry.call_or(kNotSupported, symbol, function, flags, status), symbol, function);
}

Error cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, Flags flags, int* status) {
  return look_up(next_entry_ptsz.call_or(kNotSupported, symbol, function, flags, status), symbol, function);
}

Error cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, Flags flags,
                                       int* status) {
  return look_up(next_entry_by_version.call_or(kNotSupported, symbol, function, version, flags, status), symbol,
                 function);
}

Error cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function, unsigned version, Flags flags,
                                            int* status) {
  return look_up(next_entry_by_version_ptsz.call_or(kNotSupported, symbol, function, version, flags, status), symbol,
                 function);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
