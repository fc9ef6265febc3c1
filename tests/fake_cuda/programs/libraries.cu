// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of a library, which is the file that the argument names, loaded by the runtime's functions: from the file, or
// with -DIMAGE from memory. With -DCOUNTED they are not asked for by name, and with -DDRIVER the driver counts them, as a
// library's or with -DMODULE as a module's.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "cuda.h"

using Library = struct OneLibrary*;
using Kernel = struct OneKernel*;
using CUdeviceptr = unsigned long long;

// cudaMemcpyAttributes: the sources are read in the stream's order.
struct CopyAttributes {
  int order, from[2], to[2];
  unsigned flags;
};

extern "C" {
int cudaLibraryLoadData(Library*, const void*, int*, void**, unsigned, int*, void**, unsigned);
int cudaLibraryLoadFromFile(Library*, const char*, int*, void**, unsigned, int*, void**, unsigned);
int cudaLibraryUnload(Library);
int cudaLibraryGetKernel(Kernel*, Library, const char*);
int cudaLibraryGetKernelCount(unsigned*, Library);
int cudaLibraryEnumerateKernels(Kernel*, unsigned, Library);
int cudaLibraryGetGlobal(void**, size_t*, Library, const char*);
int cudaFuncGetName(const char**, const void*);
int cudaFuncGetParamInfo(const void*, size_t, size_t*, size_t*);
int cudaMemcpyBatchAsync(void* const*, const void* const*, const size_t*, size_t, CopyAttributes*, size_t*, size_t,
                         cudaStream_t);
int cudaStreamGetId(cudaStream_t, unsigned long long*);
#ifdef DRIVER
int cuLibraryEnumerateKernels(Kernel*, unsigned, Library);
int cuModuleLoad(Library*, const char*);
int cuModuleEnumerateFunctions(Kernel*, unsigned, Library);
int cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, Library, const char*);
int cuModuleUnload(Library);
#endif
}

constexpr unsigned kCount = 3000;

Library load(const char* path) {
  Library library;
#if defined(MODULE)
  CHECK(cuModuleLoad(&library, path) == 0);
#elif defined(IMAGE)
  std::ifstream file(path, std::ios::binary);
  std::string image(std::istreambuf_iterator<char>(file), {});
  CHECK(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) == 0);
#else
  CHECK(cudaLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0) == 0);
#endif
  return library;
}

Kernel find(Library library, const char* name) {
#ifdef COUNTED
  Kernel kernels[3] = {};  // room for one more than there are
  unsigned count = 0;
  CHECK(cudaLibraryGetKernelCount(&count, library) == 0 && count == 2);
#if defined(MODULE)
  CHECK(cuModuleEnumerateFunctions(kernels, 3, library) == 0);
#elif defined(DRIVER)
  CHECK(cuLibraryEnumerateKernels(kernels, 3, library) == 0);
#else
  CHECK(cudaLibraryEnumerateKernels(kernels, 3, library) == 0);
#endif
  for (unsigned i = 0; i < count; ++i) {
    const char* found = "";
    CHECK(cudaFuncGetName(&found, kernels[i]) == 0);
    if (std::strcmp(found, name) == 0) return kernels[i];
  }
  CHECK(false);
  return nullptr;
#else
  Kernel kernel;
  CHECK(cudaLibraryGetKernel(&kernel, library, name) == 0);
  return kernel;
#endif
}

int main(int, char** arguments) {
  Library library = load(arguments[1]);
  Kernel scale = find(library, "scale"), shift = find(library, "shift");
  size_t at = 0, size = 0;
  CHECK(cudaFuncGetParamInfo(scale, 2, &at, &size) == 0 && at == 12 && size == sizeof(unsigned));
  CHECK(cudaFuncGetParamInfo(scale, 3, &at, &size) != 0);

  int host[kCount], by = 3, offset = 40;
  unsigned count = kCount;
  void *data, *variable;
  cudaStream_t stream;
  unsigned long long id = 0, legacy = 0;
  CHECK(cudaMalloc(&data, sizeof host) == 0 && cudaStreamCreate(&stream) == 0);
  CHECK(cudaStreamGetId(stream, &id) == 0 && cudaStreamGetId(nullptr, &legacy) == 0 && id != legacy);
#ifdef MODULE
  CUdeviceptr address;
  CHECK(cuModuleGetGlobal_v2(&address, &size, library, "offset") == 0);
  variable = reinterpret_cast<void*>(address);
#else
  CHECK(cudaLibraryGetGlobal(&variable, &size, library, "offset") == 0 && size == sizeof offset);
#endif
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  void* to[] = {data, variable};
  const void* from[] = {host, &offset};
  size_t sizes[] = {sizeof host, sizeof offset}, first = 0;
  CopyAttributes attributes = {1, {}, {}, 0};
  CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream) == 0);
  void* list[] = {&data, &by, &count};
  CHECK(cudaLaunchKernel(scale, (kCount + 127) / 128, 128, list, 0, stream) == 0);
  void* others[] = {&data, &count};
  CHECK(cudaLaunchKernel(shift, (kCount + 127) / 128, 128, others, 0, stream) == 0);
  CHECK(cudaStreamSynchronize(stream) == 0);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (unsigned i = 0; i < kCount; ++i) CHECK(host[i] == static_cast<int>(i) * by + offset);
#ifdef MODULE
  CHECK(cuModuleUnload(library) == 0);
#else
  CHECK(cudaLibraryUnload(library) == 0);
#endif
  CHECK(cudaStreamDestroy(stream) == 0 && cudaFree(data) == 0);
  std::puts("libraries: ok");
}
