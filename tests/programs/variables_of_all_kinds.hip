// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device variables: pointers to each other, with offsets and in tables, to strings; static and inline
// ones, static members of templates, static locals, __constant__ memory filled by the host before and after a launch;
// lambdas by value.

#include "check.h"

__device__ int value = 5;
__device__ int* to_value = &value;
__device__ int array[8] = {0, 1, 2, 3, 4, 5, 6, 7};
__device__ int* inside = &array[3];
__device__ int* const table[] = {&value, array, array + 7, nullptr};
__device__ const char* const words[] = {"zero", "one", "two"};
static __device__ int hidden = 9;
inline __device__ int everywhere = 11;
template <class T>
struct Counter {
  static __device__ int count;
};
template <class T>
__device__ int Counter<T>::count = sizeof(T);

__device__ float unused[3] = {1.5f, 2.5f, 3.5f};  // by any kernel

__constant__ float weights[4] = {1, 2, 3, 4};
__constant__ struct {
  long a;
  double b;
} mixed;

__device__ int next_ticket() {
  static int tickets = 100;
  return atomicAdd(&tickets, 1);
}

__global__ void use(int* out, char* text) {
  *to_value += 1;
  inside[1] += 1000;
  *table[2] += *table[0];
  out[0] = value;
  out[1] = array[4];
  out[2] = array[7];
  out[3] = table[3] == nullptr && table[1] == array;
  out[4] = Counter<double>::count + 10 * Counter<char>::count++;
  out[5] = hidden++;
  out[6] = everywhere++;
  int length = 0;
  for (const char* word : words) {
    while (*word) text[length++] = *word++;
  }
  out[7] = length;
  out[8] = next_ticket();
  out[9] = next_ticket();
}

__global__ void weigh(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = weights[i % 4] * static_cast<float>(i) + static_cast<float>(static_cast<double>(mixed.a) * mixed.b);
}

template <class Body>
__global__ void for_each(Body body, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}

int main() {
  Test test("variables_of_all_kinds");
  int* out = device_array<int>(10);
  char* text = to_device(std::vector<char>(16));
  for (int turn = 0; turn < 2; ++turn) {
    use<<<1, 1>>>(out, text);
    check(hipGetLastError());
    int last = turn ? 7 + 6 + 7 : 7 + 6;
    test.equal("out", to_host(out, 10),
               {6 + turn, 1004 + 1000 * turn, last, 1, 18 + 10 * turn, 9 + turn, 11 + turn, 10, 100 + 2 * turn,
                101 + 2 * turn});
  }
  std::vector<char> said = to_host(text, 10);
  test.expect(std::string(said.begin(), said.end()) == "zeroonetwo", "the words are wrong");
  int now = 0;
  check(hipMemcpyFromSymbol(&now, HIP_SYMBOL(everywhere), sizeof now));
  test.equal("everywhere", now, 13);
  std::vector<float> first(3);
  check(hipMemcpyFromSymbol(first.data(), HIP_SYMBOL(unused), sizeof unused));
  test.equal("unused", first, {1.5f, 2.5f, 3.5f});

  const int n = 256;
  float* weighed = device_array<float>(n);
  std::vector<float> want(n), w = {1, 2, 3, 4};
  for (int turn = 0; turn < 3; ++turn) {
    struct {
      long a;
      double b;
    } filling = {turn, 2.5};
    if (turn) {
      check(hipMemcpyToSymbol(HIP_SYMBOL(mixed), &filling, sizeof filling));
      w[2] = static_cast<float>(turn * 7);
      check(hipMemcpyToSymbol(HIP_SYMBOL(weights), &w[2], sizeof(float), 2 * sizeof(float)));
    }
    weigh<<<blocks_for(n, 64), 64>>>(weighed, n);
    check(hipGetLastError());
    for (int i = 0; i < n; ++i) {
      want[i] = w[i % 4] * static_cast<float>(i) + (turn ? static_cast<float>(turn * 2.5) : 0.0f);
    }
    test.equal("weighed", to_host(weighed, n), want);
  }

  long factor = 3;
  for_each<<<blocks_for(n, 64), 64>>>(
      [=] __device__(int i) {
        weighed[i] = weighed[i] * static_cast<float>(factor) + static_cast<float>(array[i % 3]);
      },
      n);
  for (int i = 0; i < n; ++i) want[i] = want[i] * 3 + static_cast<float>(i % 3);
  test.equal("after a lambda", to_host(weighed, n), want);
  check(hipFree(out));
  check(hipFree(text));
  check(hipFree(weighed));
  return test.finish();
}
