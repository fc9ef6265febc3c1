// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What dlsym and dlvsym find: in CUDA's libraries the hooks, unless ("plain") nobody is in front of them; elsewhere
// what they find without a recorder, by whoever calls them.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "cuda.h"

__global__ void fill(int* data, int value) { data[index()] = value; }

// Of the program's own, in front of the C library's.
extern "C" void* dlsym_next(const char* name) { return dlsym(RTLD_NEXT, name); }

using GetProcAddress = int(const char*, void**, int, unsigned long long, int*);  // the first version has no status

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
  CHECK((object_of(dlsym(driver, "cuLaunchKernel")) == recorder) == recorded);
  CHECK((object_of(dlvsym(driver, "cuLaunchKernel", "mneme_fake_cuda")) == recorder) == recorded);
  CHECK(!dlvsym(driver, "cuLaunchKernel", "another_version") && dlerror());
  CHECK((object_of(dlsym(cudart, "cudaMalloc")) == recorder) == recorded);
  CHECK(object_of(dlsym(cudart, "cudaGetErrorString")) != recorder);  // which is not hooked
  CHECK(!dlsym(cudart, "cudaNothing") && dlerror());
  // Of any version, of streams of either kind.
  for (const char* version : {"cuGetProcAddress", "cuGetProcAddress_v2"}) {
    auto* get = reinterpret_cast<GetProcAddress*>(dlsym(driver, version));
    for (const char* name :
         {"cuLaunchKernel", "cuLaunchKernelEx", "cuModuleLoadData", "cuMemAllocAsync", "cuGetProcAddress"}) {
      for (unsigned long long flags : {0ull, 1ull, 2ull}) {
        void* found = nullptr;
        int status = 0;
        CHECK(get(name, &found, 12000, flags, &status) == 0 && (object_of(found) == recorder) == recorded);
      }
    }
    void* found = nullptr;
    CHECK(get("cuDriverGetVersion", &found, 12000, 0, nullptr) == 0 && object_of(found) != recorder);
  }
  // After the program comes the recorder, which has a close() of its own; after the recorder would be the C library.
  CHECK(dlsym_next("close") == dlsym(RTLD_DEFAULT, "close"));
  CHECK((object_of(dlsym_next("close")) == recorder) == recorded);
  CHECK(!dlsym_next("dlsym_next"));
  CHECK(dlvsym(RTLD_NEXT, "free", "GLIBC_2.2.5") == dlsym(RTLD_NEXT, "free"));
  void* data = nullptr;
  CHECK(cudaMalloc(&data, 64 * sizeof(int)) == 0);
  fill<<<1, 64>>>(static_cast<int*>(data), 3);
  CHECK(cudaDeviceSynchronize() == 0 && cudaFree(data) == 0);
  std::puts("lookups: ok");
}
