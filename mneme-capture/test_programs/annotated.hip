// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Annotates two arrays, one of them inside a larger allocation, and tightens one between two launches. Then what is not
// taken: parts of a variable, host memory, and a threshold that means nothing.
#include <hip/hip_runtime.h>

#include <mneme/MnemeAnnotation.hpp>

template <class T>
__global__ void add(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += in[i];
}

__device__ double table[64];

__global__ void fill() { table[threadIdx.x] = threadIdx.x; }

int main() {
  const int n = 1000;
  double *pool = nullptr, *out = nullptr;
  if (hipMalloc(&pool, 2 * n * sizeof(double)) != hipSuccess || hipMalloc(&out, n * sizeof(double)) != hipSuccess)
    return 1;
  if (hipMemset(pool, 0, 2 * n * sizeof(double)) != hipSuccess || hipMemset(out, 0, n * sizeof(double)) != hipSuccess)
    return 1;
  double* in = pool + n;
  mneme::Metadata metadata;
  metadata.builtin = mneme::BuiltinDType::F64;
  metadata.threshold = 0.125;
  metadata.norm = mneme::Norm::L2;
  metadata.tag = "in";
  mneme::annotate(in, metadata);
  metadata.threshold = 0.01;
  metadata.threshold_kind = mneme::ThresholdKind::Relative;
  metadata.norm = mneme::Norm::Linf;
  metadata.tag = "loose";
  mneme::annotate<double>(out, metadata);
  add<<<8, 128>>>(in, out, n);
  metadata.threshold = 0.005;
  metadata.tag = "tight";
  mneme::annotate<double>(out, metadata);
  add<<<16, 64>>>(in, out, n);
  metadata.elements = 100;
  metadata.ignore = {false, true, true};
  mneme::annotate<double>(out + 8, metadata);
  mneme::unannotate(out);
  add<<<32, 32>>>(in, out, n);
  void* variable = nullptr;
  if (hipGetSymbolAddress(&variable, HIP_SYMBOL(table)) != hipSuccess) return 1;
  metadata.elements = 10;
  mneme::annotate(variable, metadata);
  fill<<<1, 64>>>();
  fill<<<1, 32>>>();
  metadata.tag = "host";
  mneme::annotate(&metadata, metadata);
  metadata.elements = 0;
  metadata.ignore = {};
  metadata.threshold = -1;
  mneme::annotate(out, metadata);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
