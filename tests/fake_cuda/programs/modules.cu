// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of a module, which is the file that the argument names, launched by the driver's functions; memory is the
// driver's, too. With -DRUNTIME_MEMORY it is the runtime's. With -DLOOKED_UP or -DBY_DLSYM the driver's functions
// are looked up. With -DUNSEEN kernels come from where no recorder is. With -DDATA or -DFAT_BINARY the file is read
// first, and what was read goes when it is loaded.
#include <fstream>
#include <iterator>
#include <string>

#include "cuda.h"
#include "driver.h"

constexpr unsigned kCount = 3000;

struct Memory {
#ifdef RUNTIME_MEMORY
  Memory() {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, kCount * sizeof(int)) == 0);
    address = reinterpret_cast<CUdeviceptr>(memory);
  }
  ~Memory() { CHECK(cudaFree(reinterpret_cast<void*>(address)) == 0); }
#else
  Memory() { CHECK(DRIVER(cuMemAlloc, cuMemAlloc_v2)(&address, kCount * sizeof(int)) == 0); }
  ~Memory() { CHECK(DRIVER(cuMemFree, cuMemFree_v2)(address) == 0); }
#endif
  CUdeviceptr address = 0;
};

// Code from the file, as a module, or with -DLIBRARY as a library; of that, one kernel is launched by the handle of its
// function, and one by its own.
#ifdef LIBRARY
struct Code {
  explicit Code(const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::string image(std::istreambuf_iterator<char>(file), {});
    CHECK(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) == 0);
    CUkernel kernel;
    CHECK(cuLibraryGetKernel(&kernel, library, "scale") == 0 && cuKernelGetFunction(&scale, kernel) == 0);
    CHECK(cuLibraryGetKernel(&kernel, library, "shift") == 0);
    shift = reinterpret_cast<CUfunction>(kernel);
  }
  ~Code() { CHECK(cuLibraryUnload(library) == 0); }
  int find(CUdeviceptr* address, size_t* size) { return cuLibraryGetGlobal(address, size, library, "offset"); }
  CUlibrary library;
  CUfunction scale, shift;
};
#else
struct Code {
  explicit Code(const char* path) {
#if defined(DATA) || defined(FAT_BINARY)
    std::ifstream file(path, std::ios::binary);
    std::string image(std::istreambuf_iterator<char>(file), {});
#ifdef DATA
    CHECK(cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr) == 0);
#else
    CHECK(cuModuleLoadFatBinary(&module, image.data()) == 0);
#endif
    image.assign(image.size(), 'x');
#else
    CHECK(DRIVER(cuModuleLoad, cuModuleLoad)(&module, path) == 0);
#endif
#ifdef UNSEEN
    auto* get_function = cuFakeGetFunction;
#else
    auto* get_function = DRIVER(cuModuleGetFunction, cuModuleGetFunction);
#endif
    CHECK(get_function(&scale, module, "scale") == 0 && get_function(&shift, module, "shift") == 0);
  }
  ~Code() { CHECK(cuModuleUnload(module) == 0); }
  int find(CUdeviceptr* address, size_t* size) { return cuModuleGetGlobal_v2(address, size, module, "offset"); }
  CUmodule module;
  CUfunction scale, shift;
};
#endif

int main(int, char** arguments) {
  CUcontext context;
  CHECK(cuInit(0) == 0);
  CHECK(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  {
    Code code(arguments[1]);
    Memory data;
    int host[kCount], by = 3, offset = 40;
    CUdeviceptr variable;
    size_t size;
    CHECK(code.find(&variable, &size) == 0 && size == sizeof offset);
    CHECK(cuMemcpyHtoD_v2(variable, &offset, sizeof offset) == 0);
    for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
    CHECK(cuMemcpyHtoD_v2(data.address, host, sizeof host) == 0);
    unsigned count = kCount;
    void* list[] = {&data.address, &by, &count};
    auto* launch = DRIVER(cuLaunchKernel, cuLaunchKernel);
    CHECK(launch(code.scale, (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, list, nullptr) == 0);
    // All arguments in one buffer.
    struct {
      CUdeviceptr data;
      unsigned count;
    } packed{data.address, kCount};
    size_t bytes = sizeof packed.data + sizeof packed.count;  // padding at the end is none of the arguments
    void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &bytes, nullptr};
    CHECK(launch(code.shift, (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra) == 0);
    CHECK(cuCtxSynchronize() == 0);
    CHECK(cuMemcpyDtoH_v2(host, data.address, sizeof host) == 0);
    for (unsigned i = 0; i < kCount; ++i) CHECK(host[i] == static_cast<int>(i) * by + offset);
  }
  std::puts("modules: ok");
}
