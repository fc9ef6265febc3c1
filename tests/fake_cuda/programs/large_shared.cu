// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel of a library, which is the file that the argument names, by its own handle: it takes more shared memory than
// the driver gives without being asked.
#include "cuda.h"
#include "driver.h"

extern "C" int cuLibraryLoadFromFile(CUlibrary*, const char*, int*, void**, unsigned, int*, void**, unsigned);

constexpr int kMostDynamicShared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr unsigned kBlocks = 3, kThreads = 64, kCount = kBlocks * kThreads, kShared = 60000;

int main(int, char** arguments) {
  CUcontext context;
  CUlibrary library;
  CUkernel turn;
  CUdeviceptr data;
  int host[kCount];
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  CHECK(cuLibraryLoadFromFile(&library, arguments[1], nullptr, nullptr, 0, nullptr, nullptr, 0) == 0);
  CHECK(cuLibraryGetKernel(&turn, library, "turn") == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(cuMemAlloc_v2(&data, sizeof host) == 0 && cuMemcpyHtoD_v2(data, host, sizeof host) == 0);
  unsigned threads = kThreads, words = kShared / sizeof(int);
  void* list[] = {&data, &threads, &words};
  auto* function = reinterpret_cast<CUfunction>(turn);
  const auto launch = [&] {
    return cuLaunchKernel(function, kBlocks, 1, 1, kThreads, 1, 1, kShared, nullptr, list, nullptr);
  };
  CHECK(launch() != 0);
  CHECK(cuKernelSetAttribute(kMostDynamicShared, kShared, turn, 0) == 0);
  CHECK(launch() == 0 && cuCtxSynchronize() == 0 && cuMemcpyDtoH_v2(host, data, sizeof host) == 0);
  for (unsigned i = 0; i < kCount; ++i) {
    CHECK(host[i] == static_cast<int>(i / kThreads * kThreads + (kThreads - 1 - i % kThreads)));
  }
  CHECK(cuMemFree_v2(data) == 0 && cuLibraryUnload(library) == 0);
  std::puts("large_shared: ok");
}
