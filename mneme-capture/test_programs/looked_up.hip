// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that looks up the runtime's functions in the library.

#include <dlfcn.h>

#include "../../tests/programs/check.h"

template <class Function>
Function* look_up(Function*, const char* name) {
  static void* const library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

int main() {
  Test test("looked_up");
  std::vector<int> host(64, 21);
  int* data = nullptr;
  void* arguments[] = {&data};
  auto* allocate = look_up(static_cast<hipError_t (*)(void**, size_t)>(&hipMalloc), "hipMalloc");
  check(allocate(reinterpret_cast<void**>(&data), host.size() * sizeof(int)));
  check(hipMemcpy(data, host.data(), host.size() * sizeof(int), hipMemcpyHostToDevice));
  auto* launch =
      look_up(static_cast<hipError_t (*)(const void*, dim3, dim3, void**, size_t, hipStream_t)>(&hipLaunchKernel),
              "hipLaunchKernel");
  check(launch(reinterpret_cast<void*>(twice), 1, 64, arguments, 0, nullptr));
  test.equal("data", to_host(data, host.size()), std::vector<int>(64, 42));
  check(look_up(&hipFree, "hipFree")(data));
  return test.finish();
}
