// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads the libraries that the arguments name, other programs built as such, runs each, and unloads it; those behind
// "deepbind" look for symbols in themselves first. With -DOWN_TOO it first runs a program that is part of it.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#ifdef OWN_TOO
int run();
#endif

int main(int count, char** arguments) {
  int mode = RTLD_NOW | RTLD_LOCAL;
#ifdef OWN_TOO
  if (run() != 0) return 1;
#endif
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "deepbind") == 0) {
      mode |= RTLD_DEEPBIND;
      continue;
    }
    void* library = dlopen(arguments[i], mode);
    auto run = library ? reinterpret_cast<int (*)()>(dlsym(library, "_Z3runv")) : nullptr;
    if (!run) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    if (int status = run()) return status;
    dlclose(library);
  }
}
