// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels compiled while the program runs: from source with a header of its own and options, a template by its name
// expression, a variable.

#include "check.h"

#include <hip/hiprtc.h>

static const char* const kSource = R"(
#include "power.h"
__constant__ float offset;
template <class T, int n>
__global__ void raise(T* data, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = power<n>(data[i]) + static_cast<T>(offset) + EXTRA;
}
extern "C" __global__ void sum(const float* data, int count, float* out) {
  __shared__ float parts[64];
  float mine = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) mine += data[i];
  parts[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    mine = 0;
    for (int i = 0; i < blockDim.x; ++i) mine += parts[i];
    *out = mine;
  }
})";
static const char* const kHeader = R"(
#pragma once
template <int n, class T>
__device__ T power(T x) {
  T result = 1;
  for (int i = 0; i < n; ++i) result *= x;
  return result;
})";

static void check_compiler(hiprtcResult result, const char* what) {
  if (result == HIPRTC_SUCCESS) return;
  std::printf("runtime_compilation: FAILED: %s: %s\n", what, hiprtcGetErrorString(result));
  std::exit(1);
}

int main() {
  Test test("runtime_compilation");
  hiprtcProgram program = nullptr;
  const char *header = kHeader, *include = "power.h";
  check_compiler(hiprtcCreateProgram(&program, kSource, "raise.hip", 1, &header, &include), "creation");
  const char* expressions[] = {"raise<float, 3>", "&offset"};
  for (const char* expression : expressions) {
    check_compiler(hiprtcAddNameExpression(program, expression), "a name expression");
  }
  const char* options[] = {"-DEXTRA=2", "-O2"};
  hiprtcResult compiled = hiprtcCompileProgram(program, 2, options);
  if (compiled != HIPRTC_SUCCESS) {
    std::size_t size = 0;
    check_compiler(hiprtcGetProgramLogSize(program, &size), "the log's size");
    std::string log(size + 1, '\0');
    check_compiler(hiprtcGetProgramLog(program, log.data()), "the log");
    std::fprintf(stderr, "%s\n", log.c_str());
  }
  check_compiler(compiled, "compilation");
  const char* names[2];
  for (int i = 0; i < 2; ++i) check_compiler(hiprtcGetLoweredName(program, expressions[i], &names[i]), "a name");
  test.expect(hiprtcGetLoweredName(program, "unheard_of", &include) == HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
              "a name that was not asked for");
  std::size_t size = 0;
  check_compiler(hiprtcGetCodeSize(program, &size), "the code's size");
  std::vector<char> code(size);
  check_compiler(hiprtcGetCode(program, code.data()), "the code");

  hipModule_t module = nullptr;
  hipFunction_t raise = nullptr, sum = nullptr;
  check(hipModuleLoadData(&module, code.data()));
  check(hipModuleGetFunction(&raise, module, names[0]));
  check(hipModuleGetFunction(&sum, module, "sum"));
  hipDeviceptr_t offset = nullptr;
  std::size_t bytes = 0;
  check(hipModuleGetGlobal(&offset, &bytes, module, names[1]));
  test.equal("the variable's size", bytes, sizeof(float));
  float value = 5;
  check(hipMemcpyHtoD(offset, &value, sizeof value));
  check_compiler(hiprtcDestroyProgram(&program), "destruction");

  int n = 200;
  std::vector<float> data(n), want(n);
  float total = 0;
  for (int i = 0; i < n; ++i) {
    data[i] = static_cast<float>(i % 20);
    want[i] = data[i] * data[i] * data[i] + 7;
    total += want[i];
  }
  float *device = to_device(data), *out = device_array<float>(1);
  void* first[] = {&device, &n};
  check(hipModuleLaunchKernel(raise, blocks_for(n, 64), 1, 1, 64, 1, 1, 0, nullptr, first, nullptr));
  void* second[] = {&device, &n, &out};
  check(hipModuleLaunchKernel(sum, 1, 1, 1, 64, 1, 1, 0, nullptr, second, nullptr));
  test.equal("raised", to_host(device, n), want);
  test.equal("sum", to_host(out, 1)[0], total);
  check(hipModuleUnload(module));
  return test.finish();
}
