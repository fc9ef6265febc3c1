// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ends and begins again: the device, which is reset ("reset"), or the process, of which a child is the first to
// use the device ("fork"), or uses it after its parent, as the library beside this allows ("fork late").
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "cuda.h"

extern "C" int cudaDeviceReset();

constexpr unsigned kCount = 64;

__global__ void add(int* to, const int* from, int value) { to[index()] += from[index()] + value; }

void launch(int value) {
  void *to = nullptr, *from = nullptr;
  int host[kCount];
  CHECK(cudaMalloc(&to, sizeof host) == 0 && cudaMallocHost(&from, sizeof host) == 0);
  CHECK(cudaMemset(to, 0, sizeof host) == 0);
  std::memset(from, 1, sizeof host);
  add<<<1, kCount>>>(static_cast<int*>(to), static_cast<const int*>(from), value);
  CHECK(cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (int each : host) CHECK(each == 0x01010101 + value);
}

int main(int, char** arguments) {
  if (std::strcmp(arguments[1], "reset") == 0) {
    // Host memory that kernels reach is registered in the new context as it was in the old one: by a recorder.
    auto* registered =
        reinterpret_cast<unsigned long long (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuFakeRegistered"));
    launch(1);
    const unsigned long long before = registered();
    CHECK(cudaDeviceReset() == 0);
    launch(2);
    CHECK(registered() == before);
  } else {
    if (std::strcmp(arguments[1], "fork late") == 0) launch(1);
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
      launch(3);
      _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    launch(4);
  }
  std::printf("%s: ok\n", arguments[1]);
}
