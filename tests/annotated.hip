// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accumulates into a vector twice; what is right enough is said anew before the second launch.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <string>

#include "mneme/MnemeAnnotation.hpp"

template <typename T>
__global__ void accumulate(const T* in, T* sums, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += in[i] + static_cast<T>(i);
}

int main() {
  constexpr size_t kElements = 1000;
  double *in = nullptr, *sums = nullptr;
  if (hipMalloc(reinterpret_cast<void**>(&in), kElements * sizeof(double)) != hipSuccess) return 1;
  if (hipMalloc(reinterpret_cast<void**>(&sums), kElements * sizeof(double)) != hipSuccess) return 1;
  if (hipMemset(in, 0, kElements * sizeof(double)) != hipSuccess) return 1;
  if (hipMemset(sums, 0, kElements * sizeof(double)) != hipSuccess) return 1;
  mneme::annotate(in, mneme::Metadata{
                          .builtin = mneme::BuiltinDType::F64,
                          .threshold = 0.125,
                          .threshold_kind = mneme::ThresholdKind::Absolute,
                          .norm = mneme::Norm::L2,
                          .tag = std::string("input"),
                      });
  for (double threshold : {0.01, 0.005}) {
    mneme::annotate<double>(sums, mneme::Metadata{
                                      .threshold = threshold,
                                      .threshold_kind = mneme::ThresholdKind::Relative,
                                      .norm = mneme::Norm::Linf,
                                      .tag = threshold == 0.01 ? std::string("loose") : std::string("tight"),
                                  });
    int threads = threshold == 0.01 ? 128 : 64;  // not launches alike, of which only the first is recorded
    accumulate<<<16, threads>>>(in, sums, kElements);
    if (hipDeviceSynchronize() != hipSuccess) return 1;
  }
  if (hipFree(in) != hipSuccess || hipFree(sums) != hipSuccess) return 1;
  std::puts("annotated: ok");
  return 0;
}
