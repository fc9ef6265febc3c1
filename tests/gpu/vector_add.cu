// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What recording costs is measured with: each element gets its index added, in one launch. With OFF defined it is
// another number, so that no element is as recorded.
//
//   vector_add MEGABYTES      of memory, in two buffers
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifdef OFF
constexpr unsigned kOff = 1;
#else
constexpr unsigned kOff = 0;
#endif

__global__ void add(float* in, const float* other, size_t count) {
  size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) in[i] += other[i] + static_cast<float>(threadIdx.x + kOff);
}

int main(int argc, char** argv) {
  size_t count = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1) * 1000000 / 2 / sizeof(float);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 2654435761u % 1000003);
  size_t bytes = count * sizeof(float);
  float *in, *other;
  bool ok = cudaMalloc(&in, bytes) == cudaSuccess && cudaMalloc(&other, bytes) == cudaSuccess &&
            cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess &&
            cudaMemcpy(other, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess;
  add<<<(count + 255) / 256, 256>>>(in, other, count);
  ok = ok && cudaDeviceSynchronize() == cudaSuccess;
  std::puts(ok ? "vector_add: ok" : "vector_add: FAILED");
  return ok ? 0 : 1;
}
