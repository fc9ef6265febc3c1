// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules and libraries: the program loads its own device code again, from a copy of the bytes in its executable and
// from a file, by the driver's functions and by the runtime's, and launches kernels that it finds by name and by
// counting them. Each time it is loaded it has variables of its own.

#include <cuda.h>
#include <elf.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "../check.h"

constexpr int kCount = 700, kBlock = 100;

__device__ int offset = 100;

struct Range {
  char tag;  // padding follows
  double low, high;
};

extern "C" __global__ void shift(int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += offset;
}

extern "C" __global__ void clamp(int* values, short n, Range range) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = static_cast<int>(fmin(fmax(static_cast<double>(values[i]), range.low), range.high));
}

void check(CUresult status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  static_cast<void>(cuGetErrorName(status, &name));
  std::printf("%s: FAILED: %s:%d: %s\n", program_invocation_short_name, file, line, name);
  std::exit(1);
}

// The section that holds the device code.
std::string device_code() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* names = bytes.data() + sections[header.e_shstrndx].sh_offset;
  for (const Elf64_Shdr& section : sections)
    if (std::strcmp(names + section.sh_name, ".nv_fatbin") == 0)
      return bytes.substr(section.sh_offset, section.sh_size);
  return {};
}

std::vector<int> counted() {
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = 2 * i - 300;
  return values;
}

std::vector<int> shifted(int by) {
  std::vector<int> values = counted();
  for (int& value : values) value += by;
  return values;
}

void use_module(Test& test, const std::string& code) {
  CUmodule module = nullptr;
  check(cuModuleLoadData(&module, code.data()));
  CUfunction shift_function = nullptr, clamp_function = nullptr, none = nullptr;
  check(cuModuleGetFunction(&shift_function, module, "shift"));
  check(cuModuleGetFunction(&clamp_function, module, "clamp"));
  test.equal("no such kernel", cuModuleGetFunction(&none, module, "no_such"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr variable = 0, data = 0;
  std::size_t size = 0;
  check(cuModuleGetGlobal(&variable, &size, module, "offset"));
  test.equal("size of a variable", size, sizeof(int));
  int own = 7;
  check(cuMemcpyHtoD(variable, &own, sizeof own));
  check(cuMemAlloc(&data, kCount * sizeof(int)));
  std::vector<int> values = counted();
  check(cuMemcpyHtoD(data, values.data(), kCount * sizeof(int)));

  int n = kCount;
  void* arguments[] = {&data, &n};
  check(cuLaunchKernel(shift_function, kCount / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, arguments, nullptr));
  short count = kCount;
  Range range = {'x', -100.5, 600.5};
  void* others[] = {&data, &count, &range};
  check(cuLaunchKernel(clamp_function, kCount / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, others, nullptr));
  check(cuMemcpyDtoH(values.data(), data, kCount * sizeof(int)));
  std::vector<int> want = shifted(own);
  for (int& value : want) value = value < -100 ? -100 : value > 600 ? 600 : value;
  test.equal("by a module", values, want);
  check(cuMemFree(data));
  check(cuModuleUnload(module));
}

void shift_by(Test& test, const char* what, cudaKernel_t kernel, int by) {
  int* data = to_device(counted());
  int n = kCount;
  void* arguments[] = {&data, &n};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(kCount / kBlock), dim3(kBlock), arguments, 0,
                         nullptr));
  test.equal(what, to_host(data, kCount), shifted(by));
  check(cudaFree(data));
}

void use_runtimes_library(Test& test, const std::string& code) {
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  check(cudaLibraryGetKernelCount(&count, library));
  test.equal("kernels", count, 2u);
  cudaKernel_t kernels[2] = {}, found = nullptr;
  check(cudaLibraryEnumerateKernels(kernels, 2, library));
  check(cudaLibraryGetKernel(&found, library, "shift"));
  test.expect(kernels[0] != kernels[1] && (found == kernels[0] || found == kernels[1]), "other kernels");
  void* variable = nullptr;
  std::size_t size = 0;
  check(cudaLibraryGetGlobal(&variable, &size, library, "offset"));
  int own = -9;
  check(cudaMemcpy(variable, &own, sizeof own, cudaMemcpyHostToDevice));
  shift_by(test, "by a library", found, own);
  for (cudaKernel_t kernel : kernels) {
    const char* name = "";
    check(cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel)));
    std::size_t offset = 0, bytes = 0;
    check(cudaFuncGetParamInfo(reinterpret_cast<const void*>(kernel), 1, &offset, &bytes));
    test.equal("an argument's size", bytes, std::strcmp(name, "shift") == 0 ? sizeof(int) : sizeof(short));
  }
  test.equal("no such kernel", cudaLibraryGetKernel(&found, library, "no_such"), cudaErrorSymbolNotFound);
  static_cast<void>(cudaGetLastError());
  check(cudaLibraryUnload(library));
}

void use_drivers_library(Test& test, const std::string& code) {
  std::string path = "/tmp/loaded_code." + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << code;
  CUlibrary library = nullptr, its = nullptr;
  check(cuLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  unlink(path.c_str());
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  check(cuLibraryGetKernel(&kernel, library, "shift"));
  check(cuKernelGetFunction(&function, kernel));
  check(cuKernelGetLibrary(&its, kernel));
  test.expect(its == library, "a kernel of another library");
  check(cuLibraryGetModule(&module, library));
  unsigned count = 0;
  check(cuModuleGetFunctionCount(&count, module));
  test.equal("functions", count, 2u);
  CUdeviceptr data = 0;
  check(cuMemAlloc(&data, kCount * sizeof(int)));
  std::vector<int> values = counted();
  check(cuMemcpyHtoD(data, values.data(), kCount * sizeof(int)));
  int n = kCount;
  void* arguments[] = {&data, &n};
  check(cuLaunchKernel(function, kCount / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, arguments, nullptr));
  check(cuMemcpyDtoH(values.data(), data, kCount * sizeof(int)));
  test.equal("by a library from a file", values, shifted(100));
  check(cuMemFree(data));
  check(cuLibraryUnload(library));
}

int main() {
  Test test("loaded_code");
  check(cuInit(0));
  check(cudaFree(nullptr));  // makes the context
  std::string code = device_code();
  use_module(test, code);
  use_runtimes_library(test, code);
  use_drivers_library(test, code);
  int* data = to_device(counted());
  shift<<<kCount / kBlock, kBlock>>>(data, kCount);
  test.equal("by the program's own", to_host(data, kCount), shifted(100));
  check(cudaFree(data));
  return test.finish();
}
