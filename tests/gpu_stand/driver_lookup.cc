// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's functions by name, as applications look them up: a name means the newest version.
#include <dlfcn.h>

#include <string>

#include "driver.h"

using namespace mneme::gpu_stand;

namespace {

void* find(const char* symbol) {
  static void* const own = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* newest = ::dlsym(own, (std::string(symbol) + "_v2").c_str());
  return newest ? newest : ::dlsym(own, symbol);
}

}  // namespace

extern "C" {

Result cuGetProcAddress_v2(const char* symbol, void** function, int, unsigned long long, int* status) {
  *function = find(symbol);
  if (status) *status = *function ? 0 : 1;  // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return *function ? 0 : kNotFound;
}

}  // extern "C"
