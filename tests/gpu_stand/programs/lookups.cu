// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What dlsym finds: in CUDA's libraries, the argument says whose function that is to be ("plain": nobody is in front of
// the libraries); elsewhere what it finds without a recorder, by whoever calls it.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "cuda.h"

#ifdef SENTENCE  // as in a program that holds CUDA's runtime
const char* volatile sentence = SENTENCE;
#endif

__global__ void fill(int* data, int value) { data[index()] = value; }

// Of the program's own, in front of the C library's.
extern "C" void* dlsym_next(const char* name) { return dlsym(RTLD_NEXT, name); }

std::string object_of(void* function) {
  Dl_info info{};
  CHECK(function && dladdr(function, &info));
  std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

int main(int, char** arguments) {
  const bool recorded = std::strcmp(arguments[1], "plain") != 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* cudart = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver && cudart);
  const std::string recorder = "libmneme-record.so";
  const bool hooks = std::strcmp(arguments[1], "hooks") == 0;
  CHECK((object_of(dlsym(driver, "cuLaunchKernel")) == recorder) == hooks);
  CHECK((object_of(dlsym(cudart, "cudaMalloc")) == recorder) == recorded);
  CHECK(object_of(dlsym(cudart, "cudaGetErrorString")) != recorder);  // which is not hooked
  CHECK(!dlsym(cudart, "cudaNothing") && dlerror());
  // After the program comes the recorder, which has a close() of its own; after the recorder would be the C library.
  CHECK(dlsym_next("close") == dlsym(RTLD_DEFAULT, "close"));
  CHECK((object_of(dlsym_next("close")) == recorder) == recorded);
  CHECK(!dlsym_next("dlsym_next"));
  void* data = nullptr;
  CHECK(cudaMalloc(&data, 64 * sizeof(int)) == 0);
  fill<<<1, 64>>>(static_cast<int*>(data), 3);
  CHECK(cudaDeviceSynchronize() == 0 && cudaFree(data) == 0);
  std::puts("lookups: ok");
}
