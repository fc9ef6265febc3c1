// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors and words of 64 bits at addresses that are no multiples of their size, in global and in shared memory: AMD's GPUs
// load and store them all the same.
#include <cstring>

#include "check.h"

constexpr unsigned kThreads = 64, kBlocks = 5, kCount = kThreads * kBlocks;

__global__ void shift_vectors(const float* in, float* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = reinterpret_cast<const float4*>(in + 1)[i];
  v.x += 1;
  v.w *= 2;
  reinterpret_cast<float4*>(out + 3)[i] = v;
}

__global__ void add_words(const unsigned* in, unsigned* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  using Word = unsigned long long;
  reinterpret_cast<Word*>(out + 1)[i] = reinterpret_cast<const Word*>(in + 1)[i] + 0x123456789abcdef;
}

__global__ void through_shared(const unsigned char* in, unsigned* out) {
  __shared__ unsigned char bytes[16 * kThreads + 16];
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  uint4 v = *reinterpret_cast<const uint4*>(in + 16 * i + 1);
  *reinterpret_cast<uint4*>(bytes + 16 * t + 3) = v;
  __syncthreads();
  const uint4& other = *reinterpret_cast<const uint4*>(bytes + 16 * (kThreads - 1 - t) + 3);
  out[i] = other.x ^ other.y + other.z * 3 ^ other.w;
}

int main() {
  Test test("misaligned_vectors");
  std::vector<float> floats = Random(3).values<float>(4 * kCount + 8, -8, 8);
  float *in = to_device(floats), *out = to_device(std::vector<float>(4 * kCount + 8));
  std::vector<float> want(4 * kCount + 8);
  for (unsigned i = 0; i < 4 * kCount; ++i) {
    want[3 + i] = i % 4 == 0 ? floats[1 + i] + 1 : i % 4 == 3 ? floats[1 + i] * 2 : floats[1 + i];
  }
  shift_vectors<<<kBlocks, kThreads>>>(in, out);
  test.equal("vectors", to_host(out, want.size()), want);

  std::vector<unsigned> words = Random(4).values(2 * kCount + 1, 0u, ~1u), sums(words);
  for (unsigned i = 0; i < kCount; ++i) {
    unsigned long long word;
    std::memcpy(&word, &words[2 * i + 1], sizeof word);
    word += 0x123456789abcdef;
    std::memcpy(&sums[2 * i + 1], &word, sizeof word);
  }
  unsigned *device_words = to_device(words), *device_sums = to_device(words);
  add_words<<<kBlocks, kThreads>>>(device_words, device_sums);
  test.equal("words", to_host(device_sums, sums.size()), sums);

  std::vector<int> small = Random(5).values(16 * kCount + 16, 0, 255);
  std::vector<unsigned char> bytes(small.begin(), small.end());
  std::vector<unsigned> mixed(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    unsigned from = i / kThreads * kThreads + kThreads - 1 - i % kThreads, v[4];
    std::memcpy(v, &bytes[16 * from + 1], sizeof v);
    mixed[i] = v[0] ^ v[1] + v[2] * 3 ^ v[3];
  }
  unsigned char* device_bytes = to_device(bytes);
  unsigned* device_mixed = device_array<unsigned>(kCount);
  through_shared<<<kBlocks, kThreads>>>(device_bytes, device_mixed);
  test.equal("bytes", to_host(device_mixed, kCount), mixed);
  check(hipFree(in));
  check(hipFree(out));
  check(hipFree(device_words));
  check(hipFree(device_sums));
  check(hipFree(device_bytes));
  check(hipFree(device_mixed));
  return test.finish();
}
