// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules: the program loads its own device code a second time, from a copy of the bytes in its executable, and
// launches kernels by name, with their arguments in a list and packed in a buffer. A module has variables of its own.

#include <dlfcn.h>
#include <elf.h>
#include <hip/hip_ext.h>

#include <fstream>
#include <iterator>

#include "check.h"

__device__ int offset = 100;
__constant__ float factors[2] = {2.0f, 0.5f};
// No kernel uses them.
extern "C" {
__device__ long spare[3] = {7, -8, 9};
__device__ int spare_zeros[5];
}

struct Range {
  char tag;  // padding follows
  double low, high;
};

extern "C" __global__ void shift(int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += offset;
}

extern "C" __global__ void clamp_scaled(double* values, short n, Range range, float extra) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = fmin(fmax(values[i] * factors[0] + factors[1] * extra, range.low), range.high);
}

extern "C" __global__ void sums(int* out) {
  extern __shared__ int parts[];
  parts[threadIdx.x] = static_cast<int>(threadIdx.x) + offset;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += parts[i];
    out[blockIdx.x] = sum;
  }
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
    if (std::strcmp(names + section.sh_name, ".hip_fatbin") == 0)
      return bytes.substr(section.sh_offset, section.sh_size);
  return {};
}

int main() {
  Test test("module_launch");
  hipModule_t module = nullptr;
  {
    std::string code = device_code();
    check(hipModuleLoadData(&module, code.data()));
  }  // the module does not need it any more
  hipFunction_t shift_function = nullptr, clamp_function = nullptr, sums_function = nullptr;
  check(hipModuleGetFunction(&shift_function, module, "shift"));
  check(hipModuleGetFunction(&clamp_function, module, "clamp_scaled"));
  check(hipModuleGetFunction(&sums_function, module, "sums"));

  hipDeviceptr_t address = nullptr;
  std::size_t size = 0;
  check(hipModuleGetGlobal(&address, &size, module, "offset"));
  test.equal("size of a variable", size, sizeof(int));
  int value = 0, own = 0;
  check(hipMemcpyDtoH(&value, address, sizeof value));
  test.equal("its first value", value, 100);
  value = -7;
  check(hipMemcpyHtoD(address, &value, sizeof value));
  check(hipMemcpyFromSymbol(&own, HIP_SYMBOL(offset), sizeof own));
  test.equal("the program's own variable", own, 100);

  long spares[3] = {};
  check(hipModuleGetGlobal(&address, &size, module, "spare"));
  test.equal("size of a variable that no kernel uses", size, sizeof spares);
  check(hipMemcpyDtoH(spares, address, size));
  test.equal("its first value", spares[0] * 100 + spares[1] * 10 + spares[2], 629L);
  hipDeviceptr_t again = nullptr;
  check(hipModuleGetGlobal(&again, nullptr, module, "spare"));
  test.expect(again == address, "it has one address");
  int zeros[5] = {1, 1, 1, 1, 1};
  check(hipModuleGetGlobal(&address, &size, module, "spare_zeros"));
  test.equal("size of one without a value", size, sizeof zeros);
  check(hipMemcpyDtoH(zeros, address, size));
  test.equal("zeros", zeros[0] | zeros[1] | zeros[2] | zeros[3] | zeros[4], 0);
  test.equal("a kernel is no variable", hipModuleGetGlobal(&address, &size, module, "shift"), hipErrorNotFound);

  int n = 1000;
  std::vector<int> numbers(n), shifted(n), twice(n), thrice(n);
  for (int i = 0; i < n; ++i) {
    numbers[i] = i * i;
    shifted[i] = i * i - 7;
    twice[i] = i * i - 7 + 100;
    thrice[i] = i * i - 7 + 100 - 7;
  }
  int* memory = to_device(numbers);
  void* list[] = {&memory, &n};
  check(hipModuleLaunchKernel(shift_function, blocks_for(n, 64), 1, 1, 64, 1, 1, 0, nullptr, list, nullptr));
  test.equal("shifted by the module's variable", to_host(memory, n), shifted);
  shift<<<blocks_for(n, 64), 64>>>(memory, n);
  test.equal("and by the program's", to_host(memory, n), twice);

  // AMD's library has this from ROCm 5.5 on.
  using Launch = hipError_t (*)(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                hipStream_t, void**);
  auto cooperative = reinterpret_cast<Launch>(dlsym(RTLD_DEFAULT, "hipModuleLaunchCooperativeKernel"));
  if (cooperative) {
    check(cooperative(shift_function, blocks_for(n, 64), 1, 1, 64, 1, 1, 0, nullptr, list));
    test.equal("by a cooperative launch", to_host(memory, n), thrice);
  }

  std::vector<double> doubles = Random(1).values(500, -1.0, 1.0), clamped;
  for (double d : doubles) clamped.push_back(std::fmin(std::fmax(d * 2 + 0.25, -0.5), 0.75));
  struct Packed {
    double* values;
    short n;
    Range range;
    float extra;
  } packed = {to_device(doubles), 500, {'r', -0.5, 0.75}, 0.5f};
  std::size_t packed_size = sizeof packed;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &packed_size,
                   HIP_LAUNCH_PARAM_END};
  check(hipModuleLaunchKernel(clamp_function, 8, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  test.equal("clamped", to_host(packed.values, doubles.size()), clamped);

  // Sizes in work-items; shared memory; events around it.
  hipStream_t stream = nullptr;
  hipEvent_t start = nullptr, stop = nullptr;
  check(hipStreamCreate(&stream));
  check(hipEventCreate(&start));
  check(hipEventCreate(&stop));
  void* out[] = {&memory};
  check(hipExtModuleLaunchKernel(sums_function, 6 * 96, 1, 1, 96, 1, 1, 96 * sizeof(int), stream, out, nullptr, start,
                                 stop));
  check(hipStreamSynchronize(stream));
  test.equal("sums", to_host(memory, 6), std::vector<int>(6, 95 * 96 / 2 - 7 * 96));
  float milliseconds = -1;
  check(hipEventElapsedTime(&milliseconds, start, stop));
  test.expect(milliseconds >= 0, "the launch took less than no time");

  hipFunction_t none = nullptr;
  test.equal("a kernel that there is not", hipModuleGetFunction(&none, module, "nothing"), hipErrorNotFound);
  test.equal("a variable that there is not", hipModuleGetGlobal(&address, &size, module, "nothing"), hipErrorNotFound);
  test.equal("no name", hipModuleGetFunction(&none, module, nullptr), hipErrorInvalidValue);
  test.equal("a file that there is not", hipModuleLoad(&module, "/nothing/here.co"), hipErrorFileNotFound);
  (void)hipGetLastError();
  check(hipModuleUnload(module));
  check(hipEventDestroy(start));
  check(hipEventDestroy(stop));
  check(hipStreamDestroy(stream));
  check(hipFree(packed.values));
  check(hipFree(memory));
  return test.finish();
}
