// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with no kernel, that has memory before it loads the libraries named, each twice, and gives them back.
#include <dlfcn.h>

#include "../../tests/programs/check.h"

constexpr unsigned kThreads = 32;

int main(int count, char** libraries) {
  Test test("plugins");
  int* data = to_device(std::vector<int>(kThreads));
  int expected = 0;
  for (int round = 0; round < 2; ++round) {
    for (int first = 1; first < count; ++first) {
      void* library = dlopen(libraries[first], RTLD_NOW | RTLD_LOCAL);
      if (!library) return std::printf("plugins: FAILED: %s\n", dlerror()), 1;
      auto launch = reinterpret_cast<hipError_t (*)(int*, unsigned)>(dlsym(library, "launch"));
      check(launch(data, kThreads));
      check(launch(data, kThreads - 1));
      // Loaded again, it begins again.
      expected += first + 1 + first + first + 10 + 1 + first;
      dlclose(library);
    }
  }
  test.equal("data", to_host(data, 1)[0], expected);
  check(hipFree(data));
  return test.finish();
}
