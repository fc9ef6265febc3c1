// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads the library that the argument names, another program built as one, and runs it.
#include <dlfcn.h>

#include <cstdio>

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  auto run = library ? reinterpret_cast<int (*)()>(dlsym(library, "_Z3runv")) : nullptr;
  if (run) return run();
  std::fprintf(stderr, "%s\n", dlerror());
  return 1;
}
